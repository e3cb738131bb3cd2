#include "whatif/group_discovery.h"

#include <algorithm>
#include <array>
#include <map>

#include "base/strings.h"
#include "cloud/group_limits.h"
#include "model/resources.h"

namespace coppice::whatif {

namespace {

struct PoolLabel {
  std::string_view key;
  std::string_view platform;
  bool per_zone = false;  // the platform makes one group per zone of a pool
};

// What platforms write on the nodes of a pool. The first that a node has counts.
constexpr PoolLabel kPoolLabels[] = {
    {"eks.amazonaws.com/nodegroup", "EKS"},
    {"alpha.eksctl.io/nodegroup-name", "eksctl"},
    {"cloud.google.com/gke-nodepool", "GKE", true},
    {"kubernetes.azure.com/agentpool", "AKS"},
    {"agentpool", "AKS"},
    {"karpenter.sh/nodepool", "Karpenter"},
    {"kops.k8s.io/instancegroup", "kOps"},
    {"node.kubernetes.io/pool", "the platform"},
    {"node.kubernetes.io/node-group", "the platform"},
    {"doks.digitalocean.com/node-pool", "DigitalOcean"},
    {"k8s.scaleway.com/pool-name", "Scaleway"},
    {"lke.linode.com/pool-id", "Linode"},
    {"vke.vultr.com/node-pool", "Vultr"},
    {"kubernetes.civo.com/civo-node-pool", "Civo"},
    {"hcloud/node-group", "Hetzner Cloud"},
    {"node.exoscale.net/nodepool-id", "Exoscale"},
    {"alibabacloud.com/nodepool-id", "Alibaba Cloud"},
    {"ibm-cloud.kubernetes.io/worker-pool-name", "IBM Cloud"},
    {"magnum.openstack.org/nodegroup", "OpenStack Magnum"},
    {"oke.oraclecloud.com/pool.name", "Oracle Cloud"},
    {"machine.openshift.io/machine-set", "OpenShift"},
    {"worker.gardener.cloud/pool", "Gardener"},
    {"yandex.cloud/node-group-id", "Yandex Cloud"},
    {"k8s-autoscaler-group", "Coppice"},
    {"nodepool", "the platform"},
};

constexpr std::array<std::string_view, 4> kControlPlane = {
    "node-role.kubernetes.io/control-plane", "node-role.kubernetes.io/master",
    "node-role.kubernetes.io/controlplane", "node-role.kubernetes.io/etcd"};
constexpr std::array<std::string_view, 3> kGpuLabels = {
    "cloud.google.com/gke-accelerator", "k8s.amazonaws.com/accelerator", "accelerator"};

std::string LabelOf(const model::Node& node, std::initializer_list<std::string_view> keys) {
  for (const std::string_view key : keys) {
    if (const std::string* value = node.metadata.labels.Find(key)) return *value;
  }
  return "";
}

std::string ZoneOf(const model::Node& node) {
  return LabelOf(node, {"topology.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/zone"});
}

std::string TypeOf(const model::Node& node) {
  return LabelOf(node, {"node.kubernetes.io/instance-type", "beta.kubernetes.io/instance-type"});
}

struct Found {
  std::string name;
  std::string origin;
};

Found GroupFor(const model::Node& node) {
  for (const PoolLabel& label : kPoolLabels) {
    const std::string* value = node.metadata.labels.Find(label.key);
    if (value == nullptr || value->empty()) continue;
    const std::string zone = label.per_zone ? ZoneOf(node) : "";
    return {zone.empty() ? *value : *value + "-" + zone, "label " + std::string(label.key) + " (" +
                                                             std::string(label.platform) + ")" +
                                                             (zone.empty() ? "" : " and zone")};
  }
  const std::string type = TypeOf(node);
  const std::string zone = ZoneOf(node);
  if (type.empty() && zone.empty()) return {"nodes", "no pool label, instance type or zone"};
  if (zone.empty()) return {type, "instance type"};
  return {type.empty() ? zone : type + "-" + zone,
          type.empty() ? "zone" : "instance type and zone"};
}

struct Bounds {
  int min = 0;
  int max = 0;
  bool used = false;
};

Result<std::map<std::string, Bounds>> ReadBounds(const std::vector<std::string>& texts) {
  std::map<std::string, Bounds> all;
  for (const std::string& text : texts) {
    const auto limits = TRY(cloud::ParseGroupLimits(text).Context("--nodes=" + text));
    all[limits.group] = {limits.min, limits.max};
  }
  return all;
}

bool IsControlPlane(const model::Node& node) {
  return std::ranges::any_of(
      kControlPlane, [&](std::string_view key) { return node.metadata.labels.contains(key); });
}

}  // namespace

std::string GuessGpuLabel(const Listed<model::Node>& nodes) {
  for (const std::string_view key : kGpuLabels) {
    if (std::ranges::any_of(nodes,
                            [&](const auto& node) { return node->metadata.labels.contains(key); }))
      return std::string(key);
  }
  return "";
}

Result<DiscoveredGroups> GroupsFromNodes(const Listed<model::Node>& nodes,
                                         const std::vector<std::string>& bounds_texts) {
  auto bounds = TRY(ReadBounds(bounds_texts));
  DiscoveredGroups found;
  std::map<std::string, size_t> by_name;
  std::map<std::string, std::map<std::string, int>> kinds;  // of nodes in a group
  std::vector<std::string> control_plane;
  std::vector<std::string> origins;
  for (const auto& node : nodes) {
    if (IsControlPlane(*node)) {
      control_plane.push_back(node->metadata.name);
      continue;
    }
    Found group = GroupFor(*node);
    const auto [it, added] = by_name.try_emplace(group.name, found.groups.size());
    if (added) {
      if (std::ranges::find(origins, group.origin) == origins.end())
        origins.push_back(group.origin);
      found.groups.push_back({.name = group.name, .max = kDefaultMax, .origin = group.origin});
      const model::NodeAmounts amounts = model::ToNodeAmounts(node->status.allocatable);
      found.groups.back().cpu_millis = amounts.cpu_millis;
      found.groups.back().memory_bytes = amounts.memory_bytes;
    }
    DumpGroups::Group& into = found.groups[it->second];
    into.machines.push_back(node->spec.provider_id);
    ++into.target;
    const std::string zone = ZoneOf(*node);
    ++kinds[group.name][TypeOf(*node) + (zone.empty() ? "" : " in " + zone)];
  }
  bool assumed = false;
  bool larger = false;  // than what is assumed
  for (DumpGroups::Group& group : found.groups) {
    const auto it = bounds.find(group.name);
    if (it == bounds.end()) {
      assumed = true;
      larger = larger || group.target > group.max;
      group.max = std::max(group.max, group.target);
      continue;
    }
    group.min = it->second.min;
    group.max = it->second.max;
    it->second.used = true;
  }
  std::vector<std::string> names;
  for (const auto& group : found.groups) names.push_back(group.name);
  for (const auto& [name, bound] : bounds) {
    if (bound.used) continue;
    const std::string near = Nearest(name, names);
    found.notes.push_back("--nodes names the group " + name + ", which the dump does not have" +
                          (near.empty() ? "" : "; did you mean " + near + "?"));
  }
  found.how = origins.empty() ? "there are no nodes to take groups from"
                              : "taken from the nodes: " + Join(origins, "; ");
  if (assumed) {
    found.how += "; where --nodes=min:max:name does not say otherwise, min 0 and max " +
                 std::to_string(kDefaultMax) + " are assumed" +
                 (larger ? ", and of a group that is larger what exists" : "");
  }
  std::vector<std::string> mixed;
  for (const auto& [name, counts] : kinds) {
    if (counts.size() < 2) continue;
    std::vector<std::string> parts;
    for (const auto& [kind, count] : counts) parts.push_back(std::to_string(count) + " " + kind);
    mixed.push_back(name + " (" + Join(parts, ", ") + ")");
  }
  if (!mixed.empty()) {
    constexpr size_t kShown = 3;
    const size_t more = mixed.size() > kShown ? mixed.size() - kShown : 0;
    mixed.resize(mixed.size() - more);
    found.notes.push_back(
        "a new node is assumed to be like one of its group, but these have nodes of "
        "several kinds: " +
        Join(mixed, ", ") + (more > 0 ? " and " + std::to_string(more) + " more" : ""));
  }
  if (!control_plane.empty()) {
    found.notes.push_back("control-plane nodes belong to no group: " + Join(control_plane, ", "));
  }
  return found;
}

}  // namespace coppice::whatif
