// Combine: how the answers of several plug-ins become one.
//
// Tiers in order, plug-ins in order, an entry whose flag is off not asked. Each function has one
// rule; kRules is the list of them, and the only place where a rule is chosen. Where upstream's
// rule is a mistake, Options::upstream_exact brings it back (docs/differences.md).

#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "batch/conf.h"
#include "batch/roles.h"

namespace coppice::batch {

enum class Rule : uint8_t {
  kFirstOpinion,  // the first comparison that is not zero, over all tiers
  kFirstRefusal,  // the first no ends it, over all tiers
  kSum,           // of all
  kFirstAnswer,   // the first that has one
  kIntersection,  // within a tier; the first tier with a result
  kAny,           // one yes is enough
  kAll,           // one no is enough
  kVote,          // one against ends it; after a tier with one for it, the others are not asked
  kFirstTier,     // all of the first tier that plays the role; nobody: no
  kUnion,         // within a tier; the first tier with a result
  kTellAll,
};

struct RuleLine {
  std::string_view function;
  Rule rule;
  std::optional<Flag> flag;  // absent: cannot be switched off
  std::string_view otherwise;
};

inline constexpr std::array<RuleLine, 27> kRules{{
    {"JobOrder", Rule::kFirstOpinion, Flag::kJobOrder, "older first, then by id"},
    {"QueueOrder", Rule::kFirstOpinion, Flag::kQueueOrder, "older first, then by name"},
    {"VictimQueueOrder", Rule::kFirstOpinion, std::nullopt, "the opposite of QueueOrder"},
    {"TaskOrder", Rule::kFirstOpinion, Flag::kTaskOrder, "index, age, uid"},
    {"SubJobOrder", Rule::kFirstOpinion, Flag::kSubJobOrder, "match index, id"},
    {"PrePredicate", Rule::kFirstRefusal, Flag::kPredicate, "passes"},
    {"Predicate", Rule::kFirstRefusal, Flag::kPredicate, "passes"},
    {"NodeOrder", Rule::kSum, Flag::kNodeOrder, "0"},
    {"BatchNodeOrder", Rule::kSum, Flag::kNodeOrder, "0"},
    {"BestNode", Rule::kFirstAnswer, Flag::kBestNode, "the highest score"},
    {"HyperNodeGradient", Rule::kFirstAnswer, Flag::kHyperNodeGradient, "what it is within"},
    {"HyperNodeOrder", Rule::kSum, Flag::kHyperNodeOrder, "0"},
    {"Preemptable", Rule::kIntersection, Flag::kPreemptable, "nobody"},
    {"Reclaimable", Rule::kIntersection, Flag::kReclaimable, "nobody"},
    {"UnifiedEvictable", Rule::kIntersection, std::nullopt, "nobody"},
    {"VictimTasks", Rule::kUnion, Flag::kVictim, "nobody"},
    {"Overused", Rule::kAny, Flag::kOverused, "no"},
    {"Allocatable", Rule::kAll, Flag::kAllocatable, "yes"},
    {"Preemptive", Rule::kAll, Flag::kPreemptive, "yes"},
    {"JobValid", Rule::kFirstRefusal, std::nullopt, "valid"},
    {"JobReady", Rule::kAll, Flag::kJobReady, "yes"},
    {"JobPipelined", Rule::kVote, Flag::kJobPipelined, "yes"},
    {"JobStarving", Rule::kFirstTier, Flag::kJobStarving, "no"},
    {"SubJobReady", Rule::kAll, Flag::kSubJobReady, "yes"},
    {"SubJobPipelined", Rule::kVote, Flag::kSubJobPipelined, "yes"},
    {"JobEnqueueable", Rule::kVote, Flag::kJobEnqueued, "yes"},
    {"JobEnqueued", Rule::kTellAll, Flag::kJobEnqueued, ""},
}};

class Combine {
 public:
  explicit Combine(bool upstream_exact) : upstream_exact_(upstream_exact) {}

  // The plug-ins that opened, by name, and where the configuration puts them.
  void Build(const std::vector<Tier>& tiers, const std::map<std::string, Slots>& slots);
  // Where the nth entry of a plug-in has its slots. Upstream has one place for all of a name: what
  // the second plays replaces the first's, and is asked twice.
  std::string SlotName(const std::string& plugin, int entry) const;

  // Who is asked behind all tiers, whatever these have said: of predicates, scores, overused queues
  // and readiness as if in a tier of its own; of victims it may only take some out, and to admit a
  // job it may only object. After Build.
  void BuildLast(const std::vector<Slots>& last);

  int CompareJobs(const Job& l, const Job& r) const;
  bool JobBefore(const Job& l, const Job& r) const;
  bool QueueBefore(const QueueInfo& l, const QueueInfo& r) const;
  bool VictimQueueBefore(const QueueInfo& l, const QueueInfo& r, const QueueInfo& preemptor) const;
  bool TaskBefore(const Task& l, const Task& r) const;
  bool SubJobBefore(const SubJob& l, const SubJob& r) const;

