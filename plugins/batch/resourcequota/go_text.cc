#include "plugins/batch/resourcequota/go_text.h"

#include <fmt/format.h>

#include <string>
#include <vector>

#include "base/strings.h"

namespace coppice::batch::resourcequota {
namespace {

// Of an amount that does not fit into 64 bits upstream shows an address, which nobody can repeat.
std::string GoQuantity(const model::Quantity& quantity) {
  return fmt::format("{{{{{} {}}} {{<nil>}} {} {}}}", quantity.unscaled(), quantity.scale(),
                     quantity.keeps_text() ? quantity.ToString() : "",
                     model::ToString(quantity.format()));
}

}  // namespace

std::string GoText(const model::ResourceList& list) {
  std::vector<std::string> parts;
  for (const auto& [name, amount] : list) parts.push_back(name + ":" + GoQuantity(amount));
  return "map[" + Join(parts, " ") + "]";
}

}  // namespace coppice::batch::resourcequota
