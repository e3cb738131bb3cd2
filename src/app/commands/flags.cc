#include "autoscale/flags.h"

#include <cstdio>

#include "app/commands/commands.h"

namespace coppice::app {

int RunFlags(const std::vector<std::string>& args, Plugins&) {
  const bool markdown = args.size() == 1 && args[0] == "--markdown";
  if (!args.empty() && !markdown) {
    std::fprintf(stderr, "usage: coppice flags [--markdown]\n");
    return 2;
  }
  const std::string text = markdown ? autoscale::FlagsAsMarkdown() : autoscale::FlagsAsHelp();
  std::fputs(text.c_str(), stdout);
  return 0;
}

}  // namespace coppice::app
