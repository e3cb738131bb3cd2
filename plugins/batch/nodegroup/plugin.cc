// nodegroup: a queue's pods go to the groups of nodes that the queue's affinity names.

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "batch/plugin.h"
#include "batch/session.h"
#include "plugins/batch/nodegroup/limits.h"

namespace coppice::batch::nodegroup {
namespace {

constexpr std::string_view kGroupKey = "volcano.sh/nodegroup-name";
constexpr double kBaseScore = 100;

const std::string* GroupOf(const NodeInfo& node) {
  return node.object->metadata.labels.Find(kGroupKey);
}

bool Contains(const std::vector<std::string>& names, const std::string& name) {
  return std::ranges::find(names, name) != names.end();
}

struct Attributes {
  const model::QueueAffinity* affinity = nullptr;
  Limits limits;
  std::map<std::string, Resource> allocated;  // by group
};

const model::NodeGroupNames& Liked(const model::QueueAffinity& affinity) {
  static const model::NodeGroupNames kNone;
  return affinity.node_group_affinity ? *affinity.node_group_affinity : kNone;
}
const model::NodeGroupNames& Disliked(const model::QueueAffinity& affinity) {
  static const model::NodeGroupNames kNone;
  return affinity.node_group_anti_affinity ? *affinity.node_group_anti_affinity : kNone;
}

class NodeGroup final : public Plugin, public Predicate, public NodeOrder, public EventHandler {
 public:
  explicit NodeGroup(const Arguments& arguments) {
    arguments.Get("strict", strict_);
    arguments.Get("enablePreferredOrder", ordered_);
  }

  Status Open(Session& session, Slots& slots) override {
    session_ = &session;
    queues_.resize(session.queues().size());
    const bool inherits = session.HierarchyEnabled("nodegroup");
    for (const QueueInfo* queue : session.queues()) {
      Attributes& own = queues_[queue->index];
      own.limits = Limits::Of(queue->object);
      own.affinity = AffinityOf(*queue, inherits);
    }
    for (const Job* job : session.jobs()) {
      for (const Task* task : job->tasks) {
        if (IsAllocated(task->status)) Change(*task, true);
      }
    }
    slots.node_order = this;
    slots.predicate = this;
    session.AddEventHandler(*this);
    return Status::Ok();
  }

  Result<double> ScoreNode(const Task& task, const NodeInfo& node) override {
    const std::string* group = GroupOf(node);
    if (!group || !task.job) return 0.0;
    const model::QueueAffinity* affinity = queues_[task.job->queue->index].affinity;
    if (!affinity) return 0.0;
    if (Contains(Disliked(*affinity).preferred, *group)) return -1.0;
    double score = 0;
    if (Contains(Liked(*affinity).required, *group)) score += kBaseScore;
    return score + PreferredScore(Liked(*affinity).preferred, *group);
  }
  Scope NodeOrderScope(const Task&) const override { return Scope::kShapes; }

  Fit CheckNode(const Task& task, const NodeInfo& node) override {
    if (!task.job) {
      auto refusal = std::make_shared<Refusal>();
      refusal->plain_error = true;
      refusal->statuses.push_back(
          {.reason = "job " + std::string(task.job_id) + " not found in session"});
      return refusal;
    }
    const Attributes& own = queues_[task.job->queue->index];
    if (own.limits.invalid()) return limits_invalid_;
    const model::QueueAffinity* affinity = own.affinity;
    const bool unset = !affinity || (Liked(*affinity) == model::NodeGroupNames{} &&
                                     Disliked(*affinity) == model::NodeGroupNames{});
    const std::string* group = GroupOf(node);
    if (!group) return !strict_ && unset ? nullptr : no_label_;
    if (unset) return no_affinity_;
    const bool admits = Contains(Disliked(*affinity).preferred, *group) ||
                        (!Contains(Disliked(*affinity).required, *group) &&
                         (Contains(Liked(*affinity).required, *group) ||
                          Contains(Liked(*affinity).preferred, *group)));
    if (!admits) return unsatisfied_;
    const auto held = own.allocated.find(*group);
    Resource used = held == own.allocated.end() ? Resource() : held->second;
    return own.limits.Exceeded(*group, used.Add(task.req())) ? limit_exceeded_ : nullptr;
  }
  Scope PredicateScope(const Task& task) const override {
    const bool limited = task.job && !queues_[task.job->queue->index].limits.empty();
    return limited ? Scope::kAnything : Scope::kShapes;
  }

  void OnAllocate(Event& event) override { Change(event.task, true); }
  void OnDeallocate(Event& event) override { Change(event.task, false); }

 private:
  // Its own, or that of the nearest ancestor that has one.
  const model::QueueAffinity* AffinityOf(const QueueInfo& queue, bool inherits) const {
    const QueueInfo* at = &queue;
    for (size_t steps = 0; steps <= session_->queues().size(); ++steps) {
      if (at->object.spec.affinity) return &*at->object.spec.affinity;
      if (!inherits || at->name == kRootQueue) return nullptr;
      at = session_->FindQueue(at->parent());
      if (!at) return nullptr;
    }
    return nullptr;
  }

  double PreferredScore(const std::vector<std::string>& preferred, const std::string& group) const {
    if (!ordered_) return Contains(preferred, group) ? kBaseScore / 2 : 0;
    // The last place counts where a name stands twice, and names that stand twice count once.
    const auto last = std::ranges::find(preferred.rbegin(), preferred.rend(), group);
    if (last == preferred.rend()) return 0;
    const auto index = static_cast<double>(preferred.rend() - last - 1);
    const auto count =
        static_cast<double>(std::set<std::string>(preferred.begin(), preferred.end()).size());
    return kBaseScore / 2 * (count - index) / count;
  }

  void Change(const Task& task, bool added) {
    const NodeInfo* node = session_->FindNode(task.node_name);
    if (!task.job || !node) return;
    const std::string* group = GroupOf(*node);
    if (!group) return;
    auto& allocated = queues_[task.job->queue->index].allocated;
    if (added) {
      allocated[*group].Add(task.req());
    } else if (const auto held = allocated.find(*group); held != allocated.end()) {
      if (!held->second.Sub(task.req()) && session_->upstream_exact()) {
        // It was told twice that the task has gone, and upstream crashes.
        session_->Fail(
            Internal("queue " + task.job->queue->name + " gives back more than it holds"));
      }
    }
  }

  bool strict_ = true;
  bool ordered_ = false;
  Session* session_ = nullptr;
  std::vector<Attributes> queues_;  // by QueueInfo::index
  const Fit limits_invalid_ =
      Refuse(kFitUnresolvable, "node group resource limit annotation invalid");
  const Fit no_label_ = Refuse(kFitUnresolvable, "node group label not found");
  const Fit no_affinity_ = Refuse(kFitUnresolvable, "node group affinity not specified");
  const Fit unsatisfied_ =
      Refuse(kFitUnresolvable, "node does not satisfy the node group affinity");
  const Fit limit_exceeded_ = Refuse(kFitUnresolvable, "node group resource limit exceeded");
};

}  // namespace

void Register(PluginRegistry& registry) { registry.Add("nodegroup", FactoryOf<NodeGroup>()); }

}  // namespace coppice::batch::nodegroup
