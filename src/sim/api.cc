#include "sim/api.h"

#include <algorithm>

#include "cluster/node_change.h"
#include "model/selector.h"

namespace coppice::sim {

Task<Status> Api::ChangeNode(std::string name, cluster::NodeChange change) {
  const NodePtr found = cluster_.objects().FindNode(name);
  if (found == nullptr) co_return NotFound("there is no node " + name);
  if (hooks.before_change) {
    const Status refused = hooks.before_change(name);
    if (!refused.ok()) co_return refused;
  }
  cluster_.UpsertNode(cluster::Changed(*found, change));
  co_return Status::Ok();
}

// The eviction subresource: every budget of the pod must allow one more, and then has one less,
// before the disruption controller has counted again.
Status Api::SpendBudget(const model::Pod& pod) {
  std::vector<std::shared_ptr<const model::PodDisruptionBudget>> budgets;
  cluster_.objects().objects<model::PodDisruptionBudget>().ForEach([&](const auto& budget) {
    if (budget->metadata.namespace_ != pod.metadata.namespace_ || !budget->spec.selector) return;
    const auto selector = model::Selector::From(*budget->spec.selector);
    if (selector.ok() && selector->Matches(pod.metadata.labels)) budgets.push_back(budget);
  });
  for (const auto& budget : budgets) {
    if (budget->status.disruptions_allowed < 1) {
      return ResourceExhausted("Cannot evict pod as it would violate the pod's disruption budget.");
    }
  }
  for (const auto& budget : budgets) {
    model::PodDisruptionBudget spent = *budget;
    --spent.status.disruptions_allowed;
    cluster_.Upsert(std::move(spent));
  }
  return Status::Ok();
}

Result<cluster::LivePod> Api::Find(const cluster::PodName& name) const {
  const PodPtr pod = cluster_.objects().FindPod(name.namespace_, name.name);
  if (pod == nullptr || (!name.uid.empty() && name.uid != pod->metadata.uid))
    return NotFound("there is no pod " + name.namespace_ + "/" + name.name);
  return pod;
}

Task<Status> Api::Evict(cluster::PodName name, int64_t grace_period_seconds) {
  CO_TRY(const cluster::LivePod pod, Find(name));
  if (hooks.before_evict) {
    const Status refused = hooks.before_evict(*pod);
    if (!refused.ok()) co_return refused;
  }
  if (pod->metadata.deletion_timestamp) co_return Status::Ok();
  const Status allowed = SpendBudget(*pod);
  if (!allowed.ok()) co_return allowed;
  if (hooks.evicted) hooks.evicted(*pod);
  if (hooks.hangs && hooks.hangs(*pod)) co_return Status::Ok();
  cluster_.EndPod(name.namespace_, name.name, grace_period_seconds);
  co_return Status::Ok();
}

Task<Status> Api::DeletePod(cluster::PodName name, int64_t grace_period_seconds) {
  CO_TRY(const cluster::LivePod pod, Find(name));
  if (pod->metadata.deletion_timestamp) co_return Status::Ok();
  if (hooks.deleted) hooks.deleted(*pod);
  cluster_.EndPod(name.namespace_, name.name, grace_period_seconds);
  co_return Status::Ok();
}

Task<Status> Api::Bind(cluster::PodName name, std::string node, Annotations annotations) {
  CO_TRY(const cluster::LivePod pod, Find(name));
  if (hooks.before_bind) {
    const Status refused = hooks.before_bind(*pod);
    if (!refused.ok()) co_return refused;
  }
  if (pod->spec.node_name == node) co_return Status::Ok();
  if (!pod->spec.node_name.empty()) {
    if (hooks.bound_twice) hooks.bound_twice(*pod, node);
    co_return Status(Code::kAborted, "the pod is on node " + pod->spec.node_name);
  }
  if (pod->metadata.deletion_timestamp) co_return Status(Code::kAborted, "the pod is ending");
  model::Pod bound = *pod;
  for (auto& [key, value] : annotations) bound.metadata.annotations[key] = std::move(value);
  cluster_.Bind(bound, node);
  if (hooks.bound) hooks.bound(bound, node);
  co_return hooks.after_bind ? hooks.after_bind(bound) : Status::Ok();
}

Task<Status> Api::ChangePodStatus(cluster::PodName name, cluster::PodStatusChange change) {
  CO_TRY(const cluster::LivePod pod, Find(name));
  model::Pod changed = *pod;
  for (model::PodCondition& condition : change.conditions) {
    auto& all = changed.status.conditions;
    const auto same = std::ranges::find(all, condition.type, &model::PodCondition::type);
    if (same != all.end()) all.erase(same);
    all.push_back(std::move(condition));
  }
  if (!change.nominated_node.empty()) changed.status.nominated_node_name = change.nominated_node;
  cluster_.UpdatePod(std::move(changed));
  co_return Status::Ok();
}

Task<Result<std::optional<std::string>>> Api::WhereIs(cluster::PodName name) {
  const PodPtr pod = cluster_.objects().FindPod(name.namespace_, name.name);
  if (pod == nullptr) co_return std::optional<std::string>();
  co_return std::optional<std::string>(pod->spec.node_name);
}

Task<Result<std::vector<cluster::LivePod>>> Api::PodsOn(std::string node) {
  std::vector<cluster::LivePod> pods;
  for (const cluster::World::PodEntry* entry : cluster_.objects().BoundTo(node))
    pods.push_back(entry->pod);
  co_return pods;
}

Task<Result<cluster::LiveNode>> Api::NodeNow(std::string node) {
  const cluster::NodePtr object = cluster_.objects().FindNode(node);
  if (object == nullptr) co_return NotFound("there is no node " + node);
  co_return object;
}

void Api::Emit(cluster::Event event) {
  if (hooks.event) hooks.event(event);
}

}  // namespace coppice::sim
