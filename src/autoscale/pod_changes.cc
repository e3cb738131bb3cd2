#include "autoscale/pod_changes.h"

#include <algorithm>

#include "base/strings.h"
#include "model/node_selector.h"
#include "model/resources.h"
#include "model/taints.h"

namespace coppice::autoscale {

namespace {

using model::Container;
using model::Quantity;
using report::Change;
using report::ChangeKind;

constexpr int64_t kMebi = int64_t{1} << 20;

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

int64_t Asked(const model::Pod& pod, std::string_view resource) {
  const model::PodRequests requests = model::IncomingRequests(pod);
  if (resource == model::kCpu) return requests.cpu_millis;
  if (resource == model::kMemory) return requests.memory_bytes;
  if (resource == model::kEphemeralStorage) return requests.ephemeral_bytes;
  return requests.Extended(resource);
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
  const int64_t goal = Asked(pod, name) - by;
  if (by <= 0 || goal < 0) return false;
  if (pod.spec.resources && pod.spec.resources->requests.contains(name)) {
    const int64_t whole = UnitsOf(*pod.spec.resources->requests.Find(name), name);
    SetRequest(*pod.spec.resources, name, whole - by);
  }
  for (Container& container : pod.spec.init_containers) {
    if (container.restart_policy != "Always") (void)Lower(container, name, Asked(pod, name) - goal);
  }
  for (auto* containers : {&pod.spec.containers, &pod.spec.init_containers}) {
    for (Container& container : *containers) (void)Lower(container, name, Asked(pod, name) - goal);
  }
  return Asked(pod, name) <= goal;
}

std::vector<ChangeSet> ForResources(const model::Refusal& refusal) {
  ChangeSet together;
  for (const model::Shortfall& shortfall : refusal.shortfalls) {
    if (shortfall.what == model::kPods) {
      const int64_t more = shortfall.missing();
      together.push_back({.kind = ChangeKind::kRaiseMaxPods,
                          .amount = more,
                          .text = "its nodes took " + std::to_string(more) + " more pod" +
                                  (more == 1 ? "" : "s")});
      continue;
    }
    if (shortfall.missing() > shortfall.asked) return {};  // not even with nothing asked
    const bool all = shortfall.missing() == shortfall.asked;
    together.push_back({.kind = ChangeKind::kLowerRequest,
                        .subject = shortfall.what,
                        .amount = shortfall.missing(),
                        .text = all ? "it asked for no " + shortfall.what
                                    : "its request of " + shortfall.what + " were " +
                                          AmountText(shortfall.what, shortfall.missing()) +
                                          " smaller"});
  }
  if (together.empty()) return {};
  return {std::move(together)};
}

std::vector<ChangeSet> ForTaints(const model::Pod& pod, const model::Node& node) {
  ChangeSet together;
  for (const model::Taint& taint : node.spec.taints) {
    if (!model::KeepsOut(taint) || model::Tolerates(pod.spec.tolerations, taint)) continue;
    together.push_back({.kind = ChangeKind::kTolerate,
                        .subject = taint.key,
                        .value = taint.value,
                        .effect = taint.effect,
                        .text = "it tolerated " + model::ToString(taint)});
  }
  if (together.empty()) return {};
  return {std::move(together)};
}

// What would make one condition on labels true: another value allowed, or the condition dropped.
Change RelaxLabel(const std::string& key, std::string_view operator_, const model::Node& node) {
  const std::string* has = node.metadata.labels.Find(key);
  if (has != nullptr && (operator_ == "In" || operator_ == "NotIn")) {
    return {.kind = ChangeKind::kAllowLabel,
            .subject = key,
            .value = *has,
            .text = key + "=" + *has + " were allowed"};
  }
  const std::string text = operator_ == "DoesNotExist" ? "it did not mind the label " + key
                                                       : "it did not ask for the label " + key;
  return {.kind = ChangeKind::kDropLabelDemand, .subject = key, .text = text};
}

bool Holds(const model::NodeSelectorRequirement& expression, const model::Node& node) {
  return model::CompiledNodeTerm({.match_expressions = {expression}})
      .Matches(node.metadata.labels, "");
}

std::vector<ChangeSet> ForLabels(const model::Pod& pod, const model::Node& node) {
  ChangeSet selector;
  for (const auto& [key, value] : pod.spec.node_selector) {
    const std::string* has = node.metadata.labels.Find(key);
    if (has == nullptr || *has != value) selector.push_back(RelaxLabel(key, "In", node));
  }
  std::vector<ChangeSet> ways;
  if (pod.spec.affinity && pod.spec.affinity->node_affinity &&
      pod.spec.affinity->node_affinity->required) {
    bool holds = false;
    for (const auto& term : pod.spec.affinity->node_affinity->required->node_selector_terms) {
      ChangeSet way = selector;
      for (const auto& expression : term.match_expressions) {
        if (Holds(expression, node)) continue;
        Change change = RelaxLabel(expression.key, expression.operator_, node);
        if (std::ranges::find(way, change) == way.end()) way.push_back(std::move(change));
      }
      holds = holds || (way.size() == selector.size() && !term.match_expressions.empty());
      // A term that wants machines by their names is not for new ones.
      if (term.match_fields.empty()) ways.push_back(std::move(way));
    }
    if (holds) ways = {selector};
  } else {
    ways.push_back(selector);
  }
  std::erase_if(ways, [](const ChangeSet& way) { return way.empty(); });
  std::ranges::sort(ways, {}, &ChangeSet::size);
  return ways;
}

std::vector<ChangeSet> ForPorts(const model::Pod& pod) {
  std::vector<std::string> ports;
  for (const Container& container : pod.spec.containers) {
    for (const auto& port : container.ports) {
      if (port.host_port > 0) ports.push_back(std::to_string(port.host_port));
    }
  }
  if (ports.empty()) return {};
  return {{{.kind = ChangeKind::kDropHostPorts,
            .text = "it did not use the host port" + std::string(ports.size() > 1 ? "s " : " ") +
                    Join(ports, ", ")}}};
}

std::vector<ChangeSet> ForSpread(const model::Pod& pod) {
  std::vector<ChangeSet> ways;
  for (const auto& constraint : pod.spec.topology_spread_constraints) {
    if (constraint.when_unsatisfiable != "DoNotSchedule") continue;
    for (const int32_t more : {1, 2, 4, 8}) {
      const int64_t skew = int64_t{constraint.max_skew} + more;
      ways.push_back({{.kind = ChangeKind::kRaiseSkew,
                       .subject = constraint.topology_key,
                       .amount = skew,
                       .text = "its spread over " + constraint.topology_key +
                               " allowed a skew of " + std::to_string(skew)}});
    }
  }
  ChangeSet all;
  for (const auto& constraint : pod.spec.topology_spread_constraints) {
    if (constraint.when_unsatisfiable != "DoNotSchedule") continue;
    Change drop{.kind = ChangeKind::kDropSpread,
                .subject = constraint.topology_key,
                .text = "its spread over " + constraint.topology_key + " were ScheduleAnyway"};
    if (std::ranges::find(all, drop) != all.end()) continue;
    ways.push_back({drop});
    all.push_back(std::move(drop));
  }
  if (all.size() > 1) ways.push_back(std::move(all));
  return ways;
}

std::vector<ChangeSet> ForPodAffinity(const model::Pod& pod) {
  std::vector<ChangeSet> ways;
  ChangeSet all;
  const auto propose = [&](const std::optional<model::PodAffinity>& affinity, ChangeKind kind,
                           std::string_view clause) {
    if (!affinity) return;
    for (const auto& term : affinity->required) {
      Change drop{.kind = kind,
                  .subject = term.topology_key,
                  .text = std::string(clause) + term.topology_key};
      if (std::ranges::find(all, drop) != all.end()) continue;
      ways.push_back({drop});
      all.push_back(std::move(drop));
    }
  };
  if (!pod.spec.affinity) return {};
  propose(pod.spec.affinity->pod_affinity, ChangeKind::kDropAffinity,
          "it did not need the pods of its affinity in the same ");
  propose(pod.spec.affinity->pod_anti_affinity, ChangeKind::kDropAntiAffinity,
          "it could bear the pods of its anti-affinity in the same ");
  if (all.size() > 1) ways.push_back(std::move(all));
  return ways;
}

std::vector<ChangeSet> ForVolumes(const model::Pod& pod) {
  std::vector<ChangeSet> ways;
  ChangeSet all;
  for (const model::Volume& volume : pod.spec.volumes) {
    if (volume.empty_dir || volume.host_path || volume.projected) continue;
    const std::string what =
        volume.claim_name ? "the volume claim " + *volume.claim_name : "the volume " + volume.name;
    Change drop{
        .kind = ChangeKind::kDropVolume, .subject = volume.name, .text = "it did without " + what};
    ways.push_back({drop});
    all.push_back(std::move(drop));
  }
  if (all.size() > 1) ways.push_back(std::move(all));
  return ways;
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

std::string AmountText(std::string_view resource, int64_t amount) {
  if (IsBytes(resource) && amount >= kMebi) amount = (amount + kMebi - 1) / kMebi * kMebi;
  return FromColumn(amount, resource).Canonical();
}

std::vector<ChangeSet> WaysAround(const model::Refusal& refusal, const model::Pod& pod,
                                  const model::Node& node) {
  const std::string_view filter = refusal.plugin;
  if (filter == "NodeResourcesFit") return ForResources(refusal);
  if (filter == "TaintToleration") return ForTaints(pod, node);
  if (filter == "NodeAffinity") return ForLabels(pod, node);
  if (filter == "NodePorts") return ForPorts(pod);
  if (filter == "PodTopologySpread") return ForSpread(pod);
  if (filter == "InterPodAffinity") return ForPodAffinity(pod);
  if (filter == "VolumeBinding" || filter == "VolumeZone" || filter == "VolumeRestrictions" ||
      filter == "NodeVolumeLimits") {
    return ForVolumes(pod);
  }
  return {};  // somebody's own filter, or one that looks at nothing a user would change
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
