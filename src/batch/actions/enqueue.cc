// enqueue: groups that wait become groups that may be placed, one per queue and turn.
//
// One that is refused does not block its queue: a smaller one behind it may be admitted.

#include <map>

#include "batch/actions.h"
#include "batch/heap.h"

namespace coppice::batch {

void Enqueue(Session& session) {
  const Combine& ask = session.ask();
  Heap<QueueInfo*> queues(
      [&](const QueueInfo* l, const QueueInfo* r) { return ask.QueueBefore(*l, *r); });
  std::map<const QueueInfo*, Heap<Job*>> waiting;
  std::vector<bool> seen(session.queues().size());
  for (Job* job : session.jobs()) {
    if (!job->schedule_start) job->schedule_start = session.now();
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
    if (!job->HasMinResources() || ask.MayEnqueue(*job)) {
      ask.OnJobEnqueued(*job);
      job->group.status.phase = "Inqueue";
    }
    queues.Push(queue);
  }
}

}  // namespace coppice::batch
