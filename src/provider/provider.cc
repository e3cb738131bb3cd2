#include "provider/provider.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <optional>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "base/pool.h"
#include "cloud/cloud_node_groups.h"
#include "grpc/expiry_watch.h"
#include "grpc/interceptors.h"
#include "grpc/server.h"
#include "net/http_server.h"
#include "net/status_server.h"
#include "provider/config_watch.h"
#include "provider/open_cloud.h"
#include "rpc/cloud_server.h"
#include "rpc/node_group_server.h"

namespace coppice::provider {
namespace {

constexpr char kDefaultMetricsAddr[] = ":9090";
constexpr size_t kParallelCloudCalls = 10;
// An autoscaler does nothing else while it waits for an order. What the cloud refuses it refuses
// within this time, mostly, and then the answer says so.
constexpr Duration kAnswerIncreaseAfter = std::chrono::seconds(1);
// Calls that wait for the cloud. An autoscaler deletes nodes in as many calls at once as it has to
// delete.
constexpr size_t kWaitingCalls = 32;
constexpr size_t kQueuedCalls = 1'000;
constexpr size_t kQueuedOrders = 100'000;

std::string Seconds(Duration duration) {
  return std::to_string(duration / std::chrono::seconds(1)) + " s";
}

}  // namespace

struct Provider::State {
  State(ProviderOptions o, const ProviderContext& c) : options(std::move(o)), context(c) {}

  ProviderOptions options;
  ProviderContext context;
  ProviderConfig config;
  std::unique_ptr<ConfigWatch> watch;
  std::shared_ptr<grpc::CertificateStore> certificates;
  std::optional<grpc::ExpiryWatch> expiry;

  // In the order in which they need each other; destroyed in the other.
  std::unique_ptr<cloud::Cloud> cloud;
  std::unique_ptr<Pool> cloud_workers;
  std::unique_ptr<cloud::CloudNodeGroups> groups;
  std::unique_ptr<Pool> call_workers;
  std::unique_ptr<grpc::Server> server;
  std::unique_ptr<net::HttpServer> http;

  std::atomic<bool> stopping = false;
  std::atomic<bool> refreshing = false;
  std::atomic<bool> serving = false;
  TimePoint next_refresh;
  mutable Mutex mutex;
  std::string refresh_error
      COPPICE_GUARDED_BY(mutex);  // of the last refresh that we made ourselves

