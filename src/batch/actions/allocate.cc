// allocate: queue by queue, job by job, tasks are placed until the job is ready. A gang that does
// not get ready leaves no trace.

#include <fmt/format.h>

#include <map>
#include <optional>

#include "batch/actions.h"
#include "batch/actions/topology_search.h"
#include "batch/class_table.h"
#include "batch/heap.h"
#include "batch/search.h"
#include "batch/statement.h"
#include "batch/worksheet.h"

namespace coppice::batch {
namespace {

class AllocateAction {
 public:
  explicit AllocateAction(Session& session)
      : session_(session),
        ask_(session.ask()),
        remembers_(RemembersRefusals(session, "allocate")),
        queues_(
            [this](const QueueInfo* l, const QueueInfo* r) { return ask_.QueueBefore(*l, *r); }),
        tables_(session),
        search_(
            session,
            [this](SubJob& sub_job, TaskHeap& tasks, const HyperNode& within) {
              return PlaceTasks(sub_job, tasks, within);
            },
            [this](SubJob& sub_job, TaskHeap tasks, const HyperNode& pinned) {
              return PlaceAsNominated(sub_job, std::move(tasks), pinned);
            }) {}

  void Run() {
    for (Job* job : session_.jobs()) Consider(*job);
    while (!queues_.empty() && !session_.failed()) {
      QueueInfo* queue = queues_.Pop();
      if (ask_.IsOverused(*queue)) continue;
      Heap<Job*>& jobs = jobs_.at(queue);
      if (jobs.empty()) continue;
      Job& job = *jobs.Pop();
      if (PlaceJob(job)) jobs.Push(&job);
      queues_.Push(queue);
    }
  }

 private:
  void Consider(Job& job) {
    if (job.IsPending()) {
      if (session_.conf().HasAction("enqueue")) return;
      job.group.status.phase = "Inqueue";
    }
    if (ask_.ValidateJob(job)) return;
    if (std::string why = session_.WhyNoTopology(job); !why.empty()) {
      job.fit_errors = std::move(why);
      return;
    }
    Worksheet sheet = Worksheet::ForAllocate(session_, job);
    if (sheet.empty()) return;
    sheets_.emplace(&job, std::move(sheet));
    const auto [entry, added] = jobs_.try_emplace(
        job.queue, [this](const Job* l, const Job* r) { return ask_.JobBefore(*l, *r); });
    if (added) queues_.Push(job.queue);
    entry->second.Push(&job);
  }

  // Whether the job is ready, and has more tasks to place.
  bool PlaceJob(Job& job) {
    Worksheet& sheet = sheets_.at(&job);
    // A statement that only pipelines is left as it is: neither committed nor undone.
    if (job.HasHardTopology() || job.HasSubJobPolicy()) {
      auto statement = search_.PlaceJob(job, sheet);
      if (!statement || !ask_.IsJobReady(job)) return false;
      statement->Commit();
      search_.Committed(job);
      return !sheet.empty();
    }
    SubJob* sub_job = job.DefaultSubJob();
    if (!sub_job) return false;
    TaskHeap& tasks = sheet.tasks(*sub_job);
    std::optional<Statement> statement;
    if (!sub_job->nominated_hyper_node.empty()) statement = search_.FromNomination(*sub_job, tasks);
    if (!statement) statement = PlaceTasks(*sub_job, tasks, session_.hyper_nodes().top());
    if (!statement || !ask_.IsJobReady(job)) return false;
    statement->Commit();
    sub_job->nominated_hyper_node.clear();
    return !tasks.empty();
  }

