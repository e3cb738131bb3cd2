#include "cluster/pod_shape.h"

#include <algorithm>

#include "model/declared_features.h"
#include "model/resources.h"

namespace coppice::cluster {
namespace {

bool HasHostPort(const model::Container& container) {
  return std::ranges::any_of(container.ports,
                             [](const model::ContainerPort& port) { return port.host_port > 0; });
}

void AddContainers(Canonical& bytes, const std::vector<model::Container>& containers) {
  bytes.Add(static_cast<int64_t>(containers.size()));
  for (const model::Container& container : containers) {
    bytes.Add(container.name);               // statuses of an in-place resize are found by it
    bytes.AddRequests(container.resources);  // limits count for nothing
    const bool plain = !container.restart_policy && container.restart_policy_rules.empty() &&
                       !HasHostPort(container);
    bytes.Add(plain);
    if (plain) continue;
    bytes.Add(container.restart_policy);
    bytes.Add(static_cast<int64_t>(container.restart_policy_rules.size()));
    for (const auto& rule : container.restart_policy_rules) bytes.Add(rule.action);
    for (const model::ContainerPort& port : container.ports) {
      if (port.host_port <= 0) continue;
      bytes.Add(port.host_port);
      bytes.Add(port.protocol);
      bytes.Add(port.host_ip);
    }
    bytes.Add(int32_t{0});  // no host port is 0: ends the list
  }
}

void AddStatuses(Canonical& bytes, const std::vector<model::ContainerStatus>& statuses) {
  bytes.Add(static_cast<int64_t>(statuses.size()));
  for (const model::ContainerStatus& status : statuses) {
    bytes.Add(status.name);
    bytes.Add(status.allocated_resources);
    bytes.Add(status.resources.has_value());
    if (status.resources) bytes.AddRequests(*status.resources);
  }
}

bool IsOfResize(const model::PodCondition& condition) {
  return condition.type.starts_with("PodResize");
}

// Nothing of what most pods do not have: then a word says so, instead of twenty that are empty.
bool IsPlain(const model::Pod& pod) {
  const model::PodSpec& spec = pod.spec;
  const model::PodStatus& status = pod.status;
  return spec.init_containers.empty() && !spec.resources && spec.overhead.empty() &&
         spec.node_selector.empty() && !spec.affinity && spec.tolerations.empty() &&
         spec.topology_spread_constraints.empty() && !spec.host_network && !spec.host_users &&
         spec.resource_claims.empty() && status.container_statuses.empty() &&
         status.init_container_statuses.empty() && status.allocated_resources.empty() &&
         !status.resources && status.resize.empty() &&
         std::ranges::none_of(status.conditions, IsOfResize);
}

void AddHostPorts(std::vector<HostPort>& out, const model::Container& container) {
  for (const model::ContainerPort& port : container.ports) {
    if (port.host_port <= 0) continue;
    out.push_back({.ip = port.host_ip.empty() ? "0.0.0.0" : port.host_ip,
                   .protocol = port.protocol.empty() ? "TCP" : port.protocol,
                   .port = port.host_port});
  }
}

}  // namespace

void AddRaw(Canonical& bytes, const model::Pod& pod) {
  const model::PodSpec& spec = pod.spec;
  AddContainers(bytes, spec.containers);
  bytes.Add(spec.priority);
  bytes.Add(spec.scheduler_name);
  const model::OwnerReference* owner = model::ControllerOf(pod.metadata);
  bytes.Add(owner ? std::string_view(owner->kind) : std::string_view(""));  // never null bytes
  const bool plain = IsPlain(pod);
  bytes.Add(plain);
  if (plain) return;
  AddContainers(bytes, spec.init_containers);
  bytes.Add(spec.resources.has_value());
  if (spec.resources) bytes.AddRequests(*spec.resources);
  bytes.Add(spec.overhead);
  bytes.Add(spec.node_selector);
  bytes.Add(spec.affinity);
  bytes.Add(spec.tolerations);
  bytes.Add(spec.topology_spread_constraints);
  bytes.Add(spec.host_network);
  bytes.Add(spec.host_users);
  bytes.Add(!spec.resource_claims.empty());
  AddStatuses(bytes, pod.status.container_statuses);
  AddStatuses(bytes, pod.status.init_container_statuses);
  bytes.Add(pod.status.allocated_resources);
  bytes.Add(pod.status.resources.has_value());
  if (pod.status.resources) bytes.AddRequests(*pod.status.resources);
  bytes.Add(pod.status.resize);
  for (const model::PodCondition& condition : pod.status.conditions) {
    if (!IsOfResize(condition)) continue;
    bytes.Add(condition.type);
    bytes.Add(condition.status);
    bytes.Add(condition.reason);
  }
}

PodSpecShape ShapeOf(const model::Pod& pod) {
  PodSpecShape shape{.requests = model::IncomingRequests(pod),
                     .placed = model::PlacedRequests(pod),
                     .node_selector = pod.spec.node_selector,
                     .affinity = pod.spec.affinity,
                     .tolerations = pod.spec.tolerations,
                     .spread = pod.spec.topology_spread_constraints,
                     .priority = model::PriorityOf(pod),
                     .scheduler_name = pod.spec.scheduler_name,
                     .has_resource_claims = !pod.spec.resource_claims.empty(),
                     .needed_features = model::NeededFeatures(pod.spec)};
  // Ports of plain init containers are free again before the pod runs.
  for (const model::Container& container : pod.spec.init_containers) {
    if (container.restart_policy == "Always") AddHostPorts(shape.host_ports, container);
  }
  for (const model::Container& container : pod.spec.containers)
    AddHostPorts(shape.host_ports, container);
  if (const model::OwnerReference* owner = model::ControllerOf(pod.metadata))
    shape.owner_kind = owner->kind;
  return shape;
}

void AddShape(Canonical& bytes, const PodSpecShape& shape) {
  bytes.Add(shape.requests);
  bytes.Add(shape.placed);
  bytes.Add(shape.node_selector);
  bytes.Add(shape.affinity);
  bytes.Add(shape.tolerations);
  bytes.Add(shape.spread);
  bytes.Add(static_cast<int64_t>(shape.host_ports.size()));
  for (const HostPort& port : shape.host_ports) {
    bytes.Add(port.ip);
    bytes.Add(port.protocol);
    bytes.Add(port.port);
  }
  bytes.Add(shape.priority);
  bytes.Add(shape.scheduler_name);
  bytes.Add(shape.owner_kind);
  bytes.Add(shape.has_resource_claims);
  bytes.Add(shape.needed_features);
}

bool HaveSameIds(const model::Pod& a, const model::Pod& b) {
  const model::PodSpec& one = a.spec;
  const model::PodSpec& other = b.spec;
  if (a.metadata.namespace_ != b.metadata.namespace_ || a.metadata.labels != b.metadata.labels ||
      a.metadata.annotations != b.metadata.annotations ||
      a.metadata.owner_references != b.metadata.owner_references ||
      one.containers != other.containers || a.status.phase != b.status.phase)
    return false;
  if (a.metadata.deletion_timestamp.has_value() != b.metadata.deletion_timestamp.has_value() ||
      a.metadata.unreadable || b.metadata.unreadable)
    return false;
  if (!IsPlain(a) || !IsPlain(b)) {
    if (one.init_containers != other.init_containers || one.resources != other.resources ||
        one.overhead != other.overhead || one.node_selector != other.node_selector ||
        one.affinity != other.affinity || one.tolerations != other.tolerations ||
        one.topology_spread_constraints != other.topology_spread_constraints ||
        one.host_network != other.host_network || one.host_users != other.host_users ||
        one.resource_claims != other.resource_claims ||
        a.status.container_statuses != b.status.container_statuses ||
        a.status.init_container_statuses != b.status.init_container_statuses ||
        a.status.allocated_resources != b.status.allocated_resources ||
        a.status.resources != b.status.resources || a.status.resize != b.status.resize ||
        std::ranges::any_of(a.status.conditions, IsOfResize) ||
        std::ranges::any_of(b.status.conditions, IsOfResize))
      return false;
  }
  return one.priority == other.priority && one.scheduler_name == other.scheduler_name &&
         one.restart_policy == other.restart_policy && one.volumes == other.volumes;
}

}  // namespace coppice::cluster
