#include "provision/spec_key.h"

#include "provision/amounts.h"

namespace coppice::provision {

SpecKey& SpecKey::Add(const model::Labels& labels) {
  Number(labels.size());
  for (const auto& [key, value] : labels) Text(key).Text(value);
  return *this;
}

SpecKey& SpecKey::Add(const model::ResourceList& resources) {
  Number(resources.size());
  for (const auto& [name, quantity] : resources) {
    const Amount amount = ToAmount(quantity);
    // The format shows in texts, so it tells twins apart.
    Text(name).Number(static_cast<uint64_t>(amount)).Number(static_cast<uint64_t>(amount >> 64));
    Number(static_cast<uint64_t>(quantity.format()));
  }
  return *this;
}

SpecKey& SpecKey::Add(const model::Toleration& toleration) {
  return Text(toleration.key)
      .Text(toleration.operator_)
      .Text(toleration.value)
      .Text(toleration.effect);
}

SpecKey& SpecKey::Add(const model::NodeSelectorRequirement& requirement) {
  return Text(requirement.key).Text(requirement.operator_).Add(requirement.values);
}

SpecKey& SpecKey::Add(const model::NodeSelectorTerm& term) {
  return Add(term.match_expressions).Add(term.match_fields);
}

SpecKey& SpecKey::Add(const model::LabelSelectorRequirement& requirement) {
  return Text(requirement.key).Text(requirement.operator_).Add(requirement.values);
}

SpecKey& SpecKey::Add(const model::LabelSelector& selector) {
  return Add(selector.match_labels).Add(selector.match_expressions);
}

SpecKey& SpecKey::Add(const model::PodAffinityTerm& term) {
  return Maybe(term.label_selector)
      .Add(term.namespaces)
      .Text(term.topology_key)
      .Maybe(term.namespace_selector)
      .Add(term.match_label_keys)
      .Add(term.mismatch_label_keys);
}

SpecKey& SpecKey::Add(const model::TopologySpreadConstraint& constraint) {
  return Add(constraint.max_skew)
      .Text(constraint.topology_key)
      .Text(constraint.when_unsatisfiable)
      .Maybe(constraint.label_selector)
      .Maybe(constraint.min_domains)
      .Maybe(constraint.node_affinity_policy)
      .Maybe(constraint.node_taints_policy)
      .Add(constraint.match_label_keys);
}

SpecKey& SpecKey::Add(const model::Affinity& affinity) {
  Number(affinity.node_affinity ? 1 : 0);
  if (affinity.node_affinity) {
    const auto& required = affinity.node_affinity->required;
    Number(required ? 1 : 0);
    if (required) Add(required->node_selector_terms);
    Number(affinity.node_affinity->preferred.size());
    for (const auto& term : affinity.node_affinity->preferred)
      Add(term.weight).Add(term.preference);
  }
  for (const auto* terms : {&affinity.pod_affinity, &affinity.pod_anti_affinity}) {
    Number(*terms ? 1 : 0);
    if (!*terms) continue;
    Add((*terms)->required).Number((*terms)->preferred.size());
    for (const auto& term : (*terms)->preferred) Add(term.weight).Add(term.pod_affinity_term);
  }
  return *this;
}

SpecKey& SpecKey::Add(const model::Container& container) {
  Add(container.resources.requests);
  Number(container.resources.claims.size()).Maybe(container.restart_policy);
  for (const model::ContainerPort& port : container.ports) {
    if (port.host_port == 0) continue;
    Add(port.host_port).Text(port.protocol).Text(port.host_ip);
  }
  return Number(0);
}

SpecKey& SpecKey::Add(const model::ContainerStatus& status) {
  Text(status.name).Add(status.allocated_resources).Number(status.resources ? 1 : 0);
  if (status.resources) Add(status.resources->requests);
  return *this;
}

std::string TwinKey(const model::Pod& pod) {
  SpecKey key;
  // Names of containers only matter where a resize has to find them.
  if (!pod.status.container_statuses.empty() || !pod.status.init_container_statuses.empty()) {
    for (const model::Container& container : pod.spec.containers) key.Text(container.name);
    for (const model::Container& container : pod.spec.init_containers) key.Text(container.name);
  }
  key.Text(pod.metadata.namespace_).Add(pod.metadata.labels);
  key.Add(pod.spec.containers).Add(pod.spec.init_containers).Add(pod.spec.overhead);
  key.Number(pod.spec.resources ? 1 : 0);
  if (pod.spec.resources) key.Add(pod.spec.resources->requests);
  key.Add(pod.status.container_statuses).Add(pod.status.init_container_statuses);
  key.Add(pod.status.allocated_resources).Text(pod.status.resize);
  key.Add(pod.spec.node_selector).Number(pod.spec.affinity ? 1 : 0);
  if (pod.spec.affinity) key.Add(*pod.spec.affinity);
  key.Add(pod.spec.tolerations).Add(pod.spec.topology_spread_constraints);
  key.Number(pod.spec.resource_claims.size());
  for (const model::Volume& volume : pod.spec.volumes) {
    if (volume.claim_name) key.Text(*volume.claim_name);
    if (volume.ephemeral) key.Text(pod.metadata.name).Text(volume.name);
  }
  return std::move(key).Take();
}

}  // namespace coppice::provision
