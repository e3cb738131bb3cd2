// Random nodes and pods of the kinds that filters tell apart, drawn from a seed.

#pragma once

#include <string>

#include "base/rng.h"
#include "model/node.h"
#include "model/pod.h"
#include "test/support/discovered_plugins.h"
#include "test/support/must.h"

namespace coppice::test {

inline model::Node RandomNode(Rng& rng, const std::string& name) {
  model::Node node;
  node.metadata.name = name;
  node.metadata.labels["kubernetes.io/hostname"] = name;
  node.metadata.labels["topology.kubernetes.io/zone"] = "z" + std::to_string(rng.Below(3));
  if (rng.Chance(0.3)) node.metadata.labels["disk"] = "ssd";
  node.status.allocatable["cpu"] =
      model::Quantity::FromMillis(static_cast<int64_t>(1000 + 500 * rng.Below(4)));
  node.status.allocatable["memory"] = model::Quantity::FromUnits(int64_t{4} << 30);
  node.status.allocatable["pods"] =
      model::Quantity::FromUnits(static_cast<int64_t>(4 + rng.Below(8)));
  node.status.capacity = node.status.allocatable;
  if (rng.Chance(0.15)) {
    node.spec.taints.push_back({.key = "gpu", .value = "yes", .effect = "NoSchedule"});
  }
  node.spec.unschedulable = rng.Chance(0.05);
  return node;
}

inline model::LabelSelector SelectApp(const std::string& app) {
  model::LabelSelector selector;
  selector.match_labels["app"] = app;
  return selector;
}

// `plain`: asks for nothing but room.
inline model::Pod RandomPod(Rng& rng, const std::string& name, bool plain) {
  model::Pod pod;
  pod.metadata.name = name;
  pod.metadata.uid = name;
  pod.metadata.namespace_ = "default";
  const std::string app = "app" + std::to_string(rng.Below(3));
  pod.metadata.labels["app"] = app;
  model::Container container;
  container.resources.requests["cpu"] =
      model::Quantity::FromMillis(static_cast<int64_t>(100 * (1 + rng.Below(6))));
  container.resources.requests["memory"] =
      model::Quantity::FromUnits(static_cast<int64_t>((1 + rng.Below(3)) << 28));
  const uint64_t kind = plain ? 100 : rng.Below(12);
  if (kind == 0) {
    container.ports.push_back(
        {.host_port = static_cast<int32_t>(8000 + rng.Below(2)), .protocol = "TCP"});
  }
  pod.spec.containers.push_back(std::move(container));
  const char* key = rng.Chance(0.5) ? "kubernetes.io/hostname" : "topology.kubernetes.io/zone";
  if (kind == 1) {
    pod.spec.topology_spread_constraints.push_back(
        {.max_skew = 1,
         .topology_key = key,
         .when_unsatisfiable = rng.Chance(0.8) ? "DoNotSchedule" : "ScheduleAnyway",
         .label_selector = SelectApp(app)});
  } else if (kind == 2) {
    pod.spec.affinity.emplace().pod_anti_affinity.emplace().required.push_back(
        {.label_selector = SelectApp("app" + std::to_string(rng.Below(3))), .topology_key = key});
  } else if (kind == 3) {
    pod.spec.affinity.emplace().pod_affinity.emplace().required.push_back(
        {.label_selector = SelectApp(app), .topology_key = key});
  } else if (kind == 4) {
    pod.spec.node_selector["disk"] = "ssd";
  } else if (kind == 5) {
    pod.spec.tolerations.push_back({.key = "gpu", .operator_ = "Exists"});
  } else if (kind == 6) {
    model::Volume volume;
    volume.name = "data";
    volume.gce_persistent_disk.emplace().pd_name = "disk" + std::to_string(rng.Below(2));
    pod.spec.volumes.push_back(std::move(volume));
  } else if (kind == 7) {
    pod.spec.node_selector["kubernetes.io/hostname"] = "n" + std::to_string(rng.Below(20));
  }
  return pod;
}

}  // namespace coppice::test