  // Within the HyperNode.
  std::optional<Statement> PlaceTasks(SubJob& sub_job, TaskHeap& tasks, const HyperNode& within) {
    Job& job = *sub_job.job;
    const auto& nodes = session_.NodesOf(within);
    if (nodes.empty()) return std::nullopt;
    Statement statement(session_);
    NodeFilter filter(session_, remembers_);
    const HyperNode* so_far = session_.hyper_nodes().Find(sub_job.allocated_hyper_node);
    while (!tasks.empty() && !session_.failed()) {
      Task& task = *tasks.Pop();
      if (!ask_.MayAllocate(*job.queue, task)) {
        // Upstream says nothing, and whoever waits does not learn that its queue is why.
        if (!session_.upstream_exact()) {
          job.fit_errors = fmt::format("queue {} may not hold what task {} asks for as well",
                                       job.queue_name, task.name);
        }
        continue;
      }
      if (task.gated) continue;
      if (job.RoleHasFitErrors(task)) {
        auto errors = std::make_shared<FitErrors>();
        errors->SetError(fmt::format(
            "Task {} with role spec {} has already predicated failed, skip", task.name, task.role));
        job.task_fit_errors[task.index] = std::move(errors);
        continue;
      }
      const bool near = sub_job.network_topology.has_value();
      if (near && so_far != nullptr) task.job_allocated_hyper_node = so_far->name;
      const auto [fits, node] = NodeFor(task, filter, within, nodes);
      if (!fits) {
        if (job.WorthContinuing(sub_job)) continue;
        break;
      }
      if (!node || !PlaceTask(statement, task, *node)) continue;
      if (near) so_far = WithNode(so_far, *node);
      if (ask_.IsSubJobReady(job, sub_job)) break;
    }
    if (ask_.IsSubJobReady(job, sub_job) || ask_.IsSubJobPipelined(job, sub_job)) {
      return statement;
    }
    statement.Discard();
    return std::nullopt;
  }

  // The smallest with that node, too. Upstream knows a node only in the lowest tier.
  const HyperNode* WithNode(const HyperNode* so_far, const NodeInfo& node) const {
    const HyperNodeTree& tree = session_.hyper_nodes();
    const HyperNode* own = tree.Of(node.index).front();
    if (session_.upstream_exact() && own->tier != tree.min_tier()) return so_far;
    return HyperNodeTree::LowestCommon(own, so_far);
  }

  struct Found {
    bool fits = false;         // somewhere; if not, why is noted
    NodeInfo* node = nullptr;  // null: scoring failed
  };

  Found NodeFor(Task& task, NodeFilter& filter, const HyperNode& within,
                const std::vector<NodeInfo*>& nodes) {
    const AsKept as_kept(task);
    if (const Status prepared = ask_.PrepareTask(task); !prepared.ok()) {
      auto errors = std::make_shared<FitErrors>();
      const Fit refusal = Refuse(kFitError, prepared.message());
      for (const NodeInfo* node : nodes) errors->Set(*node, refusal);
      task.job->task_fit_errors[task.index] = std::move(errors);
      return {};
    }
    const bool everywhere = &within == &session_.hyper_nodes().top();
    // Asked of every task of the role, the first included: one of another kind that is placed at
    // once, where it was nominated to, has left its refusals in the filter's memory all the same.
    const bool one_class = IsOneClass(task);
    if (everywhere && one_class && task.nominated_node().empty()) {
      // Whether a node takes it and which is the best is one question here.
      const Session::Stopwatch stopwatch(session_);
      const ClassTables::Choice choice = tables_.Choose(task);
      stopwatch.StopInto(session_.numbers().predicate);
      if (choice.node) return {.fits = true, .node = choice.node};
    }
    const Session::Stopwatch filtering(session_);
    const auto candidates = Candidates(task, filter, within, nodes);
    filtering.StopInto(session_.numbers().predicate);
    if (candidates.empty()) return {};
    const Session::Stopwatch scoring(session_);
    NodeInfo* node = ChooseForAllocate(session_, task, candidates);
    if (candidates.size() > 1) scoring.StopInto(session_.numbers().scoring);
    return {.fits = true, .node = node};
  }

