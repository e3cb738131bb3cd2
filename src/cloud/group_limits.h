// min:max:name, as --nodes gives the limits of a node group.

#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "cloud/group_config.h"

namespace coppice::cloud {

struct GroupLimits {
  int min = 0;
  int max = 0;
  std::string group;  // may hold colons
};

// InvalidArgument says how it is written.
Result<GroupLimits> ParseGroupLimits(std::string_view text);

// Gives the limits to the groups that they name. NotFound lists the groups that there are.
Status LimitGroups(const std::vector<std::string>& limits, std::vector<GroupConfig>& groups);

}  // namespace coppice::cloud
