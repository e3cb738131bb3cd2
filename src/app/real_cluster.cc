#include "app/real_cluster.h"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <optional>
#include <utility>

#include "app/dashboard.h"
#include "app/real_health.h"
#include "app/version.h"
#include "grpc/expiry_watch.h"
#include "host/api_server.h"
#include "host/dry_run_writer.h"
#include "host/pages.h"
#include "host/sight.h"
#include "host/signal_thread.h"
#include "net/status_server.h"
#include "rehearse/recorder.h"
#include "whatif/cluster_dump.h"

namespace coppice::app {
namespace {

constexpr size_t kCloudThreads = 8;
constexpr Duration kLookAround = std::chrono::milliseconds(250);
constexpr Duration kLookAtCertificates = std::chrono::seconds(30);
constexpr Duration kLookOut = std::chrono::milliseconds(500);

// Upstream's: the host's name. Two of ours on one host (tests) need another.
std::string Identity() {
  if (std::string own = host::Environment("COPPICE_LEASE_IDENTITY"); !own.empty()) return own;
  char name[256] = {};
  gethostname(name, sizeof name - 1);
  return name;
}

// All that lives as long as the process. Destroyed from the end: first the executor with what is
// under way on it, then what that refers to.
class RealCluster {
 public:
  RealCluster(seats::RunSettings settings, Plugins& plugins, Clock& clock, const Log& log,
              host::StopLimits limits, DashboardOptions web)
      : settings_(seats::Together(std::move(settings))),
        web_(std::move(web)),
        limits_(limits),
        plugins_(plugins),
        clock_(clock),
        log_(log),
        rng_(SeedFromSystem()),
        workers_(kCloudThreads, 10'000),
        health_({flags_.max_inactivity, flags_.max_failing_time, flags_.max_startup_time}, clock),
        world_(seats::ViewOf(settings_)),
        executor_(std::make_unique<Executor>(clock)) {}

  Status Connect() {
    kube::ConnectionConfig config = TRY(host::Connection(connection_));
    net::MultiClientOptions transport;
    transport.user_agent = std::string("cluster-autoscaler coppice/") + kVersion;
    transport.proxy = config.proxy_url;
    transport_ = TRY(net::MultiClient::Create(std::move(transport)));
    log_.Info("coppice runs on a cluster", {{"version", kVersion},
                                            {"server", config.server},
                                            {"cloud_provider", flags_.cloud_provider},
                                            {"dry_run", flags_.dry_run}});
    for (const std::string& note : flags_.notes) log_.Warning(note);
    if (settings_.node_pools) TellVersion();
    server_ = std::make_unique<host::ApiServer>(
        ServerOptions(),
        host::ApiServer::Parts{.config = std::move(config),
                               .transport = *transport_,
                               .world = world_,
                               .executor = *executor_,
                               .workers = workers_,
                               .rng = rng_,
                               .log = log_,
                               .metrics = metrics_,
                               .closed = [this] { return life_->writes_closed(); }});
    sight_.emplace(host::SightOf(feed()), metrics_);
    dry_writer_ = std::make_unique<host::DryRunWriter>(server_->writer(), log_);
    turns_ = std::make_unique<host::Turns>(*executor_, world_, health_);
    TakeSeats();
    if (flags_.options.deviations.fuses)
      health_.stale_kinds = [this] { return feed().StaleKinds(MaxViewAge()); };
    TellTurnsOfNews();
    MakeLife();
    return Serve();
  }

  int Run(const host::StopSignals& signals) {
    executor_->Spawn(life_->Main());
    {
      const host::SignalThread listener(signals, [this](host::Signal came) {
        if (came == host::Signal::kStop) executor_->Post([this] { life_->StopSoon(); });
        if (came == host::Signal::kReload) executor_->Post([this] { Reload(); });
      });
      executor_->Run();
    }
    dashboard_.reset();
    http_->Stop();
    EndCalls();
    return life_->exit_code();
  }

 private:
  // By Karpenter's name, for dashboards that count replicas by it; what it says of Go is empty.
  void TellVersion() {
    metrics_
        .GetGauge("karpenter_build_info", "Constant 1; the version is a label.",
                  {{"version", kVersion}, {"goversion", ""}, {"goarch", ""}, {"commit", ""}})
        .Set(1);
  }

  bool Elects() const { return flags_.leader_elect && !flags_.dry_run; }
  Duration MaxViewAge() const { return flags_.options.deviations.fuse_max_view_age; }
  kube::ClusterFeed& feed() { return server_->feed(); }

  host::ApiServer::Options ServerOptions() const {
    host::ApiServer::Options options{.qps = flags_.kube_client_qps,
                                     .burst = flags_.kube_client_burst,
                                     .duplicated_events = flags_.options.record_duplicated_events};
    options.feed.config_map_namespace = flags_.options.namespace_;
    options.feed.config_map_name = "cluster-autoscaler-priority-expander";
    options.feed.telling_annotations = seats::TellingAnnotations(settings_);
    if (Elects()) {
      options.lease = kube::LeaseOptions{.namespace_ = flags_.options.namespace_,
                                         .name = flags_.leader_elect_resource_name,
                                         .identity = Identity(),
                                         .lease_duration = flags_.leader_elect_lease_duration,
                                         .renew_deadline = flags_.leader_elect_renew_deadline,
                                         .retry_period = flags_.leader_elect_retry_period};
    }
    return options;
  }

  void TakeSeats() {
    seats_ = seats::MakeSeats(
        settings_,
        {.flags = flags_,
         .plugins = plugins_,
         .world = world_,
         .clock = clock_,
         .log = log_,
         .metrics = metrics_,
         .metric_sources = metric_sources_,
         .executor = *executor_,
         .workers = workers_,
         .rng = rng_,
         .provider_rng = rng_cloud_,
         .changes = changes_,
         .server = *server_,
         .writer = flags_.dry_run ? static_cast<cluster::Writer&>(*dry_writer_) : server_->writer(),
         .look_again = [this] { turns_->LookAgain(); },
         .pass_ended =
             [this](auto report, Duration took) {
               if (dashboard_) dashboard_->PassEnded(std::move(report), took);
             },
         .pools_passed =
             [this](auto report) {
               if (dashboard_) dashboard_->PoolsPassed(std::move(report));
             },
         .session_ended =
             [this](auto report) {
               if (dashboard_) dashboard_->SessionEnded(std::move(report));
             }});
    kinds_.emplace(feed(), world_, [this] { turns_->Tell({host::Event::Kind::kObjectsChanged}); });
    for (const auto& seat : seats_) {
      turns_->Add(seat->engine());
      seat->AddKinds(*kinds_);
    }
  }

  void TellTurnsOfNews() {
    using Kind = host::Event::Kind;
    feed().on_pending = [this](const model::Pod& pod) { turns_->Tell({Kind::kPodWaits, &pod}); };
    feed().on_nodes = [this] { turns_->Tell({Kind::kNodesChanged}); };
    feed().on_pod_gone = [this] { turns_->Tell({Kind::kPodGone}); };
  }

  void MakeLife() {
    if (server_->lease() != nullptr) lease_.emplace(*server_->lease());
    life_ = std::make_unique<host::Life>(
        host::Life::Parts{.executor = *executor_,
                          .log = log_,
                          .turns = *turns_,
                          .health = health_,
                          .changes = changes_,
                          .lease = lease_ ? &*lease_ : nullptr,
                          .dry_run = flags_.dry_run,
                          .limits = limits_,
                          .max_startup = flags_.max_startup_time},
        host::Life::Steps{.read =
                              [this] {
                                feed().Start();
                                executor_->Spawn(LookOut());
                                if (!flags_.dry_run) executor_->Spawn(server_->events().Run());
                              },
                          .until_read = [this](Deadline by) { return feed().WaitUntilSynced(by); },
                          .leads =
                              [this] {
                                for (const auto& seat : seats_) seat->Leads();
                              },
                          .assemble = [this] { return Assemble(); },
                          .leave = [this](Deadline flushed) { return Leave(flushed); },
                          .writes_under_way = [this] { return server_->writer().under_way(); }});
  }

  Status Serve() {
    pages_.emplace(
        host::Pages::Parts{.health = health_,
                           .metrics = metrics_,
                           .metric_sources = metric_sources_,
                           .not_ready = [this] { return server_->NotReady(MaxViewAge()); },
                           .before_metrics = [this] { sight_->BeforeMetrics(); }});
    pages_->Add("/explain", [this](const net::ServerRequest& request) {
      return host::PlainText(seats::ExplainAll(seats_, request, sight_->Explain(request)));
    });
    for (const auto& seat : seats_) seat->AddPages(*pages_);
    if (flags_.debugging_snapshot_enabled) {
      pages_->Add("/snapshotz", [this](const net::ServerRequest&) { return dumps_.Answer(); });
    }
    const auto address = TRY(net::ParseHostPort(flags_.address).Context("--address"));
    http_ = TRY(net::HttpServer::Create(
        net::StatusServerOptions(address, log_),
        [this](const net::ServerRequest& request) { return pages_->Answer(request); }));
    log_.Info("pages are served", {{"host", address.host}, {"port", http_->port()}});
    return OpenDashboard();
  }

  Status OpenDashboard() {
    shown_.emplace(RealHealth::Parts{.health = health_,
                                     .server = *server_,
                                     .clock = clock_,
                                     .identity = Identity(),
                                     .max_view_age = MaxViewAge(),
                                     .dry_run = flags_.dry_run});
    dashboard_ = TRY(Dashboard::Open(
        {.options = web_,
         .flags = flags_,
         .plugins = plugins_,
         .log = log_,
         .node_pools = settings_.node_pools,
         .metrics = &metrics_,
         .decide =
             [this](Dashboard::WithWorld errand) {
               executor_->Post([this, errand = std::move(errand)] {
                 errand({CanLook() ? &world_ : nullptr, Groups(), Claims(), clock_.Now()});
               });
             },
         .health = [this](report::JsonOut& out) { shown_->Write(out); },
         .stands_by = [this] { return shown_->StandsBy(); },
         .control_state = [this] { return shown_->ControlState(); }}));
    if (!dashboard_) return Status::Ok();
    log_.Info("dashboard", {{"url", dashboard_->url()}});
    executor_->Spawn(ShowOff());
    return Status::Ok();
  }

  // Also while another replica leads.
  Task<void> LookOut() {
    for (;;) {
      sight_->Look();
      LookAtCertificates();
      co_await executor_->Sleep(kLookOut);
    }
  }

  // Those that we show: to the API server, and to who looks at the dashboard.
  void LookAtCertificates() {
    const TimePoint now = clock_.Now();
    if (now < certificates_at_) return;
    certificates_at_ = now + kLookAtCertificates;
    if (const std::string pem = server_->credentials().client_certificate(); !pem.empty())
      api_certificate_.LookAt("kubeconfig", pem);
    if (!web_.tls_cert_file.empty()) dashboard_certificate_.LookAtFile(web_.tls_cert_file);
  }

  // Beside the passes: pods and nodes change between them, too.
  Task<void> ShowOff() {
    for (;;) {
      co_await executor_->Sleep(kLookAround);
      shown_->Look();
      if (dashboard_ && CanLook()) dashboard_->LookIfDue(world_, Groups(), clock_.Now());
    }
  }

  // The engines are there, and none of them is in the middle of a plan.
  bool CanLook() const { return assembled_ && world_.snapshot().forks() == 0; }

  // Those of the seat that has some; null before they are open.
  cloud::NodeGroups* Groups() const {
    for (const auto& seat : seats_) {
      if (cloud::NodeGroups* const groups = seat->groups(); groups != nullptr) return groups;
    }
    return nullptr;
  }

  const cloud::NodeClaims* Claims() const {
    for (const auto& seat : seats_) {
      if (const cloud::NodeClaims* const claims = seat->claims(); claims != nullptr) return claims;
    }
    return nullptr;
  }

  Task<Status> Assemble() {
    log_.Info("the view of the cluster is complete",
              {{"nodes", world_.node_count()}, {"pods", world_.pod_count()}});
    for (const auto& seat : seats_) {
      const Status open = co_await seat->Open();
      if (!open.ok()) co_return open;
    }
    assembled_ = true;
    // Where nobody decides, whoever looks is all that can be asked whether it is alive.
    executor_->Spawn(rehearse::Record(settings_.record,
                                      {.world = world_, .groups = Groups(), .claims = Claims()},
                                      *executor_, workers_, log_, [this] {
                                        if (seats_.empty()) health_.Succeeded();
                                      }));
    co_return Status::Ok();
  }

  // SIGHUP. What names the groups and machines is looked at by each refresh, certificates of gRPC
  // ends with each handshake: for them there is nothing to do here.
  void Reload() {
    log_.Info(
        "SIGHUP: the kubeconfig and its files are read again; a changed --cloud-config is taken by "
        "the next refresh, certificates by the next connection; flags need a restart");
    host::ReloadConnection(connection_, server_->url(), server_->credentials(), log_);
  }

  Task<void> Leave(Deadline flushed) {
    co_await server_->events().Flush(flushed);
    for (const auto& seat : seats_) co_await seat->Leave(flushed);
  }

  // Calls on the workers use the provider, the lease and the engine, all of which go now. One that
  // does not end in time keeps them: then the process ends without taking them down.
  void EndCalls() {
    const size_t left = workers_.Stop(clock_, life_->CallsEndBy());
    if (left == 0) return;
    log_.Warning("calls that do not end are left behind", {{"calls", left}});
    std::_Exit(life_->exit_code());
  }

  const seats::RunSettings settings_;
  const autoscale::FlagValues& flags_ = settings_.flags;
  const DashboardOptions web_;
  const host::ConnectionFlags connection_{flags_.kubeconfig, flags_.kubernetes};
  const host::StopLimits limits_;
  Plugins& plugins_;
  Clock& clock_;
  const Log& log_;
  SeededRng rng_;
  SeededRng rng_cloud_{SeedFromSystem()};  // the provider draws on its own threads
  Metrics metrics_;
  MetricSources metric_sources_;
  grpc::CertificateExpiry api_certificate_{clock_, log_, metrics_, "coppice_api_"};
  grpc::CertificateExpiry dashboard_certificate_{clock_, log_, metrics_, "coppice_dashboard_"};
  TimePoint certificates_at_;
  ChangesUnderWay changes_;
  Pool workers_;
  host::HealthCheck health_;
  cluster::World world_;
  whatif::ClusterDumps dumps_{
      world_, [this](std::function<void()> work) { executor_->Post(std::move(work)); }};
  std::unique_ptr<host::ApiServer> server_;
  std::optional<host::Sight> sight_;
  std::unique_ptr<host::DryRunWriter> dry_writer_;
  std::vector<std::unique_ptr<seats::EngineSeat>> seats_;
  std::optional<seats::EngineKinds> kinds_;
  std::unique_ptr<host::Turns> turns_;
  std::optional<host::KubeLease> lease_;
  std::unique_ptr<host::Life> life_;
  std::optional<host::Pages> pages_;
  std::unique_ptr<net::HttpServer> http_;
  std::unique_ptr<Executor> executor_;
  std::optional<RealHealth> shown_;
  std::unique_ptr<Dashboard> dashboard_;
  bool assembled_ = false;
  std::unique_ptr<net::MultiClient> transport_;  // its thread ends first of all
};

}  // namespace

int RunOnRealCluster(const seats::RunSettings& settings, Plugins& plugins, host::StopLimits limits,
                     const DashboardOptions& web) {
  const host::StopSignals signals({SIGTERM, SIGINT, SIGQUIT});
  SystemClock clock;
  const Log log = LogToStderr(settings.flags.log, clock);
  RealCluster cluster(settings, plugins, clock, log, limits, web);
  if (const Status connected = cluster.Connect(); !connected.ok()) {
    log.Error("the autoscaler cannot start", {{"error", connected}});
    return 1;
  }
  return cluster.Run(signals);
}

}  // namespace coppice::app
