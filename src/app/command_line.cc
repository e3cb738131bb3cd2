#include "app/command_line.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

#include "base/strings.h"

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

}  // namespace coppice::app
