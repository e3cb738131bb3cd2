// What a group says beyond the fields of an order, over the wire and back.

#include "base/strings.h"
#include "rpc/cloud_messages.h"

namespace coppice::rpc {
namespace {

constexpr int64_t kWireVolumeUnit = 1LL << 30;

std::string Taken(std::map<std::string, std::string>& extra, const char* key) {
  auto entry = extra.extract(key);
  return entry.empty() ? std::string() : std::move(entry.mapped());
}

std::vector<std::string> TakenList(std::map<std::string, std::string>& extra, const char* key) {
  const std::string text = Taken(extra, key);
  return text.empty() ? std::vector<std::string>() : Split(text, ',');
}

}  // namespace

std::map<std::string, std::string> ExtraOfGroup(const cloud::GroupConfig& group) {
  std::map<std::string, std::string> extra = group.extra;
  const auto put = [&extra](const char* key, const std::string& value) {
    if (!value.empty()) extra[key] = value;
  };
  put("sshKeys", Join(group.ssh_keys, ","));
  put("serverGroups", Join(group.server_group_uuids, ","));
  put("network", group.network_uuid);
  put("subnet", group.subnet_uuid);
  put("publicNetwork", group.use_public_network ? "true" : "");
  put("privateNetwork", group.use_private_network ? "true" : "");
  return extra;
}

cloud::GroupConfig GroupOfSpec(const cloud::MachineSpec& spec) {
  std::map<std::string, std::string> extra = spec.extra;
  cloud::GroupConfig group{.name = spec.name.empty() ? "remote" : spec.name,
                           .flavor = spec.flavor,
                           .image = spec.image,
                           .zone = spec.zone,
                           .volume_size_gb = spec.disk_bytes / kWireVolumeUnit,
                           .ssh_keys = TakenList(extra, "sshKeys"),
                           .user_data = spec.user_data,
                           .tags = spec.tags,
                           .server_group_uuids = TakenList(extra, "serverGroups"),
                           .use_public_network = Taken(extra, "publicNetwork") == "true",
                           .use_private_network = Taken(extra, "privateNetwork") == "true",
                           .network_uuid = Taken(extra, "network"),
                           .subnet_uuid = Taken(extra, "subnet")};
  group.extra = std::move(extra);
  return group;
}

cloud::MachineSpec SpecOfGroup(const cloud::GroupConfig& group) {
  return {.flavor = group.flavor,
          .zone = group.zone,
          .image = group.image,
          .disk_bytes = group.volume_size_gb * kWireVolumeUnit,
          .tags = group.tags,
          .user_data = group.user_data,
          .extra = ExtraOfGroup(group)};
}

}  // namespace coppice::rpc
