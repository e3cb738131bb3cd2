// Roles: what a plug-in can have a say in. A plug-in plays some of them, one small interface each;
// how several answers become one is combine.h's business.
//
// Answers are functions of the session's state: no side effects, but for the event handlers and
// JobEnqueued, which are told what happened. Everything runs on the session's thread; whoever asks
// somebody outside waits there.

#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "batch/fit_errors.h"
#include "batch/hyper_nodes.h"
#include "batch/job.h"
#include "batch/node.h"
#include "batch/queue.h"
#include "batch/task.h"

namespace coppice::batch {

// ---- Orders: below zero, the left one comes first; zero, no opinion.
struct JobOrder {
  virtual ~JobOrder() = default;
  virtual int CompareJobs(const Job& l, const Job& r) = 0;
};
struct QueueOrder {
  virtual ~QueueOrder() = default;
  virtual int CompareQueues(const QueueInfo& l, const QueueInfo& r) = 0;
};
struct VictimQueueOrder {  // whose pods go first, for `preemptor`
  virtual ~VictimQueueOrder() = default;
  virtual int CompareVictimQueues(const QueueInfo& l, const QueueInfo& r,
                                  const QueueInfo& preemptor) = 0;
};
struct TaskOrder {
  virtual ~TaskOrder() = default;
  virtual int CompareTasks(const Task& l, const Task& r) = 0;
};
struct SubJobOrder {
  virtual ~SubJobOrder() = default;
  virtual int CompareSubJobs(const SubJob& l, const SubJob& r) = 0;
};

// ---- Placing.

// How long an answer about a task and a node stands. What searches remember goes by it.
enum class Scope : uint8_t {
  kShapes,    // for every task of the class and as long as the session
  kOwnNode,   // until something about this very node changes
  kAnything,  // is asked every time
};

struct PrePredicate {  // before any node is asked
  virtual ~PrePredicate() = default;
  virtual Status PrepareTask(Task& task) = 0;
};
struct Predicate {
  virtual ~Predicate() = default;
  virtual Fit CheckNode(const Task& task, const NodeInfo& node) = 0;
  virtual Scope PredicateScope(const Task&) const { return Scope::kAnything; }
  // For who talks to somebody outside: after a yes to Collect, CheckNode is first asked about all
  // nodes of a search only to note them (it lets each pass), then Fetch may ask for all at once,
  // and then CheckNode is asked again and knows.
  virtual bool Collect(const Task&) { return false; }
  virtual void Fetch() {}
};
struct NodeOrder {  // added to the node's score
  virtual ~NodeOrder() = default;
  virtual Result<double> ScoreNode(const Task& task, const NodeInfo& node) = 0;
  virtual Scope NodeOrderScope(const Task&) const { return Scope::kAnything; }
};
struct BatchNodeOrder {  // of all candidates at once; adds to scores[i] of nodes[i]
  virtual ~BatchNodeOrder() = default;
  virtual Status ScoreNodes(const Task& task, std::span<NodeInfo* const> nodes,
                            std::span<double> scores) = 0;
  // Other than kAnything: each node's score is a function of the node, whoever else is a candidate.
  virtual Scope BatchNodeOrderScope(const Task&) const { return Scope::kAnything; }
};
struct BestNode {  // overrides the scores; null: no opinion
  virtual ~BestNode() = default;
  virtual NodeInfo* ChooseNode(const Task& task, std::span<NodeInfo* const> nodes,
                               std::span<const double> scores) = 0;
};

// ---- The network.

// What places are looked for: for what there is room, or for what may be evicted.
enum class SearchPurpose : uint8_t { kAllocate, kEvict };
// In this order; those of one row are compared with each other.
using HyperNodeGradients = std::vector<std::vector<const HyperNode*>>;

struct HyperNodeGradient {  // HyperNodes within `within` that may hold all of it
  virtual ~HyperNodeGradient() = default;
  virtual HyperNodeGradients GradientsOf(const Job& job, const HyperNode& within,
                                         SearchPurpose purpose) = 0;
  virtual HyperNodeGradients GradientsOf(const SubJob& sub_job, const HyperNode& within,
                                         SearchPurpose purpose) = 0;
};
struct HyperNodeOrder {  // adds to scores[i] of hyper_nodes[i]
  virtual ~HyperNodeOrder() = default;
  virtual Status ScoreHyperNodes(const SubJob& sub_job,
                                 std::span<const HyperNode* const> hyper_nodes,
                                 std::span<double> scores) = 0;
};

// ---- Evicting.
struct Victims {
  std::vector<Task*> tasks;
  int vote = 1;  // 0 abstains; whatever else makes the list count
  // Told what came of the vote, if it began with this list; may take tasks out.
  std::function<void(std::vector<Task*>& result)> taken = nullptr;
};
struct Preemptable {
  virtual ~Preemptable() = default;
  virtual Victims PreemptVictims(const Task& preemptor, std::span<Task* const> candidates) = 0;
};
struct Reclaimable {
  virtual ~Reclaimable() = default;
  virtual Victims ReclaimVictims(const Task& reclaimer, std::span<Task* const> candidates) = 0;
};
struct EvictionContext {
  enum class Kind : uint8_t { kGangPreempt, kGangReclaim };
  Kind kind;
  const Job& job;  // that needs the room
};
struct UnifiedEvictable {  // of whole gangs
  virtual ~UnifiedEvictable() = default;
  virtual Victims UnifiedVictims(const EvictionContext& context,
                                 std::span<Task* const> candidates) = 0;
};
struct VictimTasks {  // to be moved without anybody needing the room
  virtual ~VictimTasks() = default;
  virtual std::vector<Task*> TasksToMove(std::span<Task* const> tasks) = 0;
};

// ---- Queues.
struct Overused {
  virtual ~Overused() = default;
  virtual bool IsOverused(const QueueInfo& queue) = 0;
};
struct Allocatable {
  virtual ~Allocatable() = default;
  virtual bool MayAllocate(const QueueInfo& queue, const Task& task) = 0;
};
struct Preemptive {  // may the queue take back from others for these
  virtual ~Preemptive() = default;
  virtual bool MayReclaim(const QueueInfo& queue, std::span<Task* const> tasks) = 0;
};

// ---- Jobs. A vote: above zero for it, below against it, zero abstains.
struct Invalid {
  std::string reason;
  std::string message;
};
struct JobValid {
  virtual ~JobValid() = default;
  virtual std::optional<Invalid> ValidateJob(const Job& job) = 0;
};
struct JobReady {
  virtual ~JobReady() = default;
  virtual bool IsJobReady(const Job& job) = 0;
};
struct JobPipelined {
  virtual ~JobPipelined() = default;
  virtual int JobPipelinedVote(const Job& job) = 0;
};
struct JobStarving {
  virtual ~JobStarving() = default;
  virtual bool IsJobStarving(const Job& job) = 0;
};
struct SubJobReady {
  virtual ~SubJobReady() = default;
  virtual bool IsSubJobReady(const SubJob& sub_job) = 0;
};
struct SubJobPipelined {
  virtual ~SubJobPipelined() = default;
  virtual int SubJobPipelinedVote(const SubJob& sub_job) = 0;
};
struct JobEnqueueable {
  virtual ~JobEnqueueable() = default;
  virtual int JobEnqueueableVote(const Job& job) = 0;
  // Whether it would have nothing against the job if nobody had been let in before: those may wait
  // for what nobody has or sells. Ceilings hold all the same, with all that was let in.
  virtual bool WouldAdmitAlone(const Job& job) { return JobEnqueueableVote(job) >= 0; }
};
struct JobEnqueued {
  virtual ~JobEnqueued() = default;
  virtual void OnJobEnqueued(const Job& job) = 0;
};

// ---- Events, in the order in which handlers were added.
struct Event {
  Task& task;
  std::string error;  // a handler of a placement sets it to have it undone
};
struct EventHandler {
  virtual ~EventHandler() = default;
  virtual void OnAllocate(Event& event) = 0;    // placed, pipelined, or not evicted after all
  virtual void OnDeallocate(Event& event) = 0;  // evicted, or a placement undone
};

// The roles that the plug-ins of one name play. A second entry of the same name in the
// configuration replaces those that it plays itself and leaves the others.
struct Slots {
  JobOrder* job_order = nullptr;
  QueueOrder* queue_order = nullptr;
  VictimQueueOrder* victim_queue_order = nullptr;
  TaskOrder* task_order = nullptr;
  SubJobOrder* sub_job_order = nullptr;
  PrePredicate* pre_predicate = nullptr;
  Predicate* predicate = nullptr;
  NodeOrder* node_order = nullptr;
  BatchNodeOrder* batch_node_order = nullptr;
  BestNode* best_node = nullptr;
  HyperNodeGradient* hyper_node_gradient = nullptr;
  HyperNodeOrder* hyper_node_order = nullptr;
  Preemptable* preemptable = nullptr;
  Reclaimable* reclaimable = nullptr;
  UnifiedEvictable* unified_evictable = nullptr;
  VictimTasks* victim_tasks = nullptr;
  Overused* overused = nullptr;
  Allocatable* allocatable = nullptr;
  Preemptive* preemptive = nullptr;
  JobValid* job_valid = nullptr;
  JobReady* job_ready = nullptr;
  JobPipelined* job_pipelined = nullptr;
  JobStarving* job_starving = nullptr;
  SubJobReady* sub_job_ready = nullptr;
  SubJobPipelined* sub_job_pipelined = nullptr;
  JobEnqueueable* job_enqueueable = nullptr;
  JobEnqueued* job_enqueued = nullptr;
};

}  // namespace coppice::batch
