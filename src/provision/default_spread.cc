#include "provision/default_spread.h"

#include <utility>

#include "model/selector.h"

namespace coppice::provision {
namespace {

std::string NameOf(const std::string& kind, const std::string& space, const std::string& name) {
  return kind + "/" + space + "/" + name;
}

// Requirements only, so that a label that a Service wants otherwise is not overwritten but
// contradicted, as kube-scheduler has it.
model::LabelSelector AsRequirements(const model::LabelSelector& selector) {
  model::LabelSelector made;
  for (const auto& [key, value] : selector.match_labels)
    made.match_expressions.push_back({.key = key, .operator_ = "In", .values = {value}});
  made.match_expressions.insert(made.match_expressions.end(), selector.match_expressions.begin(),
                                selector.match_expressions.end());
  return made;
}

bool IsOf(const model::OwnerReference& owner, std::string_view kind) {
  return owner.kind == kind &&
         owner.api_version == (kind == "ReplicationController" ? "v1" : "apps/v1");
}

}  // namespace

DefaultSpread::DefaultSpread(std::vector<model::TopologySpreadConstraint> constraints,
                             const SpreadObjects& objects)
    : constraints_(std::move(constraints)) {
  for (const auto& service : objects.services) {
    if (!service->spec.selector.empty()) services_[service->metadata.namespace_].push_back(service);
  }
  const auto note = [this](const char* kind, const model::ObjectMeta& meta,
                           model::LabelSelector selector) {
    controllers_[NameOf(kind, meta.namespace_, meta.name)] = std::move(selector);
  };
  for (const auto& one : objects.replication_controllers)
    note("ReplicationController", one->metadata, {.match_labels = one->spec.selector});
  for (const auto& set : objects.replica_sets) {
    if (set->spec.selector) note("ReplicaSet", set->metadata, AsRequirements(*set->spec.selector));
  }
  for (const auto& set : objects.stateful_sets) {
    if (set->spec.selector) note("StatefulSet", set->metadata, AsRequirements(*set->spec.selector));
  }
}

std::string DefaultSpread::OwnerKey(const model::Pod& pod) {
  const model::OwnerReference* owner = model::ControllerOf(pod.metadata);
  return owner == nullptr ? "" : owner->api_version + "/" + owner->kind + "/" + owner->name;
}

std::optional<model::LabelSelector> DefaultSpread::SelectorOf(const model::Pod& pod) const {
  model::LabelSelector selector;
  if (const auto of = services_.find(pod.metadata.namespace_); of != services_.end()) {
    for (const auto& service : of->second) {
      const model::Labels& wanted = service->spec.selector;
      if (!model::Selector::FromLabels(wanted).Matches(pod.metadata.labels)) continue;
      for (const auto& [key, value] : wanted) selector.match_labels[key] = value;
    }
  }
  const model::OwnerReference* owner = model::ControllerOf(pod.metadata);
  for (const char* kind : {"ReplicationController", "ReplicaSet", "StatefulSet"}) {
    if (owner == nullptr || !IsOf(*owner, kind)) continue;
    const auto found = controllers_.find(NameOf(kind, pod.metadata.namespace_, owner->name));
    if (found == controllers_.end()) continue;
    for (const auto& [key, value] : found->second.match_labels) selector.match_labels[key] = value;
    selector.match_expressions = found->second.match_expressions;
  }
  if (selector.match_labels.empty() && selector.match_expressions.empty()) return std::nullopt;
  return selector;
}

std::shared_ptr<const model::Pod> DefaultSpread::With(const model::Pod& pod) const {
  if (!pod.spec.topology_spread_constraints.empty()) return nullptr;
  const auto selector = SelectorOf(pod);
  if (!selector) return nullptr;
  auto made = std::make_shared<model::Pod>(pod);
  made->spec.topology_spread_constraints = constraints_;
  for (auto& constraint : made->spec.topology_spread_constraints)
    constraint.label_selector = *selector;
  return made;
}

}  // namespace coppice::provision
