#include "provider/provider_group.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "base/strings.h"
#include "model/label_names.h"
#include "model/quantity.h"
#include "provider/scaling_options.h"

namespace coppice::provider {
namespace {

using yaml::Severity;

// The Go provider takes YAML 1.1's yes and on for a bool, so these two keys do, with a word about
// it.
void ReadGoBool(yaml::MapReader& map, const char* key, bool& out) {
  const yaml::Node node = map.Get(key);
  const std::string text = Lower(node.scalar());
  const bool yes = text == "yes" || text == "on" || text == "y";
  const bool no = text == "no" || text == "off" || text == "n";
  if (node.kind() != yaml::Node::Kind::kScalar || node.quoted() || (!yes && !no)) {
    map.Read(key, out);
    return;
  }
  out = yes;
  map.Complain(key, fmt::format("write {} instead of {}", yes ? "true" : "false", node.scalar()),
               Severity::kWarning);
}

void RequireText(yaml::MapReader& map, const char* key, std::string& out) {
  if (map.Require(key, out) && out.empty()) map.Complain(key, "must not be empty");
}

bool IsAmount(const std::string& text) {
  if (text.ends_with('%')) {
    double percent = 0;
    const char* end = text.data() + text.size() - 1;
    const auto [stop, error] = std::from_chars(text.data(), end, percent);
    return error == std::errc() && stop == end && percent >= 0 && percent <= 100;
  }
  const auto quantity = model::Quantity::Parse(text);
  return quantity.ok() && quantity->Sign() >= 0;
}

// kubeReserved and its like: amounts of resources. evictionHard has the kubelet's signals for keys.
void ReadReserved(yaml::MapReader& map, const char* key,
                  std::optional<cloud::ReservedResources>& out) {
  cloud::ReservedResources amounts;
  if (!map.Read(key, amounts)) return;
  for (const auto& [resource, amount] : amounts) {
    if (!IsAmount(amount)) {
      map.Complain(
          key,
          fmt::format("{}: '{}' is neither an amount such as 500Mi nor a percentage such as 10%",
                      resource, amount));
    }
  }
  out = std::move(amounts);
}

template <class T>
void ReadOptional(yaml::MapReader& map, const char* key, std::optional<T>& out) {
  T value{};
  if (map.Read(key, value)) out = value;
}

void ReadTaints(yaml::MapReader& map, std::vector<cloud::GroupTaint>& out,
                yaml::Problems& problems) {
  map.EachItem("taints", [&](const yaml::Node& item) {
    yaml::MapReader reader(item, problems);
    cloud::GroupTaint taint;
    RequireText(reader, "key", taint.key);
    reader.Read("value", taint.value);
    reader.Read("effect", taint.effect);
    static const std::array<std::string, 3> kEffects = {"NoSchedule", "PreferNoSchedule",
                                                        "NoExecute"};
    if (std::ranges::find(kEffects, taint.effect) == kEffects.end()) {
      // The Go provider lets it pass, and the taint then keeps nobody out.
      reader.Complain("effect",
                      fmt::format("'{}' is not an effect of a taint; there are {}", taint.effect,
                                  Join({kEffects.begin(), kEffects.end()}, ", ")),
                      Severity::kWarning);
    }
    if (const std::string wrong = model::WrongWithLabelKey(taint.key);
        !taint.key.empty() && !wrong.empty())
      reader.Complain("key", fmt::format("'{}' is no key of a taint: {}", taint.key, wrong));
    if (const std::string wrong = model::WrongWithLabelValue(taint.value); !wrong.empty())
      reader.Complain("value", fmt::format("'{}' is no value of a taint: {}", taint.value, wrong));
    reader.Finish();
    out.push_back(std::move(taint));
  });
}

void ReadTags(yaml::MapReader& map, const GroupContext& context, cloud::GroupConfig& group) {
  map.Read("tags", group.tags);
  const auto own = group.tags.find(cloud::kGroupTag);
  if (own != group.tags.end() && own->second != group.name) {
    map.Complain(
        "tags",
        fmt::format("{} is set to the group's name, whatever is written here", cloud::kGroupTag),
        Severity::kWarning);
  }
  group.tags.erase(cloud::kGroupTag);
  if (context.cluster_tag.empty()) return;
  const auto [tag, added] = group.tags.emplace(cloud::kClusterTag, context.cluster_tag);
  if (!added && tag->second != context.cluster_tag) {
    map.Complain("tags", fmt::format("{} is '{}' here and clusterTag is '{}'; remove it here",
                                     cloud::kClusterTag, tag->second, context.cluster_tag));
  }
}

// A node with a label that the API server refuses never registers.
void ReadLabels(yaml::MapReader& map, cloud::GroupConfig& group) {
  map.Read("labels", group.labels);
  for (const auto& [key, value] : group.labels) {
    if (const std::string wrong = model::WrongWithLabelKey(key); !wrong.empty())
      map.Complain("labels", fmt::format("'{}' is no key of a label: {}", key, wrong));
    if (const std::string wrong = model::WrongWithLabelValue(value); !wrong.empty())
      map.Complain("labels", fmt::format("{}: '{}' is no value of a label: {}", key, value, wrong));
  }
}

void ReadSizes(yaml::MapReader& map, cloud::GroupConfig& group) {
  const bool has_min = map.Read("minSize", group.min_size);
  const bool has_max = map.Read("maxSize", group.max_size);
  if (!has_max && map.Has("maxSize")) return;  // it has been complained about
  if (group.min_size < 0) {
    map.Complain("minSize", fmt::format("must not be negative, and is {}", group.min_size));
  } else if (group.max_size < group.min_size) {
    map.Complain("maxSize",
                 fmt::format("is {}, less than minSize {}", group.max_size, group.min_size));
  } else if (group.max_size == 0 && !has_min) {
    map.Complain("maxSize", "is 0, so this group never has a machine", Severity::kWarning);
  }
}

void ReadNetworks(yaml::MapReader& map, cloud::GroupConfig& group) {
  ReadGoBool(map, "usePublicNetwork", group.use_public_network);
  ReadGoBool(map, "usePrivateNetwork", group.use_private_network);
  map.Read("networkUUID", group.network_uuid);
  map.Read("subnetUUID", group.subnet_uuid);
  if (!group.network_uuid.empty() && !group.use_private_network) {
    map.Complain("networkUUID", "needs usePrivateNetwork: true");
  }
  if (!group.subnet_uuid.empty() && group.network_uuid.empty()) {
    map.Complain("subnetUUID", "needs networkUUID");
  }
  std::string one;
  map.Read("serverGroupUUIDs", group.server_group_uuids);
  if (map.Read("serverGroupUUID", one) && !one.empty() &&
      std::ranges::find(group.server_group_uuids, one) == group.server_group_uuids.end()) {
    group.server_group_uuids.insert(group.server_group_uuids.begin(), one);
  }
}

// What the cloud has asked for when it was registered. How a value has to look is for who reads it.
void RequireKey(yaml::MapReader& map, const std::string& key) {
  constexpr std::string_view kOwn = "extra.";
  const bool own = key.starts_with(kOwn);
  yaml::Node value = map.Get(own ? "extra" : key);
  const std::string name = own ? key.substr(kOwn.size()) : key;
  if (own) {
    const auto entries = value.entries();
    const auto found = std::ranges::find(entries, name, &std::pair<std::string, yaml::Node>::first);
    value = found == entries.end() ? yaml::Node() : found->second;
  }
  const yaml::Node::Kind kind = value.kind();
  const std::string who = own ? "'" + name + "' " : "";
  if (kind == yaml::Node::Kind::kAbsent || kind == yaml::Node::Kind::kNull) {
    map.Complain(own ? "extra" : key, who + "is required");
  } else if (kind == yaml::Node::Kind::kScalar && value.scalar().empty()) {
    map.Complain(own ? "extra" : key, who + "must not be empty");
  }
}

void ReadMachine(yaml::MapReader& map, const GroupContext& context, cloud::GroupConfig& group) {
  RequireText(map, "flavor", group.flavor);
  for (const std::string& key : context.required) RequireKey(map, key);
  map.Read("image", group.image);
  map.Read("zone", group.zone);
  const bool has_volume = map.Read("volumeSizeGB", group.volume_size_gb);
  if (has_volume && group.volume_size_gb <= 0) map.Complain("volumeSizeGB", "must be more than 0");
  constexpr int64_t kLargestVolumeGb =
      1'000'000;  // beyond it the size in bytes would not be a sensible number
  if (group.volume_size_gb > kLargestVolumeGb)
    map.Complain("volumeSizeGB", "is larger than any volume");
  map.Read("sshKeys", group.ssh_keys);
  for (const std::string& key : group.ssh_keys) {
    if (key.find(' ') == std::string::npos) {
      map.Complain(
          "sshKeys",
          fmt::format(
              "'{}' is not a public key (ssh-ed25519 AAAA... name); the API knows no names of keys",
              key.substr(0, 30)),
          Severity::kWarning);
    }
  }
  std::string user_data;
  if (map.Read("userData", user_data)) {
    Result<std::string> bytes = context.user_data(user_data);
    if (bytes.ok()) {
      group.user_data = std::move(*bytes);
    } else {
      map.Complain("userData", bytes.status().message());
    }
  }
}

}  // namespace

cloud::GroupConfig ReadGroup(const yaml::Node& item, const GroupContext& context,
                             yaml::Problems& problems) {
  yaml::MapReader map(item, problems);
  cloud::GroupConfig group;
  RequireText(map, "name", group.name);
  ReadSizes(map, group);
  ReadMachine(map, context, group);
  ReadNetworks(map, group);
  ReadTags(map, context, group);
  ReadLabels(map, group);
  ReadTaints(map, group.taints, problems);
  // Ours from here.
  map.Read("extra", group.extra);
  ReadOptional(map, "maxPods", group.max_pods);
  if (group.max_pods && *group.max_pods <= 0) map.Complain("maxPods", "must be more than 0");
  ReadReserved(map, "kubeReserved", group.kube_reserved);
  ReadReserved(map, "systemReserved", group.system_reserved);
  ReadReserved(map, "evictionHard", group.eviction_hard);
  ReadScalingOptions(map, group.options, problems);
  ReadOptional(map, "price", group.price_per_hour);  // per hour; counts before the flavor's
  if (group.price_per_hour && *group.price_per_hour < 0)
    map.Complain("price", "must not be negative");
  map.Finish();
  return group;
}

}  // namespace coppice::provider
