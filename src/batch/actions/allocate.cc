// allocate: queue by queue, job by job, tasks are placed until the job is ready. A gang that does
// not get ready leaves no trace.

#include <fmt/format.h>

#include <map>
#include <optional>

#include "batch/actions.h"
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
        tables_(session) {}

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
    if (job.HasNetworkTopology()) {
      job.fit_errors = "the group asks for a network topology, and no hypernodes are known";
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
    if (job.HasSubJobPolicy()) return PlaceSubJobs(job, sheet);
    SubJob* sub_job = job.DefaultSubJob();
    if (!sub_job) return false;
    TaskHeap& tasks = sheet.tasks(*sub_job);
    // A statement that only pipelines is left as it is: neither committed nor undone.
    auto statement = PlaceTasks(*sub_job, tasks);
    if (!statement || !ask_.IsJobReady(job)) return false;
    statement->Commit();
    sub_job->nominated_hyper_node.clear();
    return !tasks.empty();
  }

  // All sub-jobs, in their order, until the job is ready; then once more, for good. Without
  // hypernodes there is one place to try: the whole cluster.
  bool PlaceSubJobs(Job& job, Worksheet& sheet) {
    if (sheet.empty()) return false;
    job.fit_errors.clear();
    job.task_fit_errors.clear();
    Worksheet trial = sheet;
    std::vector<Statement> statements;
    while (!trial.empty()) {
      SubJob& sub_job = trial.Pop();
      for (const Task* task : sub_job.tasks) job.task_fit_errors.erase(task->index);
      auto statement = PlaceTasks(sub_job, trial.tasks(sub_job));
      if (!statement || statement->empty()) continue;
      statements.push_back(std::move(*statement));
      if (!trial.tasks(sub_job).empty()) trial.Push(sub_job);
      if (ask_.IsJobReady(job)) break;
    }
    const bool ready = ask_.IsJobReady(job);
    if (statements.empty()) return false;
    if (!ready && !ask_.IsJobPipelined(job)) {
      for (auto s = statements.rbegin(); s != statements.rend(); ++s) s->Discard();
      return false;
    }
    sheet = std::move(trial);
    if (!ready) return false;
    for (Statement& statement : statements) statement.Commit();
    return !sheet.empty();
  }

  std::optional<Statement> PlaceTasks(SubJob& sub_job, TaskHeap& tasks) {
    Job& job = *sub_job.job;
    if (session_.nodes().empty()) return std::nullopt;
    Statement statement(session_);
    NodeFilter filter(session_, remembers_);
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
      const auto [fits, node] = NodeFor(task, filter);
      if (!fits) {
        if (job.WorthContinuing(sub_job)) continue;
        break;
      }
      if (!node || !PlaceTask(statement, task, *node)) continue;
      if (ask_.IsSubJobReady(job, sub_job)) break;
    }
    if (ask_.IsSubJobReady(job, sub_job) || ask_.IsSubJobPipelined(job, sub_job)) {
      return statement;
    }
    statement.Discard();
    return std::nullopt;
  }

  struct Found {
    bool fits = false;         // somewhere; if not, why is noted
    NodeInfo* node = nullptr;  // null: scoring failed
  };

  Found NodeFor(Task& task, NodeFilter& filter) {
    if (const Status prepared = ask_.PrepareTask(task); !prepared.ok()) {
      auto errors = std::make_shared<FitErrors>();
      const Fit refusal = Refuse(kFitError, prepared.message());
      for (const NodeInfo* node : session_.nodes()) errors->Set(*node, refusal);
      task.job->task_fit_errors[task.index] = std::move(errors);
      return {};
    }
    if (task.pod->status.nominated_node_name.empty() && IsOneClass(task)) {
      const ClassTables::Choice choice = tables_.Choose(task);
      if (choice.node) return {.fits = true, .node = choice.node};
    }
    const auto candidates = Candidates(task, filter);
    if (candidates.empty()) return {};
    return {.fits = true, .node = ChooseForAllocate(session_, task, candidates)};
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

  // The nodes that take it; if there are none, why is noted.
  std::vector<NodeInfo*> Candidates(const Task& task, NodeFilter& filter) {
    Job& job = *task.job;
    const auto& nodes = session_.nodes();
    const NodeCheck check = [&](const Task& t, const NodeInfo& n) {
      return RoomThen(t, n, [&](const Task& asked, const NodeInfo& node) {
        return session_.CheckForAllocate(asked, node);
      });
    };
    const std::string& nominated = task.pod->status.nominated_node_name;
    if (!nominated.empty()) {
      NodeInfo* node = session_.FindNode(nominated);
      if (node && node->FitsFuture(task.req())) {
        auto found = filter.Filter(task, {&node, 1}, check);
        if (!found.nodes.empty()) return std::move(found.nodes);
      }
    }
    auto found = filter.Filter(task, nodes, check);
    if (found.nodes.empty()) job.task_fit_errors[task.index] = std::move(found.errors);
    return std::move(found.nodes);
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
  std::map<std::pair<const Job*, std::string_view>, bool> one_class_;
};

}  // namespace

void Allocate(Session& session) { AllocateAction(session).Run(); }

}  // namespace coppice::batch
