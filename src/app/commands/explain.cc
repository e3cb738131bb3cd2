// coppice explain: why a pod waits, a node stays, a group refuses, and what was decided last, asked of a running instance. Under the
// name kubectl-coppice the program is this command as a plug-in of kubectl: `kubectl coppice explain pod …`.

#include <cstdio>

#include "app/commands/commands.h"
#include "app/instance.h"
#include "base/flag_set.h"
#include "net/url.h"
#include "web/terminal.h"

namespace coppice::app {
namespace {

constexpr char kExplainUsage[] = R"(coppice explain SUBJECT [FLAGS]: asks a running instance why

  coppice explain pod NAMESPACE/NAME   the check of each group that said no, by how much, the nearest miss
  coppice explain node NAME            why it stays, or when it goes
  coppice explain group NAME           its size, whom it refuses, what was decided about it
  coppice explain pool NAME            the same of a node pool, with its limits, budgets and claims
  coppice explain claim NAME           where it is in its life, why it stays or goes
  coppice explain gang NAMESPACE/NAME  what it lacks, what that costs, what is on its way
  coppice explain last                 the last decisions

As a plug-in of kubectl (the program under the name kubectl-coppice): kubectl coppice explain pod …, kubectl coppice top
)";

struct ExplainFlags {
  InstanceFlags instance;
  std::string output = "text";
  std::vector<std::string> words;
};

void Declare(FlagSet& set, ExplainFlags& flags) {
  AddInstanceFlags(set, flags.instance);
  set.AddChoice("output", flags.output, {"text", "json"}, "form of the answer");
  set.Alias("o", "output");
  set.AddWords(
      "SUBJECT", flags.words, false,
      "pod NAMESPACE/NAME, node NAME, group NAME, pool NAME, claim NAME, gang NAMESPACE/NAME or "
      "last");
}

// The page and what is asked of it.
Result<std::string> PathOf(const std::vector<std::string>& words) {
  if (words.size() == 1 && words[0] == "last") return std::string("decisions?limit=20");
  if (words.size() != 2)
    return InvalidArgument(
        "ask for pod NAMESPACE/NAME, node NAME, group NAME, pool NAME, claim NAME, "
        "gang NAMESPACE/NAME or last");
  if ((words[0] == "pod" || words[0] == "gang") && words[1].find('/') == std::string::npos)
    return InvalidArgument("a " + words[0] + " is asked for as NAMESPACE/NAME, such as default/" +
                           words[1]);
  for (const std::string_view kind : {"pod", "node", "group", "pool", "claim", "gang"})
    if (words[0] == kind) return "explain?" + words[0] + "=" + net::PercentEncode(words[1]);
  return InvalidArgument("'" + words[0] +
                         "' is not explained: there are pod, node, group, pool, claim, gang, last");
}

Result<std::string> Ask(const ExplainFlags& flags, const std::string& path, bool from_kubectl) {
  const auto instance = TRY(Instance::Open(flags.instance, from_kubectl));
  return instance->Get(path);
}

}  // namespace

int RunExplain(const std::vector<std::string>& args, Plugins&) {
  ExplainFlags flags;
  FlagSet set;
  Declare(set, flags);
  std::vector<std::string> rest = args;
  const bool from_kubectl = TakeFromKubectl(rest);
  Status parsed = set.Parse(rest);
  if (parsed.ok() && set.help_wanted()) {
    std::printf("%s\n%s", kExplainUsage, set.AsHelp().c_str());
    return 0;
  }
  const auto path = parsed.ok() ? PathOf(flags.words) : Result<std::string>(parsed);
  if (!path.ok()) {
    std::fprintf(stderr, "coppice explain: %s\n`coppice explain --help` says how it is used\n",
                 path.status().message().c_str());
    return 2;
  }
  const auto body = Ask(flags, *path, from_kubectl);
  auto text = body;
  if (body.ok() && flags.output == "text")
    text = path->starts_with("explain") ? web::ExplainedAsText(*body) : web::DecisionsAsText(*body);
  if (!text.ok()) {
    std::fprintf(stderr, "coppice explain: %s\n", text.status().message().c_str());
    return 1;
  }
  std::fwrite(text->data(), 1, text->size(), stdout);
  return 0;
}

}  // namespace coppice::app
