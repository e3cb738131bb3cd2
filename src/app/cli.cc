// The program's commands: one list, and what is said when none of them is named.

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "app/command_line.h"
#include "app/commands/commands.h"
#include "app/main.h"
#include "app/version.h"
#include "base/completion.h"
#include "base/strings.h"

namespace coppice::app {
namespace {

struct Command {
  std::string_view name;
  std::string_view help;  // "": for our own tools, not shown
  int (*run)(const std::vector<std::string>& args, Plugins& plugins);
};

int RunCompletion(const std::vector<std::string>& args, Plugins& plugins);

// In the order in which --help shows them.
constexpr Command kCommands[] = {
    {"run", "the autoscaler: on a model cluster, or with --kubeconfig or in a pod on a real one",
     RunAutoscaler},
    {"provider", "serve a cloud to Cluster Autoscaler over externalgrpc", RunProvider},
    {"expander", "serve built-in expanders over Cluster Autoscaler's gRPC protocol", RunExpander},
    {"extender", "the reference server of the batch scheduler's HTTP extender", RunExtender},
    {"simulate", "what would the autoscaler do with this cluster dump, and why", RunSimulate},
    {"explain", "why a pod waits or a node stays, asked of a running instance", RunExplain},
    {"top", "what a running instance sees and decides, as a screen", RunTop},
    {"record", "write down what a cluster goes through, and change nothing", RunRecord},
    {"rehearse", "play a recorded day again with other flags, groups or pools", RunRehearse},
    {"conform", "try somebody else's provider, expander, extender or cloud", RunConform},
    {"validate", "check configuration files, with line numbers", RunValidate},
    {"completion", "a script that completes commands and flags, for bash, zsh or fish",
     RunCompletion},
    {"flags", "", RunFlags},  // for tools/check_docs
};

constexpr std::string_view kCompletionAbout =
    R"(coppice completion: a script that completes commands and flags

  source <(coppice completion bash)                                    in ~/.bashrc
  coppice completion zsh > "${fpath[1]}/_coppice"
  coppice completion fish > ~/.config/fish/completions/coppice.fish
)";

int RunCompletion(const std::vector<std::string>& args, Plugins&) {
  std::vector<std::string> words;
  FlagSet flags;
  flags.AddWords("SHELL", words, true, "bash, zsh or fish.");
  const auto check = [&]() -> Status {
    std::vector<std::string> shells(std::begin(kShells), std::end(kShells));
    if (words.size() == 1 && std::ranges::find(shells, words[0]) != shells.end())
      return Status::Ok();
    return InvalidArgument("there are scripts for " + Join(shells, ", "));
  };
  if (const auto code = ReadCommandLine({"completion", kCompletionAbout}, flags, args, check))
    return *code;
  std::vector<CompletedCommand> commands;
  for (const Command& command : kCommands) commands.push_back({command.name, command.help});
  std::fputs(CompletionFor(words[0], commands).c_str(), stdout);
  return 0;
}

std::string ProgramHelp(const Plugins& plugins) {
  std::string text =
      "Coppice makes a Kubernetes cluster grow and shrink.\n\n"
      "coppice COMMAND [FLAGS]; `coppice COMMAND --help` says more\n\n";
  for (const Command& command : kCommands) {
    if (!command.help.empty()) text += fmt::format("  {:<10} {}\n", command.name, command.help);
  }
  return text + "\n  --version  what this is\n" + seats::LinkedIn(plugins);
}

int NoCommand(std::string_view word) {
  std::string text = "coppice: ";
  if (word.empty()) {
    text += "which command?";
  } else {
    std::vector<std::string> names;
    for (const Command& command : kCommands) names.emplace_back(command.name);
    const std::string nearest = Nearest(word, names);
    text += fmt::format("there is no command '{}'", word);
    if (!nearest.empty()) text += fmt::format("; did you mean '{}'?", nearest);
  }
  std::fputs((text + "\n`coppice --help` lists the commands\n").c_str(), stderr);
  return 2;
}

// A registry that two plug-ins filled under one name ends the program before anything runs.
Status CheckRegistries(const Plugins& plugins) {
  TRY(plugins.clouds.Check());
  TRY(plugins.node_groups.Check());
  TRY(plugins.node_claims.Check());
  TRY(plugins.filters.Check());
  TRY(plugins.expanders.Check());
  TRY(plugins.processors.Check());
  TRY(plugins.batch.Check());
  return Status::Ok();
}

// Started under an upstream's name, as its manifests do, the program is that: the autoscaler, or the
// batch scheduler.
bool IsCalled(std::string_view path, std::string_view name) {
  return path.substr(path.rfind('/') + 1) == name;
}

// kubectl finds its plug-ins by this name.
bool CalledKubectlPlugin(std::string_view path) {
  return path.substr(path.rfind('/') + 1) == "kubectl-coppice";
}

}  // namespace

int Main(int argc, char** argv, Plugins& plugins) {
  if (const Status registered = CheckRegistries(plugins); !registered.ok()) {
    std::fprintf(stderr, "coppice: %s\n", registered.message().c_str());
    return 1;
  }
  if (argc > 0 && IsCalled(argv[0], "cluster-autoscaler"))
    return RunAutoscaler({argv + 1, argv + argc}, plugins);
  if (argc > 0 && IsCalled(argv[0], "vc-scheduler")) {
    std::vector<std::string> args = {"--batch"};
    args.insert(args.end(), argv + 1, argv + argc);
    return RunAutoscaler(args, plugins);
  }
  if (argc > 0 && CalledKubectlPlugin(argv[0])) {
    // `kubectl coppice top …`, `kubectl coppice explain …`, `kubectl coppice pod …`
    std::vector<std::string> args(argv + 1, argv + argc);
    const bool top = !args.empty() && args.front() == "top";
    if (top || (!args.empty() && args.front() == "explain")) args.erase(args.begin());
    args.insert(args.begin(), "--from-kubectl");
    return top ? RunTop(args, plugins) : RunExplain(args, plugins);
  }
  const std::string_view word = argc > 1 ? argv[1] : "";
  for (const Command& command : kCommands) {
    if (word == command.name) return command.run({argv + 2, argv + argc}, plugins);
  }
  if (word == "--help" || word == "-h" || word == "help") {
    std::fputs(ProgramHelp(plugins).c_str(), stdout);
    return 0;
  }
  if (word == "--version" || word == "version") {
    std::printf("coppice %s\n", kVersion);
    return 0;
  }
  return NoCommand(word);
}

}  // namespace coppice::app
