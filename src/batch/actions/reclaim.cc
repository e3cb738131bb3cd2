// reclaim: queues below their share take back from queues above theirs.

#include <map>

#include "batch/actions.h"
#include "batch/heap.h"
#include "batch/search.h"
#include "batch/statement.h"
#include "batch/worksheet.h"

namespace coppice::batch {
namespace {

class ReclaimAction {
 public:
  explicit ReclaimAction(Session& session)
      : session_(session),
        ask_(session.ask()),
        remembers_(RemembersRefusals(session, "reclaim")),
        queues_(
            [this](const QueueInfo* l, const QueueInfo* r) { return ask_.QueueBefore(*l, *r); }) {}

  void Run() {
    std::vector<bool> seen(session_.queues().size());
    for (Job* job : session_.jobs()) {
      if (job->IsPending() || ask_.ValidateJob(*job)) continue;
      if (!seen[job->queue->index]) {
        seen[job->queue->index] = true;
        queues_.Push(job->queue);
      }
      // Room is made node by node here: of no use to who may only be within a stretch of the network.
      if (!session_.upstream_exact() && session_.IsConfined(*job)) continue;
      if (ask_.IsJobStarving(*job) && session_.MayEvictFor(*job)) Consider(*job);
    }
    while (!queues_.empty() && !session_.failed()) {
      QueueInfo* queue = queues_.Pop();
      if (ask_.IsOverused(*queue)) continue;
      const auto found = starving_.find(queue);
      if (found == starving_.end()) continue;
      while (!found->second.empty() && !session_.failed()) {
        ForJob(*queue, *found->second.Pop());
        // Upstream puts the queue back each time, which only matters for how often it is popped.
        if (!found->second.empty()) queues_.Push(queue);
      }
    }
  }

 private:
  void Consider(Job& job) {
    starving_
        .try_emplace(job.queue,
                     [this](const Job* l, const Job* r) { return ask_.JobBefore(*l, *r); })
        .first->second.Push(&job);
    TaskHeap tasks([this](const Task* l, const Task* r) { return ask_.TaskBefore(*l, *r); });
    for (Task* task : job.tasks) {
      if (task->status == TaskStatus::kPending && !task->gated) tasks.Push(task);
    }
    tasks_.emplace(&job, std::move(tasks));
  }

  void ForJob(const QueueInfo& queue, Job& job) {
    Statement statement(session_);
    TaskHeap& tasks = tasks_.at(&job);
    while (!session_.failed() && ask_.IsJobStarving(job) && !tasks.empty()) {
      Task* task = tasks.Pop();
      if (task->pod->spec.preemption_policy == "Never") continue;
      if (!ask_.MayReclaim(queue, {&task, 1}) || !ask_.PrepareTask(*task).ok()) continue;
      ForTask(statement, *task);
    }
    if (ask_.IsJobPipelined(job)) {
      session_.CommitEvicting(statement, "reclaim");
    } else {
      statement.Discard();
    }
  }

  void ForTask(Statement& statement, Task& task) {
    NodeFilter filter(session_, remembers_);
    const auto nodes = session_.NodesToTry(task);
    const auto found = filter.Filter(task, nodes, [this](const Task& t, const NodeInfo& n) {
      return session_.CheckForPreempt(t, n);
    });
    for (NodeInfo* node : found.nodes) {
      if (session_.failed() || TryNode(statement, task, *node)) return;
    }
  }

  bool TryNode(Statement& statement, Task& task, NodeInfo& node) {
    std::vector<Task*> candidates;
    for (Task* other : node.SortedTasks()) {
      if (other->node_status != TaskStatus::kRunning || !other->preemptable || !other->job)
        continue;
      if (other->job->queue != task.job->queue && other->job->queue->reclaimable()) {
        candidates.push_back(other);
      }
    }
    if (candidates.empty()) return false;
    const auto victims = ask_.Reclaimable(task, candidates);
    if (session_.failed() || !WouldMakeRoom(task, node, victims)) return false;
    auto heap = VictimHeap(session_, victims, task);
    Resource available = node.FutureIdle();
    Statement on_node(session_);
    bool evicted = false;
    while (!heap.empty() && !task.req().LessEqual(available, Missing::kZero)) {
      Task& victim = *heap.Pop();
      on_node.Evict(victim, "reclaim");
      available.Add(victim.req());
      evicted = true;
    }
    if (!task.req().LessEqual(available, Missing::kZero) ||
        !on_node.Pipeline(task, node, evicted).ok()) {
      on_node.Discard();
      return false;
    }
    statement.Merge(std::move(on_node));
    return true;
  }

  Session& session_;
  const Combine& ask_;
  bool remembers_;
  Heap<QueueInfo*> queues_;
  std::map<const QueueInfo*, Heap<Job*>> starving_;
  std::map<const Job*, TaskHeap> tasks_;
};

}  // namespace

void Reclaim(Session& session) { ReclaimAction(session).Run(); }

}  // namespace coppice::batch
