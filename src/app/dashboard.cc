#include "app/dashboard.h"

#include <chrono>
#include <fstream>
#include <future>
#include <sstream>
#include <utility>

#include "app/health_page.h"
#include "base/strings.h"
#include "model/quantity.h"
#include "whatif/live.h"

namespace coppice::app {
namespace {

constexpr auto kWhatIfLimit = std::chrono::seconds(30);
constexpr size_t kShortestToken = 16;

// In microseconds, for a process has far fewer deltas than that: no other one, be it the same a
// moment later or another replica, numbers its own alike. A page's script counts so far.
uint64_t FirstSeq(const Clock& clock) {
  const auto since = clock.Now().time_since_epoch();
  return static_cast<uint64_t>(
      std::chrono::duration_cast<std::chrono::microseconds>(since).count());
}

Result<std::string> ReadToken(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  if (!file) return Unavailable("--web-token-file " + path + " cannot be read");
  std::string token(Trim(text.str()));
  if (token.size() < kShortestToken)
    return InvalidArgument("--web-token-file " + path + ": a token has at least " +
                           std::to_string(kShortestToken) + " characters");
  return token;
}

Result<model::Quantity> Amount(const std::string& text, const std::string& field) {
  auto quantity = model::Quantity::Parse(text);
  if (!quantity.ok()) return InvalidArgument(field + ": " + quantity.status().message());
  return *quantity;
}

Result<model::Pod> PodOf(const web::Question::Pods& asked, const whatif::LiveMoment& moment) {
  if (!asked.like.empty()) {
    const auto like = whatif::FindLike(moment, asked.like);
    if (!like) return NotFound("there is no pod, and no owner of pods, " + asked.like);
    model::Pod pod = *like;
    pod.spec.node_name.clear();
    pod.status = {};
    return pod;
  }
  model::Pod pod;
  pod.metadata.namespace_ = "default";
  model::Container container;
  container.name = "main";
  model::ResourceList& requests = container.resources.requests;
  if (!asked.cpu.empty()) requests["cpu"] = TRY(Amount(asked.cpu, "addPods.cpu"));
  if (!asked.memory.empty()) requests["memory"] = TRY(Amount(asked.memory, "addPods.memory"));
  for (const auto& [resource, amount] : asked.other)
    requests[resource] = TRY(Amount(amount, "addPods.other." + resource));
  pod.spec.containers.push_back(std::move(container));
  for (const auto& [key, value] : asked.node_selector) pod.spec.node_selector[key] = value;
  return pod;
}

// A question, and what it is asked about.
struct WhatIfAsked {
  whatif::LiveMoment moment;
  whatif::LiveChange change;
};

// On the decision thread: what is to be added is looked up there, for a provider that makes types to
// measure has to know of it.
Result<WhatIfAsked> TakeHold(const Dashboard::Sight& sight, const web::Question& question,
                             const cloud::ScalingOptions& defaults) {
  if (sight.world == nullptr)
    return Unavailable("no engine decides here now: ask again in a moment");
  if (sight.groups == nullptr && sight.claims == nullptr)
    return Unavailable("a what-if is about node groups and node pools, and here are neither");
  WhatIfAsked asked{.change = {.remove_nodes = question.remove_nodes,
                               .max_sizes = question.max_sizes,
                               .forbid_types = question.forbid_types}};
  for (const auto& [pool, limits] : question.limits) {
    for (const auto& [resource, amount] : limits)
      asked.change.limits[pool][resource] = TRY(Amount(amount, "limits." + pool + "." + resource));
  }
  asked.moment = whatif::TakeMoment(*sight.world, sight.groups, sight.now, defaults);
  if (question.add_pods) {
    asked.change.pod = TRY(PodOf(*question.add_pods, asked.moment));
    asked.change.pods = question.add_pods->count;
  }
  if (sight.claims != nullptr) {
    whatif::TakePools(*sight.claims, asked.change.pod ? &*asked.change.pod : nullptr, asked.moment);
  }
  return asked;
}

}  // namespace

Dashboard::Dashboard(Parts parts)
    : parts_(std::move(parts)), board_({.first_seq = FirstSeq(clock_)}) {}

Dashboard::~Dashboard() {
  if (server_) server_->Stop();
}

Result<std::unique_ptr<Dashboard>> Dashboard::Open(Parts parts) {
  if (parts.options.address.empty()) return std::unique_ptr<Dashboard>();
  std::unique_ptr<Dashboard> dashboard(new Dashboard(std::move(parts)));
  TRY(dashboard->Serve());
  return dashboard;
}

Status Dashboard::Serve() {
  const DashboardOptions& options = parts_.options;
  const auto at = TRY(net::ParseHostPort(options.address).Context("--web-address"));
  web::GuardOptions guard{.loopback = web::IsLoopbackName(at.host),
                          .tls = !options.tls_cert_file.empty(),
                          .hosts = options.hosts};
  if (!options.token_file.empty()) guard.token = TRY(ReadToken(options.token_file));
  if (!guard.loopback && guard.token.empty() && options.client_ca_file.empty()) {
    return InvalidArgument("--web-address=" + options.address +
                           " can be reached from elsewhere: give --web-token-file, or "
                           "--web-client-ca-file for mutual TLS");
  }
  guard_ = std::make_unique<web::Guard>(std::move(guard), clock_);
  desk_ = std::make_unique<web::Desk>(
      [this](const web::Question& question, const std::function<bool()>& stop) {
        return WorkOut(question, stop);
      },
      kWhatIfLimit);
  site_ = std::make_unique<web::Site>(
      web::Site::Parts{.board = board_,
                       .guard = *guard_,
                       .desk = desk_.get(),
                       .health = [this](report::JsonOut& out) { WriteHealth(out); },
                       .stands_by = parts_.stands_by,
                       .control_state = parts_.control_state,
                       .control = parts_.control});
  net::HttpServerOptions server = web::SiteServerOptions(at, parts_.log);
  server.tls_cert_file = options.tls_cert_file;
  server.tls_key_file = options.tls_key_file;
  server.tls_client_ca_file = options.client_ca_file;
  const auto answer = [this](const net::ServerRequest& request) { return site_->Answer(request); };
  auto opened = net::HttpServer::Create(server, answer);
  if (!opened.ok() && !options.address_is_given) {
    server.port = 0;
    opened = net::HttpServer::Create(server, answer);
  }
  if (!opened.ok()) return opened.status().Context("--web-address");
  server_ = *std::move(opened);
  return Status::Ok();
}

std::string Dashboard::url() const {
  const auto at = net::ParseHostPort(parts_.options.address);
  const std::string host = at.ok() && !at->host.empty() ? at->host : "localhost";
  return (parts_.options.tls_cert_file.empty() ? "http://" : "https://") +
         net::ToString(net::HostPort{host, server_->port()}) + "/";
}

void Dashboard::PassEnded(std::shared_ptr<const report::PassReport> report, Duration took) {
  board_.Post(web::PassInfo{std::move(report), took});
}

void Dashboard::LookIfDue(const cluster::World& world, cloud::NodeGroups* groups, TimePoint now) {
  if (looker_.IsDue(clock_.Now(), now, board_.watched()))
    board_.Post(looker_.Look(world, groups, now));
}

// On a thread of the server's.
void Dashboard::WriteHealth(report::JsonOut& out) const {
  WriteProcess(out);
  WritePlugins(out, parts_.plugins);
  std::vector<CertificateShown> certificates;
  AddCertificateFile(parts_.options.tls_cert_file, "the dashboard's", certificates);
  AddCertificateFile(parts_.options.client_ca_file, "who may see the dashboard", certificates);
  if (parts_.metrics != nullptr) {
    const std::string metrics = parts_.metrics->Render();
    WriteErrors(out, metrics);
    AddCertificates(metrics, certificates);
  }
  WriteCertificates(out, "certificates", certificates);
  if (parts_.health) parts_.health(out);
}

Result<std::string> Dashboard::WorkOut(const web::Question& question,
                                       const std::function<bool()>& stop) {
  if (parts_.stands_by) {
    if (std::string why = parts_.stands_by(); !why.empty()) return Unavailable(std::move(why));
  }
  const auto asked = std::make_shared<std::promise<Result<WhatIfAsked>>>();
  std::future<Result<WhatIfAsked>> comes = asked->get_future();
  const cloud::ScalingOptions defaults = parts_.flags.options.group_defaults;
  parts_.decide([asked, question, defaults](const Sight& sight) {
    asked->set_value(TakeHold(sight, question, defaults));
  });
  while (comes.wait_for(std::chrono::milliseconds(20)) != std::future_status::ready)
    if (stop()) return Unavailable("the decision thread had no moment to spare");
  const WhatIfAsked taken = TRY(comes.get());
  whatif::LiveEngines engines{
      .flags = parts_.flags, .plugins = parts_.plugins, .batch = &parts_.plugins.batch};
  if (parts_.node_pools) engines.pools = *parts_.node_pools;
  return whatif::AsJson(TRY(whatif::AskLive(taken.moment, taken.change, engines, stop)));
}

}  // namespace coppice::app
