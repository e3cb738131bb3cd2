// JSON of the cloudscale.ch API to our values and back. Pure functions; nothing here talks to
// anybody.
//
// What identifies a server or says what happens to it (uuid, name, status, tags) must be there and
// have the right type, or the whole answer is an error: a list that lacks a machine would make the
// caller believe that it is gone. What only describes (image, addresses, time of creation) may be
// missing.

#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "cloud/cloud.h"

namespace coppice::clouds::cloudscale {

Result<std::vector<cloud::Machine>> ParseServers(std::string_view json);
Result<cloud::Machine> ParseServer(std::string_view json);
Result<std::vector<cloud::Flavor>> ParseFlavors(std::string_view json);

// One element of images, custom-images, regions, networks, subnets or server-groups: what a
// start-up check asks.
struct CatalogItem {
  std::string slug;
  std::string uuid;
  std::string name;
  std::vector<std::string> zones;  // empty: the list does not say
  std::string network_uuid;        // of a subnet
};
Result<std::vector<CatalogItem>> ParseCatalog(std::string_view json);

// The body of a create request. InvalidArgument when the user data is not UTF-8, for JSON cannot
// carry it.
Result<std::string> CreateRequest(const cloud::MachineSpec& spec);

// 2026-01-02T03:04:05.678901Z; the epoch when it is not understood.
TimePoint ParseTime(std::string_view text);

// Keys of MachineSpec::extra that CreateRequest reads and ExtraOf writes.
inline constexpr char kSshKeys[] = "ssh_keys";                       // one per line
inline constexpr char kServerGroups[] = "server_groups";             // UUIDs with commas between
inline constexpr char kUsePublicNetwork[] = "use_public_network";    // true, false
inline constexpr char kUsePrivateNetwork[] = "use_private_network";  // true, false
inline constexpr char kNetwork[] = "network";                        // UUID
inline constexpr char kSubnet[] = "subnet";                          // UUID
std::map<std::string, std::string> ExtraOf(const cloud::GroupConfig& group);

}  // namespace coppice::clouds::cloudscale
