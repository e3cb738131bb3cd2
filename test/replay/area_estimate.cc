// Bin packing: how many nodes of a template these pods need, and which pods fit.

#include <algorithm>
#include <map>

#include "base/fake_clock.h"
#include "cluster/world.h"
#include "pack/estimator.h"
#include "test/replay/objects.h"
#include "test/replay/parts.h"
#include "test/replay/replay.h"

namespace coppice::replay {

namespace {

template <class T>
void Compare(Report& report, const Json& expect, const char* key, const T& ours) {
  if (!expect.contains(key)) return;
  const Json mine = ours;
  if (expect[key] != mine) report.Differs(key, expect[key].dump(), mine.dump());
}

}  // namespace

void estimate(const Json& c, Report& report) {
  cluster::World world;
  for (const Json& entry : c.value("cluster", Json::array())) {
    world.UpsertNode(std::make_shared<const model::Node>(Object<model::Node>(entry.at("node"))));
    for (auto& pod : Objects<model::Pod>(entry, "pods")) {
      pod.spec.node_name = entry["node"]["metadata"]["name"];
      world.UpsertPod(std::make_shared<const model::Pod>(std::move(pod)));
    }
  }
  std::vector<fit::PendingPod> pending;
  std::map<const model::Pod*, size_t> entry_of;
  const Json& groups = c.at("podGroups");
  for (size_t k = 0; k < groups.size(); ++k) {
    const auto sample = Object<model::Pod>(groups[k].at("pod"));
    for (int i = 0; i < groups[k].at("count").get<int>(); ++i) {
      auto pod = std::make_shared<model::Pod>(sample);
      pod->metadata.name = "g" + std::to_string(k) + "-" + std::to_string(i);
      pod->metadata.uid = pod->metadata.name;
      entry_of[pod.get()] = k;
      const cluster::PodIndex index = world.snapshot().AddPod(*pod);
      pending.push_back({std::move(pod), index});
    }
  }
  const std::vector<pack::PodKind> kinds = fit::GroupEquivalent(pending);
  std::vector<const pack::PodKind*> kind_pointers;
  std::vector<size_t> sizes;
  for (const pack::PodKind& kind : kinds) {
    kind_pointers.push_back(&kind);
    sizes.push_back(kind.size());
  }
  std::ranges::sort(sizes);

  pack::NodeTemplate node_template{Object<model::Node>(c.at("template").at("node")),
                                   Objects<model::Pod>(c["template"], "pods")};
  const Json& limits = c.at("limits");
  pack::EstimateLimits allowed;
  allowed.max_nodes = limits.value("maxNodesPerScaleUp", 0);
  allowed.group_free = std::max(0, limits.value("groupMax", 0) - limits.value("groupTarget", 0));
  if (limits.contains("similarFree") && limits["similarFree"].is_array()) {
    for (const Json& free : limits["similarFree"])
      allowed.group_free += std::max(0, free.get<int>());
  }
  allowed.max_nodes_total = limits.value("maxNodesTotal", 0);
  allowed.current_nodes = limits.value("currentNodes", 0);

  FakeClock clock;
  fit::Search search(world.snapshot(), TheFilters());
  pack::Estimator estimator(search, clock, {.fast_path = c.value("fastpath", false)});
  pack::Estimate ours = estimator.Run(kind_pointers, node_template, allowed);

  std::vector<int> per_group(groups.size(), 0);
  std::vector<std::string> names;
  for (const fit::PendingPod* pod : ours.pods) {
    ++per_group[entry_of[pod->pod.get()]];
    names.push_back(pod->pod->metadata.name);
  }
  std::ranges::sort(names);
  std::ranges::sort(ours.pods_per_node);
  const Json& expect = c.at("expect");
  Compare(report, expect, "equivalenceGroupSizes", sizes);
  Compare(report, expect, "nodes", ours.nodes);
  Compare(report, expect, "pods", ours.pods.size());
  Compare(report, expect, "podsPerGroup", per_group);
  Compare(report, expect, "podNames", names);
  Compare(report, expect, "podsPerNode", ours.pods_per_node);
}

}  // namespace coppice::replay
