#include "plugins/filters/pod_topology_spread/constraints.h"

#include <algorithm>
#include <utility>

namespace coppice::filters::pod_topology_spread {
namespace {

constexpr std::string_view kHonor = "Honor";

// A nil selector stays one that selects nothing; an empty one becomes the labels.
model::Selector WithLabelKeys(const model::Selector& selector, const std::vector<std::string>& keys,
                              const model::Labels& pod_labels) {
  model::Labels own;
  for (const std::string& key : keys) {
    if (const std::string* value = pod_labels.Find(key)) own[key] = *value;
  }
  if (own.empty() || selector.matches_nothing()) return selector;
  return model::Selector::FromLabels(own).With(selector.requirements());
}

}  // namespace

Result<std::vector<Constraint>> HardConstraints(
    const std::vector<model::TopologySpreadConstraint>& constraints,
    const model::Labels& pod_labels) {
  std::vector<Constraint> hard;
  for (const model::TopologySpreadConstraint& c : constraints) {
    if (c.when_unsatisfiable != "DoNotSchedule") continue;
    const model::Selector selector = TRY(model::Selector::From(c.label_selector));
    hard.push_back({.max_skew = c.max_skew,
                    .topology_key = c.topology_key,
                    .selector = WithLabelKeys(selector, c.match_label_keys, pod_labels),
                    .min_domains = c.min_domains.value_or(1),
                    .honor_affinity = c.node_affinity_policy.value_or("Honor") == kHonor,
                    .honor_taints = c.node_taints_policy.value_or("Ignore") == kHonor});
  }
  return hard;
}

model::Selector SiblingSelector(const cluster::PodView& pod, const cluster::Facts& facts) {
  model::Labels labels;
  const auto merge = [&](const model::Labels& more) {
    for (const auto& [key, value] : more) labels[key] = value;
  };
  facts.services.ForEachIn(pod.namespace_, [&](const auto& service) {
    const model::Labels& wanted = service->spec.selector;
    if (!wanted.empty() && model::Selector::FromLabels(wanted).Matches(pod.labels())) merge(wanted);
  });
  if (!pod.owner) return model::Selector::FromLabels(labels);
  const auto with = [&](const std::optional<model::LabelSelector>& selector) {
    const auto compiled = model::Selector::From(selector);
    const model::Selector own = model::Selector::FromLabels(labels);
    if (!compiled.ok() || compiled->matches_nothing()) return own;
    return own.With(compiled->requirements());
  };
  const model::OwnerReference& owner = *pod.owner;
  if (owner.kind == "ReplicaSet" && owner.api_version == "apps/v1") {
    if (const auto* set = facts.replica_sets.Find(pod.namespace_, owner.name))
      return with(set->spec.selector);
  } else if (owner.kind == "StatefulSet" && owner.api_version == "apps/v1") {
    if (const auto* set = facts.stateful_sets.Find(pod.namespace_, owner.name))
      return with(set->spec.selector);
  } else if (owner.kind == "ReplicationController" && owner.api_version == "v1") {
    if (const auto* rc = facts.replication_controllers.Find(pod.namespace_, owner.name)) {
      merge(rc->spec.selector);
    }
  }
  return model::Selector::FromLabels(labels);
}

}  // namespace coppice::filters::pod_topology_spread
