// enqueue: groups that wait become groups that may be placed, one per queue and turn.
//
// One that is refused does not block its queue: a smaller one behind it may be admitted. Where
// machines are for sale, one that is kept out only by what others have been promised is asked for
// there, and admitted once somebody has offered them.

#include <map>

#include "batch/actions.h"
#include "batch/heap.h"

namespace coppice::batch {

namespace {

bool MayEnter(const Session& session, Job& job) {
  const Combine& ask = session.ask();
  if (!job.HasMinResources()) return true;
  if (session.input().sold.contains(job.id) && ask.MayEnqueueAlone(job)) return true;
  if (ask.MayEnqueue(job)) return true;
  job.kept_out_by_promises = session.input().quotes && ask.MayEnqueueAlone(job);
  return false;
}

}  // namespace

void Enqueue(Session& session) {
  const Combine& ask = session.ask();
  Heap<QueueInfo*> queues(
      [&](const QueueInfo* l, const QueueInfo* r) { return ask.QueueBefore(*l, *r); });
  std::map<const QueueInfo*, Heap<Job*>> waiting;
  std::vector<bool> seen(session.queues().size());
  for (Job* job : session.jobs()) {
    if (!job->schedule_start) job->schedule_start = session.now();
    job->kept_out_by_promises = false;
    if (!seen[job->queue->index]) {
      seen[job->queue->index] = true;
      queues.Push(job->queue);
    }
    if (!job->IsPending()) continue;
    waiting
        .try_emplace(job->queue, [&](const Job* l, const Job* r) { return ask.JobBefore(*l, *r); })
        .first->second.Push(job);
  }
  while (!queues.empty() && !session.failed()) {
    QueueInfo* queue = queues.Pop();
    const auto jobs = waiting.find(queue);
    if (jobs == waiting.end() || jobs->second.empty()) continue;
    Job* job = jobs->second.Pop();
    if (MayEnter(session, *job)) {
      ask.OnJobEnqueued(*job);
      job->group.status.phase = "Inqueue";
    }
    queues.Push(queue);
  }
}

}  // namespace coppice::batch
