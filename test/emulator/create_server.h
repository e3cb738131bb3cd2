// What the API says to a create request: the new server, or a map of field to complaint.

#pragma once

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>

namespace coppice::emulator {

// Networks, subnets and server groups that the project has at this moment.
struct ProjectView {
  const nlohmann::json& networks;
  const nlohmann::json& subnets;
  const nlohmann::json& server_groups;
  std::function<std::string()> new_uuid;
};

// Fills `server` (without uuid, times and status) or `errors`.
void BuildServer(const nlohmann::json& request, const ProjectView& project, nlohmann::json& server,
                 nlohmann::json& errors);

// Host name or FQDN: labels of letters, digits and hyphens.
bool ValidHostName(const std::string& name);
bool ValidTags(const nlohmann::json& tags);

}  // namespace coppice::emulator
