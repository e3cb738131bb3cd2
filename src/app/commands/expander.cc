#include <cstdio>

#include "app/commands/commands.h"

namespace coppice::app {

int RunExpander(const std::vector<std::string>&, Plugins&) {
  std::fprintf(stderr, "coppice: expander is not there yet\n");
  return 1;
}

}  // namespace coppice::app
