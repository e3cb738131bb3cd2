#include "app/instance.h"

#include <algorithm>
#include <fstream>
#include <sstream>

#include "base/strings.h"
#include "web/terminal.h"

namespace coppice::app {
namespace {

constexpr Duration kAnswerWithin = std::chrono::seconds(30);

Result<std::string> ReadSecretFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  if (!file) return Unavailable("--token-file " + path + " cannot be read");
  return std::string(Trim(text.str()));
}

Result<std::unique_ptr<kube::PortForward>> Forward(const InstanceFlags& flags,
                                                   const std::string& target) {
  std::vector<std::string> command = {"kubectl"};
  if (!flags.kubeconfig.empty()) command.push_back("--kubeconfig=" + flags.kubeconfig);
  if (!flags.context.empty()) command.push_back("--context=" + flags.context);
  if (!flags.namespace_.empty()) command.push_back("--namespace=" + flags.namespace_);
  command.insert(command.end(), {"port-forward", target, ":8086"});
  return kube::PortForward::Start(command);
}

// As Kubernetes has it, so that kubectl is given nothing else that a server says.
bool IsNameOfPod(std::string_view name) {
  const auto may = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '.';
  };
  return !name.empty() && name.size() <= 253 && name.front() != '-' &&
         std::ranges::all_of(name, may);
}

}  // namespace

void AddInstanceFlags(FlagSet& set, InstanceFlags& flags) {
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
}

bool TakeFromKubectl(std::vector<std::string>& args) {
  if (args.empty() || args.front() != "--from-kubectl") return false;
  args.erase(args.begin());
  return true;
}

Result<std::unique_ptr<Instance>> Instance::Open(const InstanceFlags& flags, bool from_kubectl) {
  std::unique_ptr<Instance> instance(new Instance);
  instance->url_ = flags.server.empty() ? "http://127.0.0.1:8086" : flags.server;
  const bool names_cluster = from_kubectl || !flags.namespace_.empty() ||
                             !flags.kubeconfig.empty() || !flags.context.empty();
  const bool forwards = flags.server.empty() && names_cluster;
  if (forwards) TRY(instance->ForwardTo(flags, flags.target));
  while (instance->url_.ends_with('/')) instance->url_.pop_back();
  instance->client_ = TRY(net::MakeHttpClient(
      {.ca_file = flags.ca_file, .cert_file = flags.cert_file, .key_file = flags.key_file},
      instance->clock_));
  if (!flags.token_file.empty()) instance->token_ = Secret(TRY(ReadSecretFile(flags.token_file)));
  const std::string leader = TRY(instance->OtherLeader());
  if (leader.empty()) return instance;
  if (!forwards) return Unavailable(instance->url_ + " stands by: " + leader + " leads; ask there");
  if (!IsNameOfPod(leader))
    return Unavailable(flags.target + " stands by: " + leader +
                       " leads, which is no pod; --target says where it runs");
  TRY(instance->ForwardTo(flags, "pod/" + leader)
          .Context(flags.target + " stands by: " + leader + " leads, but"));
  const std::string next = TRY(instance->OtherLeader());
  if (next.empty()) return instance;
  return Unavailable("the lead changes hands: " + leader + " stands by, too; ask again");
}

Status Instance::ForwardTo(const InstanceFlags& flags, const std::string& target) {
  forward_.reset();
  forward_ = TRY(Forward(flags, target));
  url_ = "http://127.0.0.1:" + std::to_string(forward_->port());
  return Status::Ok();
}

Result<std::string> Instance::OtherLeader() {
  const auto health = Get("health");
  // Whoever refuses this refuses the question itself, and says why.
  if (health.status().code() == Code::kNotFound) return std::string();
  if (!health.ok()) return health.status();
  return web::OtherLeaderOf(*health);
}

Result<std::string> Instance::Get(const std::string& path) {
  net::HttpRequest request{.url = url_ + "/api/v1/" + path};
  request.bearer_token = token_;
  const auto answer = client_->Send(request, Deadline::In(clock_, kAnswerWithin));
  if (!answer.ok())
    return answer.status().Context("asking " + url_ + " (--server says where it runs)");
  if (!answer->Success()) return NotFound(web::ErrorOf(answer->body));
  return answer->body;
}

}  // namespace coppice::app