  Status Open();
  Status Check(const std::vector<cloud::GroupConfig>& groups_to_check) const;
  Status OpenGrpc();
  Status OpenHttp();
  Status Ready() const;
  void Refresh();
  void RefreshIfNobodyElseDoes();
  void PublishHealth();
  Status Apply(const ProviderConfig& next);
};

Status Provider::State::Check(const std::vector<cloud::GroupConfig>& groups_to_check) const {
  return CheckAgainstCloud(*cloud, groups_to_check, options.config_path, options.refresh_timeout,
                           context.clock, context.log);
}

Status Provider::State::Open() {
  watch = std::make_unique<ConfigWatch>(
      options.config_path,
      ConfigRules{context.clouds, [](const char* name) { return std::getenv(name); },
                  options.serve == Serve::kCloud ? Groups::kOptional : Groups::kRequired},
      context.log);
  config = TRY(watch->LoadFirst());
  if (config.tls) {
    certificates = TRY(grpc::CertificateStore::Open({.cert_file = config.tls->cert_file,
                                                     .key_file = config.tls->key_file,
                                                     .ca_file = config.tls->ca_file},
                                                    context.log));
  }
  TRY(grpc::CheckListen(
      {.listen = config.listen, .certificates = certificates, .insecure = options.insecure}));
  cloud = TRY(OpenCloud(config, {.clouds = context.clouds,
                                 .clock = context.clock,
                                 .rng = context.rng,
                                 .log = context.log,
                                 .metrics = context.metrics}));
  TRY(Check(config.groups));
  cloud_workers = std::make_unique<Pool>(kParallelCloudCalls, kQueuedOrders);
  groups = TRY(cloud::CloudNodeGroups::Create(
      {.cloud = *cloud,
       .workers = *cloud_workers,
       .clock = context.clock,
       .rng = context.rng,
       .log = context.log,
       .metrics = context.metrics},
      {.cluster = config.cluster_tag,
       .max_parallel = kParallelCloudCalls,
       .answer_increase_after = config.answer_increase_after.value_or(kAnswerIncreaseAfter)},
      config.groups));
  call_workers = std::make_unique<Pool>(kWaitingCalls, kQueuedCalls);
  TRY(OpenGrpc());
  TRY(OpenHttp());
  Refresh();  // before the first call: an autoscaler asks for nodes before it refreshes
  PublishHealth();
  return Status::Ok();
}

Status Provider::State::OpenGrpc() {
  const std::string metric_prefix = cloud->MetricPrefix() + "_";
  if (certificates != nullptr)
    expiry.emplace(certificates, context.clock, context.log, context.metrics, metric_prefix);
  std::vector<grpc::Service> services;
  services.push_back(grpc::Intercept(options.serve == Serve::kCloud
                                         ? rpc::CloudService(*cloud, context.log)
                                         : rpc::NodeGroupService(*groups),
                                     {.clock = context.clock,
                                      .log = context.log,
                                      .metrics = context.metrics,
                                      .metric_prefix = metric_prefix}));
  grpc::ServerOptions server_options{.listen = config.listen,
                                     .certificates = certificates,
                                     .insecure = options.insecure,
                                     .max_connection_age = options.max_connection_age,
                                     .metrics = &context.metrics,
                                     .metric_prefix = metric_prefix};
  if (config.tls) server_options.allowed_clients = config.tls->allowed_client_names;
  server = TRY(grpc::Server::Start(std::move(server_options), std::move(services), *call_workers,
                                   context.clock, context.log));
  return Status::Ok();
}

Status Provider::State::OpenHttp() {
  const std::string address = options.metrics_addr
                                  ? *options.metrics_addr
                                  : config.metrics_listen.value_or(kDefaultMetricsAddr);
  http = TRY(net::ServeStatus(address, context.metrics, context.log, [this] { return Ready(); }));
  return Status::Ok();
}

Status Provider::State::Ready() const {
  if (stopping) return Unavailable("the provider is stopping");
  const auto picture = groups->picture();
  const auto why = [this]() -> std::string {
    const MutexLock lock(mutex);
    return refresh_error.empty() ? "" : ": " + refresh_error;
  };
  if (!picture->refreshed) return Unavailable("the cloud has not been listed yet" + why());
  const Duration age = context.clock.Now() - picture->refreshed_at;
  if (age > options.fresh_for)
    return Unavailable("the cloud was last listed " + Seconds(age) + " ago" + why());
  return Status::Ok();
}

void Provider::State::Refresh() {
  const Status status = groups->Refresh(Deadline::In(context.clock, options.refresh_timeout));
  const MutexLock lock(mutex);
  if (!status.ok() && status.message() != refresh_error) {
    context.log.Error("the cloud could not be listed", {{"error", status}});
  }
  refresh_error = status.ok() ? "" : status.message();
}

void Provider::State::RefreshIfNobodyElseDoes() {
  const TimePoint now = context.clock.Now();
  const auto picture = groups->picture();
  const bool stale = !picture->refreshed || now - picture->refreshed_at >= options.refresh_every;
  if (!stale || now < next_refresh || refreshing.exchange(true)) return;
  next_refresh = now + std::chrono::seconds(5);  // after a failure; a success makes it not stale
  const Status queued = call_workers->Submit([this] {
    Refresh();
    refreshing = false;
  });
  if (!queued.ok()) refreshing = false;
}

void Provider::State::PublishHealth() {
  const Status ready = Ready();
  if (ready.ok() == serving.exchange(ready.ok())) return;
  if (ready.ok()) {
    context.log.Info("ready to serve");
  } else {
    context.log.Warning("not ready to serve", {{"reason", ready.message()}});
  }
  server->SetServing(ready.ok());
}

// Groups change at once. The rest is tied to sockets and to the cloud's object, and needs a
// restart.
Status Provider::State::Apply(const ProviderConfig& next) {
  std::vector<cloud::GroupConfig> changed;
  std::ranges::copy_if(next.groups, std::back_inserter(changed), [&](const auto& group) {
    return std::ranges::find(config.groups, group) == config.groups.end();
  });
  TRY(Check(changed));
  TRY(groups->Reconfigure(next.groups));
  if (next.listen != config.listen || next.tls != config.tls ||
      next.cluster_tag != config.cluster_tag || next.cloud_kind != config.cloud_kind ||
      next.metrics_listen != config.metrics_listen || !SameYaml(next.cloud, config.cloud) ||
      next.answer_increase_after != config.answer_increase_after) {
    context.log.Warning(
        "listen, tls, clusterTag, metricsListen, answerIncreaseAfter and cloud take effect after a "
        "restart only");
  }
  config.groups = next.groups;
  context.log.Info("configuration taken into use",
                   {{"groups", next.groups.size()}, {"changed_groups", changed.size()}});
  return Status::Ok();
}

Provider::Provider(std::unique_ptr<State> state) : state_(std::move(state)) {}
Provider::~Provider() { (void)Stop(); }

Result<std::unique_ptr<Provider>> Provider::Start(ProviderOptions options,
                                                  const ProviderContext& context) {
  auto state = std::make_unique<State>(std::move(options), context);
  TRY(state->Open());
  return std::unique_ptr<Provider>(new Provider(std::move(state)));
}

void Provider::Tick() {
  if (state_->expiry) state_->expiry->Look();  // says so if they are broken, too
  if (auto next = state_->watch->LoadIfChanged()) {
    const Status applied = state_->Apply(*next);
    if (!applied.ok()) {
      state_->context.log.Error(
          "the new configuration is refused, the old one stays in use",
          {{"file", state_->options.config_path}, {"error", applied.message()}});
    }
  }
  state_->RefreshIfNobodyElseDoes();
  state_->PublishHealth();
}

void Provider::Reload() {
  state_->context.log.Info("SIGHUP: configuration and certificates are read again");
  state_->watch->Forget();
  Tick();
}

Status Provider::Stop() {
  if (state_->stopping.exchange(true)) return Status::Ok();
  state_->context.log.Info("stopping");
  state_->server->Stop(state_->options.stop_calls);
  const Status drained =
      state_->groups->Drain(Deadline::In(state_->context.clock, state_->options.stop_orders));
  if (!drained.ok()) {
    state_->context.log.Warning("orders under way are handed over to the next start",
                                {{"orders", drained.message()}});
  }
  if (state_->http != nullptr) state_->http->Stop();
  state_->context.log.Info("stopped");
  return drained;
}

int Provider::port() const { return state_->server->port(); }
uint16_t Provider::http_port() const { return state_->http != nullptr ? state_->http->port() : 0; }
Status Provider::Ready() const { return state_->Ready(); }

}  // namespace coppice::provider
