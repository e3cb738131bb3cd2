#include "fit/scheduler_config.h"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "base/strings.h"
#include "fit/scheduler_config_args.h"

namespace coppice::fit {
namespace {

constexpr std::string_view kApiVersion = "kubescheduler.config.k8s.io/v1";
constexpr std::string_view kKind = "KubeSchedulerConfiguration";

// In-tree plug-ins that do not filter. Naming one is no mistake, and has no effect here.
constexpr std::array<std::string_view, 9> kNotFilters = {
    "SchedulingGates",  "PrioritySort",  "DefaultPreemption", "NodeResourcesBalancedAllocation",
    "ImageLocality",    "DefaultBinder", "GangScheduling",    "TopologyPlacementGenerator",
    "PodGroupPodsCount"};

// Removed with the in-tree volume plug-ins; kube-scheduler refuses them by name.
constexpr std::array<std::string_view, 4> kRemoved = {"AzureDiskLimits", "CinderLimits",
                                                      "EBSLimits", "GCEPDLimits"};

// Filters that kube-scheduler asks about nodes without having asked them about the pod first.
constexpr std::array<std::string_view, 3> kNoPreFilter = {"NodeUnschedulable", "NodeName",
                                                          "TaintToleration"};

template <class Range>
bool Holds(const Range& range, std::string_view name) {
  return std::ranges::find(range, name) != std::ranges::end(range);
}

struct PluginSet {
  std::vector<std::string> enabled;
  std::vector<std::string> disabled;
};

struct PluginSets {
  PluginSet multi_point;
  PluginSet pre_filter;
  PluginSet filter;
};

// What is known about names while one profile is read.
class ProfileReader {
 public:
  ProfileReader(yaml::Problems& problems, const std::vector<std::string>& extra_filters)
      : problems_(problems), extra_(extra_filters) {}

  void Read(const yaml::Node& node, SchedulerConfig& config) {
    yaml::MapReader map(node, problems_);
    map.Read("schedulerName", config.scheduler_name);
    if (config.scheduler_name.empty()) map.Complain("schedulerName", "must not be empty");
    map.Get("percentageOfNodesToScore");  // every node is looked at here
    ReadPlugins(map.Get("plugins"), config);
    std::vector<std::string> seen;
    map.EachItem("pluginConfig", [&](const yaml::Node& item) { ReadArgs(item, seen, config); });
    map.Finish();
  }

 private:
  bool Filters(std::string_view name) const {
    return Holds(DefaultFilterOrder(), name) || Holds(extra_, name);
  }

  std::vector<std::string> ReadNames(yaml::MapReader& set, std::string_view key, bool enabling) {
    std::vector<std::string> names;
    set.EachItem(key, [&](const yaml::Node& item) {
      yaml::MapReader plugin(item, problems_);
      std::string name;
      int64_t weight = 0;
      plugin.Require("name", name);
      plugin.Read("weight", weight);  // of scores
      plugin.Finish();
      if (name.empty()) return;
      if (enabling && Holds(kRemoved, name)) {
        plugin.Complain(
            "name",
            "'" + name + "' was removed from kube-scheduler; NodeVolumeLimits counts CSI volumes");
      } else if (enabling && Holds(names, name)) {
        plugin.Complain("name", "'" + name + "' is enabled twice");
      } else if (name != "*" && !Filters(name) && !Holds(kNotFilters, name) &&
                 !Holds(kRemoved, name)) {
        const std::string nearest = Nearest(name, DefaultFilterOrder());
        plugin.Complain("name",
                        "no filter '" + name + "' is registered" +
                            (nearest.empty() ? "" : "; did you mean '" + nearest + "'?"),
                        enabling ? yaml::Severity::kError : yaml::Severity::kWarning);
      }
      names.push_back(std::move(name));
    });
    return names;
  }

  PluginSet ReadSet(const yaml::Node& node) {
    yaml::MapReader set(node, problems_);
    PluginSet result;
    result.enabled = ReadNames(set, "enabled", true);
    result.disabled = ReadNames(set, "disabled", false);
    set.Finish();
    return result;
  }

