// preempt: starving jobs take room from other jobs of their queue, then from their own tasks.

#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <tuple>
#include <vector>

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

// enableTopologyAwarePreemption: several nodes are tried before anybody goes, with as few victims on
// each as will do, and the node whose victims matter least is taken. Upstream starts at a node
// drawn by lot; here it is the first.
struct WeighNodes {
  bool enabled = false;
  int least_percent = 10;  // of the nodes, found to be possible; then the search ends
  int least = 1;
  int most = 100;

  explicit WeighNodes(const Arguments& arguments) {
    arguments.Get("enableTopologyAwarePreemption", enabled);
    arguments.Get("minCandidateNodesPercentage", least_percent);
    arguments.Get("minCandidateNodesAbsolute", least);
    arguments.Get("maxCandidateNodesAbsolute", most);
  }
  size_t Enough(size_t nodes) const {
    const int64_t wanted = static_cast<int64_t>(nodes) * least_percent / 100;
    const int64_t bounded = std::min<int64_t>(std::max<int64_t>(wanted, least), most);
    return static_cast<size_t>(std::clamp<int64_t>(bounded, 0, static_cast<int64_t>(nodes)));
  }
};

struct Plan {
  NodeInfo* node;
  std::vector<Task*> victims;  // the most important first
};

// The less, the better to take: importance of the first victim, of all together, their number; then
// how long the most important of them have been running.
std::tuple<int64_t, int64_t, size_t, int64_t> CostOf(const Plan& plan, TimePoint now) {
  constexpr int64_t kAboveZero = int64_t{1} << 31;
  int64_t sum = 0;
  int64_t highest = std::numeric_limits<int64_t>::min();
  for (const Task* victim : plan.victims) {
    sum += model::PriorityOf(*victim->pod) + kAboveZero;
    highest = std::max<int64_t>(highest, model::PriorityOf(*victim->pod));
  }
  TimePoint earliest = now;
  for (const Task* victim : plan.victims) {
    const auto& started = victim->pod->status.start_time;
    if (started && model::PriorityOf(*victim->pod) == highest)
      earliest = std::min(earliest, started->at);
  }
  const int64_t first = plan.victims.empty() ? highest : model::PriorityOf(*plan.victims[0]->pod);
  return {first, sum, plan.victims.size(), -earliest.time_since_epoch().count()};
}

class PreemptAction {
 public:
  explicit PreemptAction(Session& session)
      : session_(session),
        ask_(session.ask()),
        weigh_(session.conf().ArgumentsOf("preempt")),
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
      session_.CommitEvicting(statement, "preempt");
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
      session_.CommitEvicting(statement, "preempt");
    }
  }

  bool IsEligible(const Task& preemptor) {
    const model::Pod& pod = *preemptor.pod;
    if (pod.spec.preemption_policy == "Never") return false;
    const std::string_view nominated = preemptor.nominated_node();
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
    if (weigh_.enabled) return TryCheapest(statement, preemptor, found.nodes, may_go);
    for (NodeInfo* node : SortedByScore(session_, preemptor, found.nodes)) {
      if (session_.failed()) return false;
      if (TryNode(statement, preemptor, *node, may_go)) return true;
    }
    // Upstream turns to the nodes of other shards then, has their scores asked for, and there are
    // none.
    if (session_.upstream_exact()) (void)SortedByScore(session_, preemptor, {});
    return false;
  }

  bool Fits(const Task& preemptor, const NodeInfo& node) {
    return ask_.MayAllocate(*preemptor.job->queue, preemptor) && node.FitsFuture(preemptor.req()) &&
           !ask_.CheckNode(preemptor, node);
  }

  std::vector<Task*> VictimsOn(const NodeInfo& node, const Task& preemptor,
                               const VictimFilter& may_go) {
    std::vector<Task*> candidates;
    for (Task* task : node.SortedTasks()) {
      if (may_go(*task)) candidates.push_back(task);
    }
    auto victims = ask_.Preemptable(preemptor, candidates);
    session_.numbers().victims = victims.size();
    return victims;
  }

  bool TryNode(Statement& statement, Task& preemptor, NodeInfo& node, const VictimFilter& may_go) {
    const auto victims = VictimsOn(node, preemptor, may_go);
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
    ++session_.numbers().preemption_attempts;
    if (!fits || !on_node.Pipeline(preemptor, node, !freed.IsEmpty()).ok()) {
      on_node.Discard();
      return false;
    }
    statement.Merge(std::move(on_node));
    return true;
  }

  // ---- With nodes weighed against each other.

  bool TryCheapest(Statement& statement, Task& preemptor, std::span<NodeInfo* const> nodes,
                   const VictimFilter& may_go) {
    const size_t enough = weigh_.Enough(nodes.size());
    std::vector<Plan> plans;
    for (NodeInfo* node : nodes) {
      if (plans.size() >= enough || session_.failed()) break;
      if (auto plan = PlanFor(*node, preemptor, may_go)) plans.push_back(std::move(*plan));
    }
    if (plans.empty() || session_.failed()) return false;
    const auto best = std::ranges::min_element(
        plans, {}, [&](const Plan& plan) { return CostOf(plan, session_.now()); });
    Statement on_node(session_);
    for (Task* victim : best->victims) on_node.Evict(*victim, "preempt");
    ++session_.numbers().preemption_attempts;
    if (!on_node.Pipeline(preemptor, *best->node, !best->victims.empty()).ok()) {
      on_node.Discard();
      return false;
    }
    statement.Merge(std::move(on_node));
    return true;
  }

  // Who would have to leave the node: the least important first until there is room, and of those
  // again nobody without whom there is room, too. Nothing has changed afterwards.
  std::optional<Plan> PlanFor(NodeInfo& node, const Task& preemptor, const VictimFilter& may_go) {
    const auto victims = VictimsOn(node, preemptor, may_go);
    if (session_.failed() || !WouldMakeRoom(preemptor, node, victims)) return std::nullopt;
    Statement trial(session_);
    auto heap = VictimHeap(session_, victims, preemptor);
    std::vector<Task*> gone;
    bool fits = Fits(preemptor, node);
    // Upstream takes no node on which nobody has to go.
    if (fits && session_.upstream_exact()) return std::nullopt;
    while (!fits && !heap.empty()) {
      gone.push_back(heap.Pop());
      trial.Evict(*gone.back(), "preempt");
      fits = Fits(preemptor, node);
    }
    Plan plan{.node = &node};
    for (auto victim = gone.rbegin(); fits && victim != gone.rend(); ++victim) {
      trial.Spare(**victim);
      if (Fits(preemptor, node)) continue;
      trial.Evict(**victim, "preempt");
      plan.victims.push_back(*victim);
    }
    trial.Discard();
    return fits ? std::optional(std::move(plan)) : std::nullopt;
  }

  Session& session_;
  const Combine& ask_;
  const WeighNodes weigh_;
  NodeFilter filter_;
  Heap<QueueInfo*> queues_;
  std::map<const QueueInfo*, Heap<Job*>> starving_;
  std::map<const QueueInfo*, std::vector<Job*>> under_request_;
  std::map<const Job*, TaskHeap> tasks_;
};

}  // namespace

void Preempt(Session& session) { PreemptAction(session).Run(); }

}  // namespace coppice::batch
