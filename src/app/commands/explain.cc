// coppice explain: why a pod waits, a node stays, a group refuses, and what was decided last, asked of a running instance. Under the
// name kubectl-coppice the program is this command as a plug-in of kubectl: `kubectl coppice explain pod …`.

#include <cstdio>
#include <fstream>
#include <sstream>

#include "app/commands/commands.h"
#include "base/flag_set.h"
#include "base/strings.h"
#include "kube/port_forward.h"
#include "net/http_client.h"
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

As a plug-in of kubectl (the program under the name kubectl-coppice): kubectl coppice explain pod …
)";

struct ExplainFlags {
  std::string server;
  std::string token_file;
  std::string ca_file;
  std::string cert_file;
  std::string key_file;
  std::string namespace_;
  std::string target = "deployment/coppice";
  std::string kubeconfig;
  std::string context;
  std::string output = "text";
  std::vector<std::string> words;
};

void Declare(FlagSet& set, ExplainFlags& flags) {
  set.AddString("server", flags.server,
                "URL of the instance's dashboard; without it http://127.0.0.1:8086, or kubectl "
                "port-forward if -n, --target or "
                "--kubeconfig is given");
  set.AddString("token-file", flags.token_file, "bearer token of the instance");
  set.AddString("certificate-authority", flags.ca_file,
                "PEM file to trust instead of the system's");
  set.AddString("client-certificate", flags.cert_file, "PEM file, for mutual TLS");
  set.AddString("client-key", flags.key_file, "PEM file, for mutual TLS");
  set.AddString("namespace", flags.namespace_, "where the instance runs, for kubectl port-forward");
  set.Alias("n", "namespace");
  set.AddString("target", flags.target, "what kubectl port-forward is pointed at");
  set.AddString("kubeconfig", flags.kubeconfig, "for kubectl port-forward");
  set.AddString("context", flags.context, "for kubectl port-forward");
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
  for (const std::string_view kind : {"pod", "node", "group", "pool", "claim", "gang"})
    if (words[0] == kind) return "explain?" + words[0] + "=" + net::PercentEncode(words[1]);
  return InvalidArgument("'" + words[0] +
                         "' is not explained: there are pod, node, group, pool, claim, gang, last");
}

Result<std::string> ReadSecretFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  if (!file) return Unavailable("--token-file " + path + " cannot be read");
  return std::string(Trim(text.str()));
}

Result<std::string> Ask(const ExplainFlags& flags, const std::string& path, bool from_kubectl) {
  std::unique_ptr<kube::PortForward> forward;
  std::string server = flags.server.empty() ? "http://127.0.0.1:8086" : flags.server;
  const bool names_cluster = from_kubectl || !flags.namespace_.empty() ||
                             !flags.kubeconfig.empty() || !flags.context.empty();
  if (flags.server.empty() && names_cluster) {
    std::vector<std::string> command = {"kubectl"};
    if (!flags.kubeconfig.empty()) command.push_back("--kubeconfig=" + flags.kubeconfig);
    if (!flags.context.empty()) command.push_back("--context=" + flags.context);
    if (!flags.namespace_.empty()) command.push_back("--namespace=" + flags.namespace_);
    command.insert(command.end(), {"port-forward", flags.target, ":8086"});
    forward = TRY(kube::PortForward::Start(command));
    server = "http://127.0.0.1:" + std::to_string(forward->port());
  }
  while (server.ends_with('/')) server.pop_back();
  SystemClock clock;
  const auto client = TRY(net::MakeHttpClient(
      {.ca_file = flags.ca_file, .cert_file = flags.cert_file, .key_file = flags.key_file}, clock));
  net::HttpRequest request{.url = server + "/api/v1/" + path};
  if (!flags.token_file.empty())
    request.bearer_token = Secret(TRY(ReadSecretFile(flags.token_file)));
  const auto answer = client->Send(request, Deadline::In(clock, std::chrono::seconds(30)));
  if (!answer.ok())
    return answer.status().Context("asking " + server + " (--server says where it runs)");
  if (!answer->Success()) return NotFound(web::ErrorOf(answer->body));
  return answer->body;
}

}  // namespace

int RunExplain(const std::vector<std::string>& args, Plugins&) {
  ExplainFlags flags;
  FlagSet set;
  Declare(set, flags);
  std::vector<std::string> rest = args;
  // As kubectl calls it: `kubectl coppice explain …`, `kubectl coppice …`.
  const bool from_kubectl = !rest.empty() && rest.front() == "--from-kubectl";
  if (from_kubectl) rest.erase(rest.begin());
  if (from_kubectl && !rest.empty() && rest.front() == "explain") rest.erase(rest.begin());
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
