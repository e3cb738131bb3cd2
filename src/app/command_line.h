// How every command reads its arguments: the flags of the modules that it is made of in one FlagSet
// (base/flag_set.h), parsed once. --help ends with 0, wrong usage always with 2 and the same two
// lines, a failure with 1.
//
//   int RunGreet(const std::vector<std::string>& args, Plugins&) {
//     GreetOptions options;
//     FlagSet flags;
//     flags.AddString("name", options.name, "Who is greeted.");
//     if (const auto code = ReadCommandLine({"greet", kAbout}, flags, args)) return *code;
//     ...
//   }
//
// A new command is a file in commands/, a line in commands.h and a line in the list of cli.cc.

#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/flag_set.h"

namespace coppice::app {

struct CommandText {
  std::string_view name;
  std::string_view about;  // the first lines of --help; ends with a line break
  std::string after = "";  // its last lines
};

// Fills what is bound to `flags`. An exit code when the command is over with that. `check` looks at
// what flags mean together, and is not asked when help is wanted.
std::optional<int> ReadCommandLine(const CommandText& text, FlagSet& flags,
                                   const std::vector<std::string>& args,
                                   const std::function<Status()>& check = nullptr);

// Say why on standard error, and return the exit code.
int WrongUsage(std::string_view command, const Status& why);  // 2
int Failed(std::string_view command, const Status& why);      // 1

}  // namespace coppice::app
