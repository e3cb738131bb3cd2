#include "autoscale/pod_changes.h"

#include <algorithm>

#include "model/resources.h"

namespace coppice::autoscale {

namespace {

using model::Container;
using model::Quantity;
using report::Change;
using report::ChangeKind;

bool IsBytes(std::string_view resource) {
  return resource == model::kMemory || resource == model::kEphemeralStorage ||
         resource.starts_with("hugepages-");
}

int64_t UnitsOf(const Quantity& quantity, std::string_view resource) {
  return resource == model::kCpu ? quantity.MilliValue() : quantity.Value();
}

Quantity FromColumn(int64_t amount, std::string_view resource) {
  if (resource == model::kCpu) return Quantity::FromMillis(amount);
  return Quantity::FromUnits(
      amount, IsBytes(resource) ? Quantity::Format::kBinarySI : Quantity::Format::kDecimalSI);
}

void SetRequest(model::ResourceRequirements& resources, const std::string& name, int64_t amount) {
  if (amount <= 0) {
    resources.requests.erase(name);
    if (model::IsExtendedResource(name)) resources.limits.erase(name);
    return;
  }
  resources.requests[name] = FromColumn(amount, name);
  // What devices are asked for and what is allowed of them are the same number.
  if (model::IsExtendedResource(name)) resources.limits[name] = resources.requests[name];
}

// Takes up to `by` off the container; answers what is left to take.
int64_t Lower(Container& container, const std::string& name, int64_t by) {
  const Quantity* present = container.resources.requests.Find(name);
  if (present == nullptr || by <= 0) return by;
  const int64_t had = UnitsOf(*present, name);
  const int64_t taken = std::clamp<int64_t>(by, 0, std::max<int64_t>(0, had));
  SetRequest(container.resources, name, had - taken);
  return by - taken;
}

// What the pod asks for is the most of two sums (containers, and each init container with the
// sidecars before it); so both are brought down to the goal.
bool LowerRequest(model::Pod& pod, const std::string& name, int64_t by) {
  const int64_t goal = AskedOf(pod, name) - by;
  if (by <= 0 || goal < 0) return false;
  if (pod.spec.resources && pod.spec.resources->requests.contains(name)) {
    const int64_t whole = UnitsOf(*pod.spec.resources->requests.Find(name), name);
    SetRequest(*pod.spec.resources, name, whole - by);
  }
  for (Container& container : pod.spec.init_containers) {
    if (container.restart_policy != "Always")
      (void)Lower(container, name, AskedOf(pod, name) - goal);
  }
  for (auto* containers : {&pod.spec.containers, &pod.spec.init_containers}) {
    for (Container& container : *containers)
      (void)Lower(container, name, AskedOf(pod, name) - goal);
  }
  return AskedOf(pod, name) <= goal;
}

template <class Each>
bool ForEachLabelDemand(model::Pod& pod, Each each) {
  bool any = false;
  if (!pod.spec.affinity || !pod.spec.affinity->node_affinity ||
      !pod.spec.affinity->node_affinity->required) {
    return any;
  }
  for (auto& term : pod.spec.affinity->node_affinity->required->node_selector_terms) {
    for (auto& expression : term.match_expressions) any = each(expression) || any;
  }
  return any;
}

bool AllowLabel(const Change& change, model::Pod& pod) {
  bool changed = false;
  if (pod.spec.node_selector.contains(change.subject)) {
    pod.spec.node_selector[change.subject] = change.value;
    changed = true;
  }
  return ForEachLabelDemand(
             pod,
             [&](model::NodeSelectorRequirement& expression) {
               if (expression.key != change.subject) return false;
               const auto at = std::ranges::find(expression.values, change.value);
               if (expression.operator_ == "In" && at == expression.values.end()) {
                 expression.values.push_back(change.value);
                 return true;
               }
               if (expression.operator_ == "NotIn" && at != expression.values.end()) {
                 expression.values.erase(at);
                 // A list of forbidden values that is empty is not well-formed.
                 if (expression.values.empty()) expression.operator_ = "Exists";
                 return true;
               }
               return false;
             }) ||
         changed;
}

bool DropLabelDemand(const Change& change, model::Pod& pod) {
  bool changed = pod.spec.node_selector.erase(change.subject);
  if (!pod.spec.affinity || !pod.spec.affinity->node_affinity ||
      !pod.spec.affinity->node_affinity->required) {
    return changed;
  }
  auto& required = pod.spec.affinity->node_affinity->required;
  bool free = false;  // a term that asks for nothing any more: so does the whole, then
  for (auto& term : required->node_selector_terms) {
    changed = std::erase_if(term.match_expressions,
                            [&](const auto& e) { return e.key == change.subject; }) > 0 ||
              changed;
    free = free || (term.match_expressions.empty() && term.match_fields.empty());
  }
  if (free) required.reset();
  return changed;
}

bool ChangeSpread(const Change& change, model::Pod& pod) {
  bool changed = false;
  for (auto& constraint : pod.spec.topology_spread_constraints) {
    if (constraint.topology_key != change.subject ||
        constraint.when_unsatisfiable != "DoNotSchedule") {
      continue;
    }
    if (change.kind == ChangeKind::kRaiseSkew) {
      constraint.max_skew = std::max(constraint.max_skew, static_cast<int32_t>(change.amount));
    } else {
      constraint.when_unsatisfiable = "ScheduleAnyway";
    }
    changed = true;
  }
  return changed;
}

bool DropTerms(std::optional<model::PodAffinity>& affinity, const std::string& topology_key) {
  return affinity && std::erase_if(affinity->required, [&](const auto& term) {
                       return term.topology_key == topology_key;
                     }) > 0;
}

bool DropHostPorts(model::Pod& pod) {
  bool changed = false;
  for (Container& container : pod.spec.containers) {
    for (auto& port : container.ports) {
      changed = changed || port.host_port != 0;
      port.host_port = 0;
    }
  }
  return changed;
}

}  // namespace

int64_t AskedOf(const model::Pod& pod, std::string_view resource) {
  const model::PodRequests requests = model::IncomingRequests(pod);
  if (resource == model::kCpu) return requests.cpu_millis;
  if (resource == model::kMemory) return requests.memory_bytes;
  if (resource == model::kEphemeralStorage) return requests.ephemeral_bytes;
  return requests.Extended(resource);
}

bool Apply(const Change& change, model::Pod& pod) {
  switch (change.kind) {
    case ChangeKind::kLowerRequest:
      return LowerRequest(pod, change.subject, change.amount);
    case ChangeKind::kTolerate:
      pod.spec.tolerations.push_back({.key = change.subject,
                                      .operator_ = "Equal",
                                      .value = change.value,
                                      .effect = change.effect});
      return true;
    case ChangeKind::kAllowLabel:
      return AllowLabel(change, pod);
    case ChangeKind::kDropLabelDemand:
      return DropLabelDemand(change, pod);
    case ChangeKind::kDropHostPorts:
      return DropHostPorts(pod);
    case ChangeKind::kRaiseSkew:
    case ChangeKind::kDropSpread:
      return ChangeSpread(change, pod);
    case ChangeKind::kDropAffinity:
      return pod.spec.affinity && DropTerms(pod.spec.affinity->pod_affinity, change.subject);
    case ChangeKind::kDropAntiAffinity:
      return pod.spec.affinity && DropTerms(pod.spec.affinity->pod_anti_affinity, change.subject);
    case ChangeKind::kDropVolume:
      return std::erase_if(pod.spec.volumes, [&](const model::Volume& volume) {
               return volume.name == change.subject;
             }) > 0;
    case ChangeKind::kRaiseMaxSize:
    case ChangeKind::kRaiseNodesTotal:
    case ChangeKind::kRaiseLimit:
    case ChangeKind::kRaiseMaxPods:
    case ChangeKind::kWait:
      return false;
  }
  return false;
}

}  // namespace coppice::autoscale
