// preempt: starving jobs take room from other jobs of their queue, then from their own tasks.

#include <algorithm>
#include <functional>
#include <map>

#include "batch/actions.h"
#include "batch/heap.h"
#include "batch/search.h"
#include "batch/statement.h"
#include "batch/worksheet.h"
#include "model/resources.h"

namespace coppice::batch {
namespace {

using VictimFilter = std::function<bool(const Task&)>;

// A pod that is going because somebody more important needed its place.
bool GoesByPreemption(const model::Pod& pod) {
  if (!pod.metadata.deletion_timestamp) return false;
  return std::ranges::any_of(pod.status.conditions, [](const model::PodCondition& condition) {
    return condition.type == "DisruptionTarget" && condition.status == "True" &&
           condition.reason == "PreemptionByScheduler";
  });
}

class PreemptAction {
 public:
  explicit PreemptAction(Session& session)
      : session_(session),
        ask_(session.ask()),
        filter_(session, RemembersRefusals(session, "preempt")),
        queues_(
            [this](const QueueInfo* l, const QueueInfo* r) { return ask_.QueueBefore(*l, *r); }) {}

  void Run() {
    for (Job* job : session_.jobs()) Consider(*job);
    for (QueueInfo* queue : session_.queues()) {
      if (starving_.contains(queue)) queues_.Push(queue);
    }
    while (!queues_.empty() && !session_.failed()) {
      QueueInfo* queue = queues_.Pop();
      Heap<Job*>& jobs = starving_.at(queue);
      while (!jobs.empty() && !session_.failed()) FromOtherJobs(*jobs.Pop());
      for (Job* job : under_request_[queue]) FromOwnTasks(*job);
    }
  }

 private:
  TaskHeap PendingTasks(const Job& job) {
    TaskHeap tasks([this](const Task* l, const Task* r) { return ask_.TaskBefore(*l, *r); });
    for (Task* task : job.tasks) {
      if (task->status == TaskStatus::kPending && !task->gated) tasks.Push(task);
    }
    return tasks;
  }

  void Consider(Job& job) {
    if (job.IsPending() || ask_.ValidateJob(job) || !ask_.IsJobStarving(job) ||
        job.HasNetworkTopology() || !session_.MayEvictFor(job)) {
      return;
    }
    starving_
        .try_emplace(job.queue,
                     [this](const Job* l, const Job* r) { return ask_.JobBefore(*l, *r); })
        .first->second.Push(&job);
    under_request_[job.queue].push_back(&job);
    tasks_.emplace(&job, PendingTasks(job));
  }

  static bool MayGo(const Task& victim, const Task& preemptor) {
    return IsPreemptable(victim.node_status) && (!preemptor.best_effort || victim.best_effort) &&
           victim.preemptable;
  }

  void FromOtherJobs(Job& job) {
    Statement statement(session_);
    TaskHeap& tasks = tasks_.at(&job);
    while (!session_.failed() && ask_.IsJobStarving(job) && !tasks.empty()) {
      Task& preemptor = *tasks.Pop();
      (void)Try(statement, preemptor, [&](const Task& victim) {
        return MayGo(victim, preemptor) && victim.job && victim.job->queue == job.queue &&
               victim.job != &job;
      });
    }
    if (ask_.IsJobPipelined(job)) {
      statement.Commit();
    } else {
      statement.Discard();
    }
  }

  void FromOwnTasks(Job& job) {
    TaskHeap tasks = PendingTasks(job);
    while (!tasks.empty() && !session_.failed()) {
      Task& preemptor = *tasks.Pop();
      Statement statement(session_);
      const bool placed = Try(statement, preemptor, [&](const Task& victim) {
        return MayGo(victim, preemptor) && victim.job == &job;
      });
      if (!placed) {
        statement.Discard();
        return;
      }
      statement.Commit();
    }
  }

  bool IsEligible(const Task& preemptor) {
    const model::Pod& pod = *preemptor.pod;
    if (pod.spec.preemption_policy == "Never") return false;
    const std::string& nominated = pod.status.nominated_node_name;
    if (nominated.empty()) return true;
    const NodeInfo* node = session_.FindNode(nominated);
    if (!node) return false;
    const Fit refusal = ask_.CheckNode(preemptor, *node);
    if (!refusal || refusal->plain_error) return false;
    if (refusal->Has(kFitUnresolvable)) return true;
    return std::ranges::none_of(node->tasks, [&](const Task* task) {
      return model::PriorityOf(*task->pod) < model::PriorityOf(pod) && GoesByPreemption(*task->pod);
    });
  }

  // Whether the task has a place now, if only one that others must leave first.
  bool Try(Statement& statement, Task& preemptor, const VictimFilter& may_go) {
    if (!IsEligible(preemptor) || !ask_.PrepareTask(preemptor).ok()) return false;
    const auto nodes = session_.NodesToTry(preemptor);
    const auto found =
        filter_.Filter(preemptor, nodes, [this](const Task& task, const NodeInfo& node) {
          return session_.CheckForPreempt(task, node);
        });
    for (NodeInfo* node : SortedByScore(session_, preemptor, found.nodes)) {
      if (session_.failed()) return false;
      if (TryNode(statement, preemptor, *node, may_go)) return true;
    }
    return false;
  }

  bool Fits(const Task& preemptor, const NodeInfo& node) {
    return ask_.MayAllocate(*preemptor.job->queue, preemptor) && node.FitsFuture(preemptor.req()) &&
           !ask_.CheckNode(preemptor, node);
  }

  bool TryNode(Statement& statement, Task& preemptor, NodeInfo& node, const VictimFilter& may_go) {
    std::vector<Task*> candidates;
    for (Task* task : node.SortedTasks()) {
      if (may_go(*task)) candidates.push_back(task);
    }
    const auto victims = ask_.Preemptable(preemptor, candidates);
    if (session_.failed() || !WouldMakeRoom(preemptor, node, victims)) return false;
    Statement on_node(session_);
    auto heap = VictimHeap(session_, victims, preemptor);
    Resource freed;
    bool fits = Fits(preemptor, node);
    while (!fits && !heap.empty()) {
      Task& victim = *heap.Pop();
      on_node.Evict(victim, "preempt");
      freed.Add(victim.req());
      fits = Fits(preemptor, node);
    }
    if (!fits || !on_node.Pipeline(preemptor, node, !freed.IsEmpty()).ok()) {
      on_node.Discard();
      return false;
    }
    statement.Merge(std::move(on_node));
    return true;
  }

  Session& session_;
  const Combine& ask_;
  NodeFilter filter_;
  Heap<QueueInfo*> queues_;
  std::map<const QueueInfo*, Heap<Job*>> starving_;
  std::map<const QueueInfo*, std::vector<Job*>> under_request_;
  std::map<const Job*, TaskHeap> tasks_;
};

}  // namespace

void Preempt(Session& session) { PreemptAction(session).Run(); }

}  // namespace coppice::batch
