// task-topology: roles of a job that belong together share nodes, those that belong apart do not.

#include <map>
#include <memory>
#include <set>

#include "batch/plugin.h"
#include "batch/session.h"
#include "plugins/batch/task_topology/buckets.h"

namespace coppice::batch::task_topology {
namespace {

class TaskTopology final : public Plugin, public TaskOrder, public NodeOrder, public EventHandler {
 public:
  explicit TaskTopology(const Arguments& arguments) {
    arguments.Get("task-topology.weight", weight_);
  }

  Status Open(Session& session, Slots& slots) override {
    session_ = &session;
    for (const Job* job : session.jobs()) {
      if (job->counts.of(TaskStatus::kPending) == 0) continue;
      std::set<std::string_view> roles;
      for (const Task* task : job->tasks) roles.insert(task->role);
      const auto topology = ReadTopology(job->group.metadata.annotations, roles);
      if (topology.ok() && *topology) jobs_.emplace(job, Buckets(*job, **topology));
      if (!topology.ok() && !session.upstream_exact()) {
        session.RecordGroupEvent(
            *job, "Warning", "TaskTopology",
            "its wishes about roles are passed over: " + std::string(topology.status().message()));
      }
    }
    slots.task_order = this;
    slots.node_order = this;
    session.AddEventHandler(*this);
    return Status::Ok();
  }

  // Who is in a bucket comes first; then the larger bucket, the roles' order, the older bucket.
  int CompareTasks(const Task& l, const Task& r) override {
    const Buckets* left = Of(l);
    const Buckets* right = Of(r);
    if (!left || !right) return 0;
    const Bucket* left_bucket = left->Of(l);
    const Bucket* right_bucket = right->Of(r);
    if (!left_bucket != !right_bucket) return left_bucket ? -1 : 1;
    if (left != right || !left_bucket) return 0;
    if (left_bucket->waiting.size() != right_bucket->waiting.size()) {
      return left_bucket->waiting.size() > right_bucket->waiting.size() ? -1 : 1;
    }
    if (left_bucket == right_bucket) return -left->CompareRoles(l, r);
    return left_bucket->index < right_bucket->index ? -1 : 1;
  }

  Result<double> ScoreNode(const Task& task, const NodeInfo& node) override {
    const Buckets* buckets = Of(task);
    if (!buckets) return 0.0;
    const double score = buckets->ScoreOf(task, node) * weight_;
    if (buckets->largest() == 0) return score;
    return score * 100.0 / static_cast<double>(buckets->largest());
  }
  // A bucket is the business of one task, not of its kind.
  Scope NodeOrderScope(const Task& task) const override {
    return Of(task) ? Scope::kAnything : Scope::kShapes;
  }

  // Upstream counts every placement and never takes one back, be it that the statement was
  // discarded, and subtracts what a task asks for that was never added: then its process ends.
  void OnAllocate(Event& event) override {
    Buckets* buckets = Find(event.task);
    if (!buckets) return;
    if (session_->upstream_exact()) {
      if (!buckets->Placed(event.task)) {
        session_->Fail(Internal("task-topology: a bucket has less than the task asks for"));
      }
    } else if (buckets->IsWaiting(event.task)) {
      (void)buckets->Placed(event.task);
      placed_.insert(event.task.index);
    }
  }
  void OnDeallocate(Event& event) override {
    if (placed_.erase(event.task.index) == 0) return;
    if (Buckets* buckets = Find(event.task)) buckets->Undone(event.task);
  }

 private:
  const Buckets* Of(const Task& task) const {
    const auto found = jobs_.find(task.job);
    return found == jobs_.end() ? nullptr : &found->second;
  }
  Buckets* Find(const Task& task) {
    const auto found = jobs_.find(task.job);
    return found == jobs_.end() ? nullptr : &found->second;
  }

  int weight_ = 1;
  Session* session_ = nullptr;
  std::map<const Job*, Buckets> jobs_;
  std::set<uint32_t> placed_;  // by this session: Task::index
};

}  // namespace

void Register(PluginRegistry& registry) {
  registry.Add("task-topology", FactoryOf<TaskTopology>());
}

}  // namespace coppice::batch::task_topology
