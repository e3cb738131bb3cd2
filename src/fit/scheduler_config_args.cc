#include "fit/scheduler_config_args.h"

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "model/label_names.h"
#include "model/node_selector.h"

namespace coppice::fit {
namespace {

using yaml::MapReader;
using yaml::Node;
using yaml::Problems;

// apiVersion and kind are optional inside args; kind, if there, has to be the plug-in's.
void ReadTypeMeta(MapReader& map, std::string_view plugin) {
  map.Get("apiVersion");
  const std::string expected = std::string(plugin) + "Args";
  std::string kind;
  if (map.Read("kind", kind) && kind != expected) {
    map.Complain("kind",
                 "is '" + kind + "', but arguments of " + std::string(plugin) + " are " + expected);
  }
}

void CheckInt32(MapReader& map, std::string_view key, int64_t value) {
  if (value > std::numeric_limits<int32_t>::max())
    map.Complain(key, "is larger than a 32-bit number");
}

void ReadResourcesFit(MapReader& map, SchedulerConfig& config) {
  map.Get("scoringStrategy");
  map.Read("ignoredResources", config.ignored_resources);
  map.Read("ignoredResourceGroups", config.ignored_resource_groups);
  for (const std::string& name : config.ignored_resources) {
    const std::string wrong = model::WrongWithLabelKey(name);
    if (!wrong.empty())
      map.Complain("ignoredResources", "'" + name + "' is no resource name: " + wrong);
  }
  for (const std::string& group : config.ignored_resource_groups) {
    if (group.find('/') != std::string::npos) {
      map.Complain("ignoredResourceGroups",
                   "'" + group + "' must not contain '/': a group is what stands before it");
    } else if (const std::string wrong = model::WrongWithLabelKey(group); !wrong.empty()) {
      map.Complain("ignoredResourceGroups", "'" + group + "' is no group name: " + wrong);
    }
  }
}

std::vector<model::NodeSelectorRequirement> ReadRequirements(MapReader& term, std::string_view key,
                                                             Problems& problems) {
  std::vector<model::NodeSelectorRequirement> requirements;
  term.EachItem(key, [&](const Node& item) {
    MapReader map(item, problems);
    model::NodeSelectorRequirement requirement;
    map.Require("key", requirement.key);
    map.Require("operator", requirement.operator_);
    map.Read("values", requirement.values);
    map.Finish();
    requirements.push_back(std::move(requirement));
  });
  return requirements;
}

model::NodeSelectorTerm ReadTerm(const Node& node, Problems& problems) {
  MapReader map(node, problems);
  model::NodeSelectorTerm term;
  term.match_expressions = ReadRequirements(map, "matchExpressions", problems);
  term.match_fields = ReadRequirements(map, "matchFields", problems);
  map.Finish();
  const model::CompiledNodeTerm compiled(term);
  if (!compiled.error().ok()) {
    problems.Add({.place = node.place(), .path = node.path(), .text = compiled.error().message()});
  }
  return term;
}

void ReadNodeAffinity(MapReader& args, Problems& problems, SchedulerConfig& config) {
  const Node node = args.Get("addedAffinity");
  if (node.kind() == Node::Kind::kAbsent || node.kind() == Node::Kind::kNull) return;
  MapReader map(node, problems);
  model::NodeAffinity affinity;
  constexpr std::string_view kRequired = "requiredDuringSchedulingIgnoredDuringExecution";
  const Node required = map.Get(kRequired);
  if (required.kind() != Node::Kind::kAbsent && required.kind() != Node::Kind::kNull) {
    MapReader selector(required, problems);
    affinity.required.emplace();
    selector.EachItem("nodeSelectorTerms", [&](const Node& item) {
      affinity.required->node_selector_terms.push_back(ReadTerm(item, problems));
    });
    if (affinity.required->node_selector_terms.empty()) {
      map.Complain(kRequired, "has no nodeSelectorTerms, so that no node would ever match");
    }
    selector.Finish();
  }
  map.Get("preferredDuringSchedulingIgnoredDuringExecution");  // a wish: scored, never filtered
  map.Finish();
  config.added_affinity = std::move(affinity);
}

model::TopologySpreadConstraint ReadConstraint(const Node& item, Problems& problems) {
  MapReader map(item, problems);
  model::TopologySpreadConstraint constraint;
  int64_t max_skew = 0;
  if (map.Require("maxSkew", max_skew)) {
    if (max_skew <= 0) map.Complain("maxSkew", "has to be greater than 0");
    CheckInt32(map, "maxSkew", max_skew);
    constraint.max_skew = static_cast<int32_t>(max_skew);
  }
  if (map.Require("topologyKey", constraint.topology_key)) {
    const std::string wrong = model::WrongWithLabelKey(constraint.topology_key);
    if (!wrong.empty()) map.Complain("topologyKey", "is no label key: " + wrong);
  }
  if (map.Require("whenUnsatisfiable", constraint.when_unsatisfiable) &&
      constraint.when_unsatisfiable != "DoNotSchedule" &&
      constraint.when_unsatisfiable != "ScheduleAnyway") {
    map.Complain("whenUnsatisfiable", "is '" + constraint.when_unsatisfiable +
                                          "'; it is either DoNotSchedule or ScheduleAnyway");
  }
  if (map.Has("labelSelector")) {
    map.Complain("labelSelector",
                 "must not be set: it is found for each pod from its Services and owners");
  }
  map.Get("labelSelector");
  int64_t min_domains = 0;
  if (map.Read("minDomains", min_domains)) {
    if (min_domains <= 0) map.Complain("minDomains", "has to be greater than 0");
    CheckInt32(map, "minDomains", min_domains);
    constraint.min_domains = static_cast<int32_t>(min_domains);
  }
  for (auto [key, member] : {std::pair{"nodeAffinityPolicy", &constraint.node_affinity_policy},
                             std::pair{"nodeTaintsPolicy", &constraint.node_taints_policy}}) {
    std::string policy;
    if (!map.Read(key, policy)) continue;
    if (policy != "Honor" && policy != "Ignore")
      map.Complain(key, "is '" + policy + "'; it is either Honor or Ignore");
    *member = policy;
  }
  map.Read("matchLabelKeys", constraint.match_label_keys);
  map.Finish();
  return constraint;
}

void ReadSpread(MapReader& map, Problems& problems, SchedulerConfig& config) {
  std::string type = "System";
  map.Read("defaultingType", type);
  auto constraints = ReadDefaultConstraints(map, problems);
  if (type != "System" && type != "List") {
    map.Complain("defaultingType", "is '" + type + "'; it is either System or List");
  } else if (type == "System" && !constraints.empty()) {
    map.Complain("defaultConstraints", "need 'defaultingType: List'");
  }
  config.default_spread_constraints = std::move(constraints);
}

}  // namespace

std::vector<model::TopologySpreadConstraint> ReadDefaultConstraints(MapReader& map,
                                                                    Problems& problems) {
  std::vector<model::TopologySpreadConstraint> constraints;
  map.EachItem("defaultConstraints", [&](const Node& item) {
    model::TopologySpreadConstraint constraint = ReadConstraint(item, problems);
    for (const auto& earlier : constraints) {
      if (earlier.topology_key == constraint.topology_key &&
          earlier.when_unsatisfiable == constraint.when_unsatisfiable) {
        problems.Add({.place = item.place(),
                      .path = item.path(),
                      .text = "repeats {" + constraint.topology_key + ", " +
                              constraint.when_unsatisfiable + "}"});
      }
    }
    constraints.push_back(std::move(constraint));
  });
  return constraints;
}

void ReadPluginArgs(std::string_view plugin, const Node& args, Problems& problems,
                    SchedulerConfig& config) {
  if (plugin != "NodeResourcesFit" && plugin != "NodeAffinity" && plugin != "PodTopologySpread")
    return;
  MapReader map(args, problems);
  ReadTypeMeta(map, plugin);
  if (plugin == "NodeResourcesFit") ReadResourcesFit(map, config);
  if (plugin == "NodeAffinity") ReadNodeAffinity(map, problems, config);
  if (plugin == "PodTopologySpread") ReadSpread(map, problems, config);
  map.Finish();
}

}  // namespace coppice::fit
