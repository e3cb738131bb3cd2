#include "autoscale/flags.h"

#include <cstdio>

#include "app/command_line.h"
#include "app/commands/commands.h"

namespace coppice::app {

int RunFlags(const std::vector<std::string>& args, Plugins&) {
  bool markdown = false;
  FlagSet flags;
  flags.AddBool("markdown", markdown, "As docs/flags.md has it.");
  if (const auto code =
          ReadCommandLine({"flags", "coppice flags: the autoscaler's flags\n"}, flags, args))
    return *code;
  autoscale::FlagValues values;
  FlagSet table;
  autoscale::AddFlags(table, values);
  provision::Settings pools;
  batch::SchedulerFlags scheduler;
  FlagSet engines;
  engines.With("node-pools");
  provision::AddSettings(engines, pools);
  engines.With("batch");
  batch::AddSchedulerFlags(engines, scheduler);
  const std::string text = markdown ? autoscale::FlagsAsMarkdown() + engines.AsMarkdown()
                                    : table.AsHelp() + engines.AsHelp();
  std::fputs(text.c_str(), stdout);
  return 0;
}

}  // namespace coppice::app
