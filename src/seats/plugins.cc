#include "seats/plugins.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/strings.h"

namespace coppice::seats {

Status KnownNames(std::string_view flag, const std::vector<std::string>& given,
                  const std::vector<std::string>& known) {
  for (const std::string& name : given) {
    if (std::ranges::find(known, name) != known.end()) continue;
    const std::string nearest = Nearest(name, known);
    return InvalidArgument(fmt::format("{}: there is no '{}'; there are: {}{}", flag, name,
                                       Join(known, ", "),
                                       nearest.empty() ? "" : "; did you mean '" + nearest + "'?"));
  }
  return Status::Ok();
}

std::string LinkedIn(const Plugins& plugins) {
  std::string text = "\nLinked in:\n";
  const auto line = [&text](std::string_view kind, const std::vector<std::string>& names) {
    text += fmt::format("  {:<22} {}\n", kind, names.empty() ? "none" : Join(names, ", "));
  };
  line("clouds", plugins.clouds.names());
  line("node group providers", plugins.node_groups.names());
  line("node claim providers", plugins.node_claims.names());
  line("expanders", plugins.expanders.names());
  line("processors", plugins.processors.names());
  line("filters", plugins.filters.names());
  line("batch plug-ins", plugins.batch.names());
  return text;
}

}  // namespace coppice::seats