  Status PrepareTask(Task& task) const;
  Fit CheckNode(const Task& task, const NodeInfo& node) const;
  // The first refusal that evicting others would not lift.
  Fit CheckNodeForPreempt(const Task& task, const NodeInfo& node) const;
  // Roles::Predicate has what these are for.
  bool Collect(const Task& task) const;
  void Fetch() const;
  // While it lives CheckNode asks only those who have collected: about a node that everybody else
  // has passed since.
  class OnlyCollectors {
   public:
    explicit OnlyCollectors(const Combine& of) : of_(of) { of.only_collectors_ = true; }
    ~OnlyCollectors() { of_.only_collectors_ = false; }
    OnlyCollectors(const OnlyCollectors&) = delete;
    OnlyCollectors& operator=(const OnlyCollectors&) = delete;

   private:
    const Combine& of_;
  };
  // Of each node, or nothing if the scoring of all has failed.
  std::optional<std::vector<double>> Score(const Task& task,
                                           std::span<NodeInfo* const> nodes) const;
  NodeInfo* ChooseNode(const Task& task, std::span<NodeInfo* const> nodes,
                       std::span<const double> scores) const;
  // The narrowest of the plug-ins' scopes.
  Scope PredicateScope(const Task& task) const;
  Scope ScoreScope(const Task& task) const;

  bool KnowsGradients() const { return !hyper_node_gradient_.empty(); }
  HyperNodeGradients GradientsOf(const Job& job, const HyperNode& within,
                                 SearchPurpose purpose) const;
  HyperNodeGradients GradientsOf(const SubJob& sub_job, const HyperNode& within,
                                 SearchPurpose purpose) const;
  // Of each, or nothing if the scoring of all has failed.
  std::optional<std::vector<double>> ScoreHyperNodes(
      const SubJob& sub_job, std::span<const HyperNode* const> hyper_nodes) const;

  std::vector<Task*> Preemptable(const Task& preemptor, std::span<Task* const> candidates) const;
  std::vector<Task*> Reclaimable(const Task& reclaimer, std::span<Task* const> candidates) const;
  std::vector<Task*> UnifiedEvictable(const EvictionContext& context,
                                      std::span<Task* const> candidates) const;
  std::vector<Task*> TasksToMove(std::span<Task* const> tasks) const;

  bool IsOverused(const QueueInfo& queue) const;
  bool MayAllocate(const QueueInfo& queue, const Task& task) const;
  bool MayReclaim(const QueueInfo& queue, std::span<Task* const> tasks) const;

  std::optional<Invalid> ValidateJob(const Job& job) const;
  bool IsJobReady(const Job& job) const;
  bool IsJobPipelined(const Job& job) const;
  bool IsJobStarving(const Job& job) const;
  // Of a job without sub-group policy: what holds for the job.
  bool IsSubJobReady(const Job& job, const SubJob& sub_job) const;
  bool IsSubJobPipelined(const Job& job, const SubJob& sub_job) const;
  bool MayEnqueue(const Job& job) const;
  bool MayEnqueueAlone(const Job& job) const;
  void OnJobEnqueued(const Job& job) const;

 private:
  template <class R>
  struct Player {
    R* role;
    uint32_t tier;
  };
  template <class R>
  using Players = std::vector<Player<R>>;

  template <class R, class Ask>
  std::vector<Task*> Intersect(const Players<R>& players, Ask ask) const;
  template <class R, class Ask>
  static std::vector<Task*> Narrow(std::vector<Task*> victims, const Players<R>& last, Ask ask);
  template <class R, class Ask>
  static bool Vote(const Players<R>& players, Ask ask);

  bool upstream_exact_;
  Players<JobOrder> job_order_;
  Players<QueueOrder> queue_order_;
  Players<VictimQueueOrder> victim_queue_order_;
  Players<TaskOrder> task_order_;
  Players<SubJobOrder> sub_job_order_;
  Players<PrePredicate> pre_predicate_;
  Players<Predicate> predicate_;
  mutable std::vector<bool> collects_;  // of predicate_, for the task of the last Collect
  mutable bool only_collectors_ = false;
  Players<NodeOrder> node_order_;
  Players<BatchNodeOrder> batch_node_order_;
  Players<BestNode> best_node_;
  Players<HyperNodeGradient> hyper_node_gradient_;
  Players<HyperNodeOrder> hyper_node_order_;
  Players<batch::Preemptable> preemptable_;
  Players<batch::Reclaimable> reclaimable_;
  Players<batch::UnifiedEvictable> unified_evictable_;
  Players<VictimTasks> victim_tasks_;
  Players<Overused> overused_;
  Players<Allocatable> allocatable_;
  Players<Preemptive> preemptive_;
  Players<JobValid> job_valid_;
  Players<JobReady> job_ready_;
  Players<JobPipelined> job_pipelined_;
  Players<JobStarving> job_starving_;
  Players<SubJobReady> sub_job_ready_;
  Players<SubJobPipelined> sub_job_pipelined_;
  Players<JobEnqueueable> job_enqueueable_;
  Players<JobEnqueued> job_enqueued_;
  Players<batch::Preemptable> last_preemptable_;
  Players<batch::Reclaimable> last_reclaimable_;
  Players<JobEnqueueable> last_job_enqueueable_;
};

}  // namespace coppice::batch