  // All that its role has to place is of its class. If not, a node that has refused one kind is not
  // asked about the other while the job is being placed: the filter's memory, which tables lack.
  bool IsOneClass(const Task& task) {
    if (!remembers_ || task.role.empty()) return true;
    const auto [known, added] = one_class_.try_emplace({task.job, task.role}, true);
    if (!added) return known->second;
    const cluster::Snapshot& snapshot = session_.view().snapshot();
    for (const Task* other : task.job->tasks) {
      if (other->role != task.role || IsAllocated(other->status) || IsCompleted(other->status))
        continue;
      known->second &= other->request == task.request &&
                       snapshot.spec_id(other->pod_index) == snapshot.spec_id(task.pod_index);
    }
    return known->second;
  }

  NodeCheck Check() const {
    return [this](const Task& t, const NodeInfo& n) {
      return RoomThen(t, n, [this](const Task& asked, const NodeInfo& node) {
        return session_.CheckForAllocate(asked, node);
      });
    };
  }

  // The nodes that take it; if there are none, why is noted.
  std::vector<NodeInfo*> Candidates(const Task& task, NodeFilter& filter, const HyperNode& within,
                                    const std::vector<NodeInfo*>& nodes) {
    Job& job = *task.job;
    const NodeCheck check = Check();
    const std::string_view nominated = task.nominated_node();
    if (!nominated.empty()) {
      NodeInfo* node = session_.FindNode(nominated);
      if (node && within.Has(node->index) && node->FitsFuture(task.req())) {
        auto found = filter.Filter(task, {&node, 1}, check);
        if (!found.nodes.empty()) return std::move(found.nodes);
      }
    }
    auto found = filter.Filter(task, nodes, check);
    if (found.nodes.empty()) {
      if (&within != &session_.hyper_nodes().top()) found.errors->SetHyperNode(within.name);
      job.task_fit_errors[task.index] = std::move(found.errors);
    }
    return std::move(found.nodes);
  }

  // Each task on the node that its pod names, all in `pinned`, or none of them.
  std::optional<Statement> PlaceAsNominated(SubJob& sub_job, TaskHeap tasks,
                                            const HyperNode& pinned) {
    if (session_.NodesOf(pinned).empty()) return std::nullopt;
    NodeFilter filter(session_, remembers_);
    const NodeCheck check = Check();
    std::vector<std::pair<Task*, NodeInfo*>> plan;
    while (!tasks.empty()) {
      Task& task = *tasks.Pop();
      const bool held_back = task.gated && !session_.upstream_exact();
      if (!ask_.MayAllocate(*sub_job.job->queue, task) || held_back) return std::nullopt;
      const AsKept as_kept(task);
      NodeInfo* node = session_.FindNode(task.nominated_node());
      if (!node || !pinned.Has(node->index) || !ask_.PrepareTask(task).ok()) return std::nullopt;
      if (filter.Filter(task, {&node, 1}, check).nodes.empty()) return std::nullopt;
      plan.emplace_back(&task, node);
    }
    Statement statement(session_);
    for (const auto& [task, node] : plan) {
      if (sub_job.network_topology) task->job_allocated_hyper_node = pinned.name;
      if (PlaceTask(statement, *task, *node)) continue;
      statement.Discard();
      return std::nullopt;
    }
    return statement;
  }

  // False: somebody objected. A node without room, now or later, is passed over, but not an error.
  static bool PlaceTask(Statement& statement, Task& task, NodeInfo& node) {
    if (node.FitsIdle(task.req())) return statement.Allocate(task, node).ok();
    if (node.FitsFuture(task.req())) return statement.Pipeline(task, node, false).ok();
    return true;
  }

  Session& session_;
  const Combine& ask_;
  bool remembers_;
  Heap<QueueInfo*> queues_;
  std::map<const QueueInfo*, Heap<Job*>> jobs_;
  std::map<const Job*, Worksheet> sheets_;
  ClassTables tables_;
  TopologySearch search_;
  std::map<std::pair<const Job*, std::string_view>, bool> one_class_;
};

}  // namespace

void Allocate(Session& session) { AllocateAction(session).Run(); }

}  // namespace coppice::batch
