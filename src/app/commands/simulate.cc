#include <cstdio>

#include "app/commands/commands.h"

namespace coppice::app {

int RunSimulate(const std::vector<std::string>&, Plugins&) {
  std::fprintf(stderr, "coppice: simulate is not there yet\n");
  return 1;
}

}  // namespace coppice::app
