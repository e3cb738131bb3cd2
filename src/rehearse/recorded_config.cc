#include "rehearse/recorded_config.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/strings.h"

namespace coppice::rehearse {
namespace {

std::string Quoted(const std::string& text) {
  std::string out;
  AppendJsonString(out, text);  // JSON's quotes are YAML's
  return out;
}

std::string TaintsOf(const model::Node& node) {
  std::string out;
  for (const model::Taint& taint : node.spec.taints) {
    out += fmt::format("{}{{key: {}, value: {}, effect: {}}}", out.empty() ? "" : ", ",
                       Quoted(taint.key), Quoted(taint.value), Quoted(taint.effect));
  }
  return out;
}

// What the kubelet keeps by default is added, so that the template comes out as recorded.
constexpr int64_t kEviction = int64_t{100} << 20;

int64_t AmountOf(const model::Node& node, const char* resource, bool milli = false) {
  const auto* found = node.status.allocatable.Find(resource);
  return found == nullptr ? 0 : milli ? found->MilliValue() : found->Value();
}

std::string LabelOf(const model::Node& node, std::string_view key, const std::string& otherwise) {
  const std::string* found = node.metadata.labels.Find(key);
  return found == nullptr ? otherwise : *found;
}

std::string ZoneOf(const model::Node& node) {
  return LabelOf(node, "topology.kubernetes.io/zone", "here");
}

// A flavor with what the group's template has, but for its name and zones.
std::string FlavorOf(const RecordedGroup& group) {
  const model::Node& node = *group.node;
  const int64_t gpus = AmountOf(node, "nvidia.com/gpu");
  return fmt::format("cpu: {}m, memory: {}, architecture: {}, pricePerHour: {}{}",
                     AmountOf(node, "cpu", true), AmountOf(node, "memory") + kEviction,
                     Quoted(LabelOf(node, "kubernetes.io/arch", "amd64")), group.price.value_or(0),
                     gpus > 0 ? fmt::format(", gpuType: recorded, gpuCount: {}", gpus) : "");
}

std::string ZoneList(const std::set<std::string>& zones) {
  std::string list;
  for (const std::string& zone : zones) list += (list.empty() ? "" : ", ") + Quoted(zone);
  return list;
}

// What pools could buy: a flavor each, under its own name.
std::string TypesAsFlavors(const Demand& demand, std::set<std::string>& zones) {
  std::string flavors;
  for (const RecordedType& type : demand.types) {
    const std::set<std::string> own(type.zones.begin(), type.zones.end());
    if (own.empty() || type.cpu_millis <= 0 || type.memory_bytes <= 0) continue;
    zones.insert(own.begin(), own.end());
    flavors += fmt::format(
        "    - {{name: {}, zones: [{}], cpu: {}m, memory: {}, architecture: {}, pricePerHour: {}",
        Quoted(type.name), ZoneList(own), type.cpu_millis, type.memory_bytes + kEviction,
        Quoted(type.architecture.empty() ? "amd64" : type.architecture),
        type.price.value_or(type.spot_price.value_or(0)));
    if (type.spot_price) flavors += fmt::format(", spotPricePerHour: {}", *type.spot_price);
    if (type.gpus > 0) flavors += fmt::format(", gpuType: recorded, gpuCount: {}", type.gpus);
    flavors += "}\n";
  }
  return flavors;
}

std::string AsConfig(const std::string& flavors, const std::string& groups,
                     const std::set<std::string>& zones, uint64_t seed) {
  return fmt::format(
      "clusterTag: model\ncloud:\n  kind: simulated\n  bootTime: 60s\n  seed: {}\n  zones: [{}]\n"
      "  flavors:\n{}{}{}",
      seed % 1'000'000'000, ZoneList(zones), flavors, groups.empty() ? "" : "nodeGroups:\n",
      groups);
}

}  // namespace

std::string GroupsAsConfig(const Demand& demand, uint64_t seed) {
  std::string flavors;
  std::string groups;
  std::set<std::string> zones;
  for (const RecordedGroup& group : demand.groups) {
    if (!group.node) continue;
    const model::Node& node = *group.node;
    zones.insert(ZoneOf(node));
    flavors +=
        fmt::format("    - {{name: {}, {}}}\n", Quoted("flavor-" + group.id), FlavorOf(group));
    std::string labels;
    for (const auto& [key, value] : node.metadata.labels) {
      const bool own = key == "kubernetes.io/hostname" || key == "kubernetes.io/arch" ||
                       key == "kubernetes.io/os" || key.starts_with("topology.kubernetes.io/") ||
                       key == "node.kubernetes.io/instance-type";
      if (own) continue;
      labels += (labels.empty() ? "" : ", ") + Quoted(key) + ": " + Quoted(value);
    }
    groups += fmt::format(
        "  - {{name: {}, minSize: {}, maxSize: {}, flavor: {}, zone: {}, maxPods: {}, labels: "
        "{{{}}}, taints: [{}]}}\n",
        Quoted(group.id), group.min, std::max(group.min, group.max), Quoted("flavor-" + group.id),
        Quoted(ZoneOf(node)), std::max<int64_t>(1, AmountOf(node, "pods")), labels, TaintsOf(node));
  }
  flavors += TypesAsFlavors(demand, zones);
  return AsConfig(flavors, groups, zones, seed);
}

std::string FlavorsAsConfig(const Demand& demand, uint64_t seed) {
  struct Sold {
    std::string what;
    std::set<std::string> zones;
  };
  std::map<std::string, Sold> sold;
  std::set<std::string> zones;
  for (const RecordedGroup& group : demand.groups) {
    if (!group.node) continue;
    const std::string what = FlavorOf(group);
    std::string name =
        LabelOf(*group.node, "node.kubernetes.io/instance-type", "flavor-" + group.id);
    // The same name for something else: as some price by group.
    if (const auto same = sold.find(name); same != sold.end() && same->second.what != what)
      name += "-" + group.id;
    Sold& flavor = sold[name];
    flavor.what = what;
    flavor.zones.insert(ZoneOf(*group.node));
    zones.insert(ZoneOf(*group.node));
  }
  for (const RecordedType& type : demand.types) sold.erase(type.name);  // said by the provider
  std::string flavors = TypesAsFlavors(demand, zones);
  for (const auto& [name, flavor] : sold) {
    flavors += fmt::format("    - {{name: {}, zones: [{}], {}}}\n", Quoted(name),
                           ZoneList(flavor.zones), flavor.what);
  }
  return AsConfig(flavors, "", zones, seed);
}

}  // namespace coppice::rehearse
