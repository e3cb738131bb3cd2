#include "app/command_line.h"

#include <fmt/format.h>

#include <cstdio>

namespace coppice::app {
namespace {

int Complain(int code, std::string_view command, const Status& why) {
  std::fputs(fmt::format("coppice {}: {}\n", command, why.message()).c_str(), stderr);
  return code;
}

}  // namespace

int WrongUsage(std::string_view command, const Status& why) {
  Complain(2, command, why);
  std::fputs(fmt::format("`coppice {} --help` says how it is used\n", command).c_str(), stderr);
  return 2;
}

int Failed(std::string_view command, const Status& why) { return Complain(1, command, why); }

std::optional<int> ReadCommandLine(const CommandText& text, FlagSet& flags,
                                   const std::vector<std::string>& args,
                                   const std::function<Status()>& check) {
  Status read = flags.Parse(args);
  if (flags.help_wanted() || (args.size() == 1 && args[0] == "help")) {
    std::fputs(fmt::format("{}{}{}", text.about, flags.AsHelp(), text.after).c_str(), stdout);
    return 0;
  }
  if (read.ok() && check) read = check();
  if (!read.ok()) return WrongUsage(text.name, read);
  return std::nullopt;
}

}  // namespace coppice::app
