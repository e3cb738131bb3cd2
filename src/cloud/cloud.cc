#include "cloud/cloud.h"

#include <algorithm>

#include "base/strings.h"

namespace coppice::cloud {

Result<std::vector<std::string>> Cloud::Validate(const GroupConfig& group, Deadline deadline) {
  std::vector<Flavor> flavors = TRY(Flavors(deadline));
  if (const auto grid = Grid()) {
    const auto measure = grid->Parse(group.flavor);
    if (measure && grid->Sells(*measure)) flavors.push_back(grid->FlavorOf(*measure));
  }
  const auto flavor = std::ranges::find(flavors, group.flavor, &Flavor::name);
  std::vector<std::string> mistakes;
  const auto unknown = [&](const std::string& what, const std::vector<std::string>& known,
                           const std::string& value) {
    const std::string nearest = Nearest(value, known);
    mistakes.push_back(
        what + "; " +
        (nearest.empty() ? "there are: " + Join(known, ", ") : "did you mean '" + nearest + "'?"));
  };
  if (flavor == flavors.end()) {
    std::vector<std::string> names;
    for (const Flavor& one : flavors) names.push_back(one.name);
    unknown("there is no flavor '" + group.flavor + "'", names, group.flavor);
    return mistakes;
  }
  // A cloud that does not say where it sells a flavor sells it everywhere, as far as we know.
  if (!group.zone.empty() && !flavor->zones.empty() &&
      std::ranges::find(flavor->zones, group.zone) == flavor->zones.end()) {
    unknown("flavor '" + group.flavor + "' is not sold in zone '" + group.zone + "'", flavor->zones,
            group.zone);
  }
  return mistakes;
}

}  // namespace coppice::cloud
