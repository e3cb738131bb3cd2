// Messages of proto/cloud.proto to and from our values, for both ends: the client is
// plugins/clouds/remote. The only place that sees their generated classes.
//
// What the other side says is outside bytes: what comes out of a Parse function holds to what
// cloud::Cloud promises (ids not empty and each once, prices finite and not negative, times that a
// clock can hold), or is an error with a sentence.

#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "cloud/cloud.h"
#include "cloud/types.h"

namespace coppice::rpc {

inline constexpr char kCloudService[] = "coppice.cloud.v1.Cloud";

// Everything that one Flavors call brings.
struct CloudDescription {
  std::vector<cloud::Flavor> flavors;
  std::optional<cloud::FlavorGrid> grid;
  std::string gpu_label;
  std::string id_prefix;
  friend bool operator==(const CloudDescription&, const CloudDescription&) = default;
};

// What a group says beyond the fields of an order (networks, ssh keys, server groups), as `extra`
// carries it over the wire: sshKeys, serverGroups (with commas), network, subnet, publicNetwork and
// privateNetwork ("true"), beside the group's own. GroupOfSpec reads it back.
std::map<std::string, std::string> ExtraOfGroup(const cloud::GroupConfig& group);
cloud::GroupConfig GroupOfSpec(const cloud::MachineSpec& spec);
cloud::MachineSpec SpecOfGroup(const cloud::GroupConfig& group);

// The client's side.
std::string SerializeListRequest(const cloud::Tags& tags);
std::string SerializeCreateRequest(const cloud::MachineSpec& spec);
std::string SerializeDeleteRequest(const cloud::ProviderId& id);
std::string SerializeValidateRequest(const cloud::MachineSpec& spec);
Result<std::vector<cloud::Machine>> ParseListResponse(std::string_view bytes);
Result<cloud::Machine> ParseCreateResponse(std::string_view bytes);
Result<CloudDescription> ParseFlavorsResponse(std::string_view bytes);
Result<std::vector<std::string>> ParseValidateResponse(std::string_view bytes);

// The server's side.
Result<cloud::Tags> ParseListRequest(std::string_view bytes);
Result<cloud::MachineSpec> ParseCreateRequest(std::string_view bytes);
Result<cloud::ProviderId> ParseMachineDeleteRequest(std::string_view bytes);
Result<cloud::MachineSpec> ParseValidateRequest(std::string_view bytes);
std::string SerializeListResponse(const std::vector<cloud::Machine>& machines);
std::string SerializeCreateResponse(const cloud::Machine& machine);
std::string SerializeFlavorsResponse(const CloudDescription& description);
std::string SerializeValidateResponse(const std::vector<std::string>& mistakes);

}  // namespace coppice::rpc