  // kube-scheduler's merge: a default that is enabled again keeps its place, others go to the end.
  std::vector<std::string> MergedMultiPoint(const PluginSet& custom) const {
    std::vector<std::string> merged;
    if (!Holds(custom.disabled, "*")) {
      for (const std::string& name : DefaultFilterOrder()) {
        if (!Holds(custom.disabled, name)) merged.push_back(name);
      }
    }
    for (const std::string& name : custom.enabled) {
      if (!Holds(merged, name) && Filters(name)) merged.push_back(name);
    }
    return merged;
  }

  // One extension point: what it enables itself and multiPoint has too comes first, then the rest
  // of multiPoint, then what only it enables. Disabling "*" here keeps multiPoint out of it
  // altogether.
  std::vector<std::string> Expand(const PluginSet& own, const std::vector<std::string>& multi_point,
                                  bool pre_filter) const {
    const auto has_this_point = [&](std::string_view name) {
      return Filters(name) && !(pre_filter && Holds(kNoPreFilter, name));
    };
    std::vector<std::string> result;
    const auto add = [&](const std::string& name) {
      if (has_this_point(name) && !Holds(result, name)) result.push_back(name);
    };
    if (!Holds(own.disabled, "*")) {
      for (const std::string& name : own.enabled) {
        if (Holds(multi_point, name) && !Holds(own.disabled, name)) add(name);
      }
      for (const std::string& name : multi_point) {
        if (!Holds(own.disabled, name)) add(name);
      }
    }
    for (const std::string& name : own.enabled) add(name);
    return result;
  }

  void ReadPlugins(const yaml::Node& node, SchedulerConfig& config) {
    yaml::MapReader map(node, problems_);
    PluginSets sets;
    sets.multi_point = ReadSet(map.Get("multiPoint"));
    sets.pre_filter = ReadSet(map.Get("preFilter"));
    sets.filter = ReadSet(map.Get("filter"));
    for (const std::string_view other :
         {"preEnqueue", "queueSort", "postFilter", "preScore", "score", "reserve", "permit",
          "preBind", "bind", "postBind", "placementGenerate", "placementScore"}) {
      map.Get(other);
    }
    map.Finish();

    const std::vector<std::string> multi_point = MergedMultiPoint(sets.multi_point);
    const std::vector<std::string> pre_filters = Expand(sets.pre_filter, multi_point, true);
    const std::vector<std::string> filters = Expand(sets.filter, multi_point, false);
    config.chain = Joined(pre_filters, filters, map);
  }

  // One chain for both points, in Filter order. A plug-in that only prepares goes behind the last
  // of its predecessors in PreFilter order.
  std::vector<ChainStep> Joined(const std::vector<std::string>& pre_filters,
                                const std::vector<std::string>& filters,
                                yaml::MapReader& map) const {
    std::vector<ChainStep> chain;
    std::vector<std::string> prepared_in_order;
    for (const std::string& name : filters) {
      const bool prepares = Holds(pre_filters, name);
      chain.push_back(
          {.name = name, .pre_filter = prepares || Holds(kNoPreFilter, name), .filter = true});
      if (prepares) prepared_in_order.push_back(name);
      if (!chain.back().pre_filter) {
        map.Complain("preFilter",
                     "'" + name +
                         "' is disabled here but not in filter, where kube-scheduler would "
                         "then fail every pod; disable both, or use multiPoint");
      }
    }
    std::vector<std::string> asked = pre_filters;
    std::erase_if(asked, [&](const std::string& name) { return !Holds(filters, name); });
    if (asked != prepared_in_order) {
      map.Complain(
          "preFilter",
          "orders its plug-ins differently than filter does; filter's order is used for both",
          yaml::Severity::kWarning);
    }
    for (size_t i = 0; i < pre_filters.size(); ++i) {
      if (Holds(filters, pre_filters[i])) continue;
      auto place = chain.begin();
      for (size_t before = 0; before < i; ++before) {
        const auto found = std::ranges::find(chain, pre_filters[before], &ChainStep::name);
        if (found != chain.end()) place = std::max(place, found + 1);
      }
      chain.insert(place, {.name = pre_filters[i], .pre_filter = true, .filter = false});
    }
    return chain;
  }

