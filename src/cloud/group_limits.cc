#include "cloud/group_limits.h"

#include <algorithm>

#include "base/flag_set.h"
#include "base/strings.h"

namespace coppice::cloud {

Result<GroupLimits> ParseGroupLimits(std::string_view text) {
  const Status wrong =
      InvalidArgument("write min:max:name with 0 <= min <= max, such as 1:10:pool-a, and not '" +
                      std::string(text) + "'");
  const size_t first = text.find(':');
  if (first == std::string_view::npos) return wrong;
  const size_t second = text.find(':', first + 1);
  if (second == std::string_view::npos || second + 1 == text.size()) return wrong;
  const auto min = FlagNumber<int>(text.substr(0, first));
  const auto max = FlagNumber<int>(text.substr(first + 1, second - first - 1));
  if (!min.ok() || !max.ok() || *max < *min) return wrong;
  return GroupLimits{*min, *max, std::string(text.substr(second + 1))};
}

Status LimitGroups(const std::vector<std::string>& limits, std::vector<GroupConfig>& groups) {
  for (const std::string& text : limits) {
    const GroupLimits limit = TRY(ParseGroupLimits(text).Context("--nodes=" + text));
    const auto group = std::ranges::find(groups, limit.group, &GroupConfig::name);
    if (group == groups.end()) {
      std::vector<std::string> names;
      for (const GroupConfig& known : groups) names.push_back(known.name);
      const std::string nearest = Nearest(limit.group, names);
      return NotFound("--nodes=" + text + ": the configuration has no node group '" + limit.group +
                      "'; there are: " + Join(names, ", ") +
                      (nearest.empty() ? "" : "; did you mean '" + nearest + "'?"));
    }
    group->min_size = limit.min;
    group->max_size = limit.max;
  }
  return Status::Ok();
}

}  // namespace coppice::cloud
