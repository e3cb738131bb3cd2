// What to try about a refusal, filter by filter. Filters of other people have no line here: nothing
// is known about what would please them.

#include <algorithm>

#include "autoscale/pod_changes.h"
#include "base/strings.h"
#include "model/node_selector.h"
#include "model/resources.h"
#include "model/taints.h"

namespace coppice::autoscale {

namespace {

using model::Container;
using report::Change;
using report::ChangeKind;

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

}  // namespace

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

}  // namespace coppice::autoscale