  void ReadArgs(const yaml::Node& node, std::vector<std::string>& seen, SchedulerConfig& config) {
    yaml::MapReader map(node, problems_);
    std::string name;
    map.Require("name", name);
    if (!name.empty() && Holds(seen, name))
      map.Complain("name", "'" + name + "' is configured twice");
    seen.push_back(name);
    ReadPluginArgs(name, map.Get("args"), problems_, config);
    map.Finish();
  }

  yaml::Problems& problems_;
  const std::vector<std::string>& extra_;
};

void CheckIs(yaml::MapReader& map, std::string_view key, std::string_view expected) {
  std::string found;
  if (map.Require(key, found) && found != expected) {
    map.Complain(key, "is '" + found + "', and only '" + std::string(expected) + "' can be read");
  }
}

}  // namespace

const std::vector<std::string>& DefaultFilterOrder() {
  static const std::vector<std::string> order = {
      "NodeUnschedulable",     // cordoned nodes
      "NodeName",              // spec.nodeName
      "TaintToleration",       // taints
      "NodeAffinity",          // node selector and affinity; may narrow the search to named nodes
      "NodePorts",             // host ports
      "NodeResourcesFit",      // requests
      "VolumeRestrictions",    // exclusive disks and claims; names a missing claim first
      "NodeVolumeLimits",      // how many CSI volumes a node can attach
      "VolumeBinding",         // volumes reachable from the node, or to be made there
      "VolumeZone",            // zone labels of volumes
      "PodTopologySpread",     // spread constraints
      "InterPodAffinity",      // affinity to other pods, both directions
      "DynamicResources",      // resource claims
      "NodeDeclaredFeatures",  // features that the kubelet declares
  };
  return order;
}

std::vector<ChainStep> SchedulerConfig::DefaultChain() {
  std::vector<ChainStep> chain;
  for (const std::string& name : DefaultFilterOrder()) chain.push_back({.name = name});
  return chain;
}

SchedulerConfig ReadSchedulerConfig(const yaml::Node& root, yaml::Problems& problems,
                                    const std::vector<std::string>& extra_filters) {
  SchedulerConfig config;
  yaml::MapReader map(root, problems);
  CheckIs(map, "apiVersion", kApiVersion);
  CheckIs(map, "kind", kKind);
  for (const std::string_view other :
       {"parallelism", "leaderElection", "clientConnection", "enableProfiling",
        "enableContentionProfiling", "percentageOfNodesToScore", "podInitialBackoffSeconds",
        "podMaxBackoffSeconds", "delayCacheUntilActive", "healthzBindAddress",
        "metricsBindAddress"}) {
    map.Get(other);  // about the scheduler's process, not about its verdicts
  }
  if (!map.Get("extenders").items().empty()) {
    map.Complain("extenders",
                 "are not called: what only an extender refuses counts as fitting here",
                 yaml::Severity::kWarning);
  }
  int profiles = 0;
  map.EachItem("profiles", [&](const yaml::Node& profile) {
    if (++profiles == 1) ProfileReader(problems, extra_filters).Read(profile, config);
  });
  if (profiles > 1) {
    map.Complain("profiles",
                 "has " + std::to_string(profiles) +
                     " entries; pods are judged by one profile, so keep the one they use");
  }
  map.Finish();
  return config;
}

Result<SchedulerConfig> ParseSchedulerConfig(std::string_view text, std::string file_name,
                                             const std::vector<std::string>& extra_filters) {
  const yaml::Node root = TRY(yaml::Parse(text, std::move(file_name)));
  yaml::Problems problems;
  SchedulerConfig config = ReadSchedulerConfig(root, problems, extra_filters);
  TRY(problems.ToStatus());
  return config;
}

Result<SchedulerConfig> LoadSchedulerConfig(const std::string& path,
                                            const std::vector<std::string>& extra_filters) {
  const yaml::Node root = TRY(yaml::ParseFile(path));
  yaml::Problems problems;
  SchedulerConfig config = ReadSchedulerConfig(root, problems, extra_filters);
  TRY(problems.ToStatus());
  return config;
}

}  // namespace coppice::fit
