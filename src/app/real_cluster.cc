#include "app/real_cluster.h"

#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <optional>
#include <thread>
#include <utility>

#include "app/assembly.h"
#include "app/autoscaler_metrics.h"
#include "app/cluster_dump.h"
#include "app/connection.h"
#include "app/dry_run_writer.h"
#include "app/flag_log.h"
#include "app/guarded_groups.h"
#include "app/health_check.h"
#include "app/keep_forever.h"
#include "app/loop_trigger.h"
#include "app/process_metrics.h"
#include "app/reasons.h"
#include "app/restart_memory.h"
#include "app/status_map.h"
#include "app/status_server.h"
#include "app/status_writer.h"
#include "app/stop_signals.h"
#include "app/version.h"
#include "autoscale/view.h"
#include "base/on_worker.h"
#include "base/promise.h"
#include "base/strings.h"
#include "grpc/library_log.h"
#include "kube/feed.h"
#include "kube/kube_writer.h"
#include "kube/lease.h"
#include "net/http_server.h"

namespace coppice::app {
namespace {

// At the end of the process.
constexpr Duration kFlushFor = std::chrono::seconds(2);   // events and the status map
constexpr Duration kWritesEnd = std::chrono::seconds(5);  // writes to the API server under way
constexpr Duration kLate = std::chrono::seconds(1);       // a call that ends after its deadline
constexpr Duration kStopPoll = std::chrono::milliseconds(20);
constexpr size_t kCloudThreads = 8;

// Upstream's: the host's name. Two of ours on one host (tests) need another.
std::string Identity() {
  if (std::string own = Environment("COPPICE_LEASE_IDENTITY"); !own.empty()) return own;
  char name[256] = {};
  gethostname(name, sizeof name - 1);
  return name;
}

// All that lives as long as the process. Destroyed from the end: first the executor with what is
// under way on it, then what that refers to.
class RealCluster {
 public:
  RealCluster(autoscale::FlagValues flags, Plugins& plugins, Clock& clock, const Log& log,
              StopLimits limits)
      : flags_(std::move(flags)),
        limits_(limits),
        plugins_(plugins),
        clock_(clock),
        log_(log),
        rng_(SeedFromSystem()),
        workers_(kCloudThreads, 10'000),
        numbers_(metrics_, flags_),
        health_({flags_.max_inactivity, flags_.max_failing_time, flags_.max_startup_time}, clock),
        reasons_(log),
        trigger_(flags_),
        world_(autoscale::ViewOf(flags_.options)),
        dumps_(world_, [this](std::function<void()> work) { executor_->Post(std::move(work)); }),
        executor_(std::make_unique<Executor>(clock)) {}

  Status Connect() {
    kube::ConnectionConfig config = TRY(Connection(flags_));
    server_url_ = config.server;
    net::MultiClientOptions transport;
    transport.user_agent = std::string("cluster-autoscaler coppice/") + kVersion;
    transport.proxy = config.proxy_url;
    transport_ = TRY(net::MultiClient::Create(std::move(transport)));
    log_.Info("coppice runs on a cluster", {{"version", kVersion},
                                            {"server", config.server},
                                            {"cloud_provider", flags_.cloud_provider},
                                            {"dry_run", flags_.dry_run}});
    for (const std::string& note : flags_.notes) log_.Warning(note);
    kube::ClientOptions options;
    options.server = config.server;
    options.qps = flags_.kube_client_qps;
    options.burst = flags_.kube_client_burst;
    credentials_ = std::make_unique<kube::Credentials>(kube::Credentials::Parts{
        .config = std::move(config), .executor = *executor_, .workers = workers_});
    client_ = std::make_unique<kube::Client>(options, *transport_, *credentials_, *executor_, rng_);
    lease_ = std::make_unique<kube::LeaderLease>(
        kube::LeaseOptions{.namespace_ = flags_.options.namespace_,
                           .name = flags_.leader_elect_resource_name,
                           .identity = Identity(),
                           .lease_duration = flags_.leader_elect_lease_duration,
                           .renew_deadline = flags_.leader_elect_renew_deadline,
                           .retry_period = flags_.leader_elect_retry_period},
        *client_, log_);
    events_ = std::make_unique<kube::EventSender>(
        *client_, log_,
        kube::RateLimit(*executor_, flags_.kube_client_qps, flags_.kube_client_burst),
        flags_.options.record_duplicated_events);
    kube::Fence fence;
    if (Elects()) {
      fence.may_write = [this]() -> Status {
        if (writes_closed_) return Unavailable("the process is ending: nothing new is begun");
        return lease_->MayWrite();
      };
      fence.within = [this](Deadline by) { return lease_->Within(by); };
    }
    kube_writer_ = std::make_unique<kube::KubeWriter>(*client_, *events_, std::move(fence));
    kube_writer_->on_eviction = [this](const Status& outcome) {
      if (outcome.code() != Code::kNotFound) numbers_.Evicted(outcome.ok());
    };
    status_writer_ =
        std::make_unique<StatusWriter>(*kube_writer_, *executor_, log_, flags_.options.namespace_,
                                       flags_.options.status_config_map_name);
    dry_writer_ = std::make_unique<DryRunWriter>(*kube_writer_, log_);
    kube::FeedOptions feed;
    feed.config_map_namespace = flags_.options.namespace_;
    feed.config_map_name = "cluster-autoscaler-priority-expander";
    feed_ = std::make_unique<kube::ClusterFeed>(feed, world_, *client_, log_);
    const autoscale::Deviations& ours = flags_.options.deviations;
    if (ours.fuses) health_.stale_kinds = [this] { return feed_->StaleKinds(MaxViewAge()); };
    feed_->on_pending = [this](const model::Pod& pod) {
      if (trigger_.PodSeen(pod, clock_.Now())) Nudge();
    };
    const auto changed = [this] {
      if (trigger_.Changed(clock_.Now())) Nudge();
    };
    feed_->on_nodes = changed;
    feed_->on_pod_gone = changed;
    return Serve();
  }

  int Run(const StopSignals& signals) {
    executor_->Spawn(Main());
    std::atomic<bool> over = false;
    // Signals are blocked everywhere; this thread alone takes them.
    std::thread listener([&] {
      while (!over) {
        const Signal came = signals.Wait(std::chrono::milliseconds(100));
        if (came == Signal::kStop) executor_->Post([this] { StopSoon(); });
        if (came == Signal::kReload) executor_->Post([this] { Reload(); });
      }
    });
    executor_->Run();
    over = true;
    listener.join();
    server_->Stop();
    EndCalls();
    return exit_code_;
  }

 private:
  // Calls on the workers use the provider, the lease and the engine, all of which go now. One that
  // does not end in time keeps them: then the process ends without taking them down.
  void EndCalls() {
    changes_.Close();
    Deadline by = Deadline::In(clock_, limits_.calls);
    if (Elects()) by.at = std::max(by.at, Later(changes_.latest(), kLate));
    const size_t left = workers_.Stop(clock_, by);
    if (left == 0) return;
    log_.Warning("calls that do not end are left behind", {{"calls", left}});
    std::_Exit(exit_code_);
  }

  bool Elects() const { return flags_.leader_elect && !flags_.dry_run; }
  Duration MaxViewAge() const { return flags_.options.deviations.fuse_max_view_age; }
  bool WritesStatus() const { return flags_.options.write_status_configmap && !flags_.dry_run; }

  Status Serve() {
    const auto address = TRY(net::ParseHostPort(flags_.address).Context("--address"));
    server_ = TRY(net::HttpServer::Create(
        StatusServerOptions(address, log_),
        [this](const net::ServerRequest& request) { return Answer(request); }));
    return Status::Ok();
  }

  // On the server's thread.
  net::ServerResponse Answer(const net::ServerRequest& request) {
    net::ServerResponse response;
    if (request.method != "GET" && request.method != "HEAD") {
      response = {.status = 405, .body = "GET only\n"};
    } else if (request.path == "/health-check") {
      const std::string trouble = health_.Trouble();
      response.status = trouble.empty() ? 200 : 500;
      response.body = trouble.empty() ? "OK" : trouble;
    } else if (request.path == "/readyz") {
      const std::string trouble = NotReady();
      response.status = trouble.empty() ? 200 : 503;
      response.body = trouble.empty() ? "ok" : trouble;
    } else if (request.path == "/metrics") {
      // Here and not after a pass: it is when passes hang that one wants to know.
      for (const auto& kind : feed_->Ages()) numbers_.KindAge(kind.kind, kind.age);
      response.content_type = "text/plain; version=0.0.4; charset=utf-8";
      response.body = metrics_.Render() + ProcessMetrics();
    } else if (request.path == "/explain") {
      response = reasons_.Answer(request);
    } else if (request.path == "/snapshotz" && flags_.debugging_snapshot_enabled) {
      response = dumps_.Answer();
    } else {
      response.status = 404;
      response.body = "not found\n";
    }
    return response;
  }

  // Whether this replica sees the cluster, leader or not. On the server's thread.
  std::string NotReady() const {
    std::vector<std::string> missing;
    for (const auto& kind : feed_->Ages()) {
      if (!kind.synced) missing.push_back(kind.kind);
    }
    if (!missing.empty()) return "not read yet: " + Join(missing, ", ");
    return feed_->StaleKinds(MaxViewAge());
  }

  void Fail(std::string_view what, const Status& why) {
    log_.Error(what, {{"error", why}});
    exit_code_ = 1;
    executor_->Stop();
  }

  Task<void> Main() {
    feed_->Start();  // also while another leads: then the change of leaders is quick
    if (!flags_.dry_run) executor_->Spawn(events_->Run());
    if (Elects()) {
      const Status leads = co_await lease_->Acquire();
      if (!leads.ok()) {
        Fail("the lease cannot be had", leads);
        co_return;
      }
      executor_->Spawn(HoldLease());
    }
    numbers_.Leads(true);
    health_.StartMonitoring();
    const Deadline by = Deadline::In(clock_, flags_.max_startup_time);
    const Status synced = co_await feed_->WaitUntilSynced(by);
    if (!synced.ok()) {
      Fail("the cluster could not be read", synced);
      co_return;
    }
    log_.Info("the view of the cluster is complete",
              {{"nodes", world_.node_count()}, {"pods", world_.pod_count()}});
    const Status assembled = co_await Assemble();
    if (!assembled.ok()) {
      Fail("the autoscaler cannot be assembled", assembled);
      co_return;
    }
    co_await Recall();
    if (WritesStatus()) PutStatus(StatusMap::RenderInitializing(clock_.Now()), clock_.Now());
    while (!stopping_) co_await OnePass();
    idle_ = true;
  }

  Task<void> HoldLease() {
    const Status lost = co_await lease_->Hold();
    if (stopping_) co_return;
    // As upstream: nothing is tidied up, for it is somebody else's now.
    Fail("this replica leads no more and ends", lost);
  }

  Task<Status> Assemble() {
    // Opening a provider may ask it something: not on this thread, which renews the lease.
    std::optional<Result<std::unique_ptr<cloud::NodeGroups>>> opened;
    const std::function<void()> open = [this, &opened] {
      opened = OpenNodeGroups(flags_, plugins_, clock_, rng_cloud_, log_, metrics_);
    };
    const Status ran = co_await OnWorker(workers_, *executor_, open);
    if (!ran.ok()) co_return ran;
    if (!opened->ok()) co_return opened->status();
    groups_ = *std::move(*opened);
    Gate gate;
    gate.dry_run = flags_.dry_run;
    gate.changes = &changes_;
    if (Elects()) {
      gate.may_change = [this] { return lease_->MayWrite(); };
      gate.within = [this](Deadline by) { return lease_->Within(by); };
    }
    guarded_ = GuardGroups(*groups_, std::move(gate), log_);
    cluster::Writer& writer =
        flags_.dry_run ? static_cast<cluster::Writer&>(*dry_writer_) : *kube_writer_;
    AssemblyParts parts{.flags = flags_,
                        .plugins = plugins_,
                        .world = world_,
                        .writer = writer,
                        .executor = *executor_,
                        .workers = workers_,
                        .rng = rng_,
                        .log = log_,
                        .metrics = metrics_,
                        .groups = guarded_.get(),
                        .view_age = [this] { return feed_->view_age(); },
                        .oldest_kind = [this] { return feed_->oldest_kind(); },
                        .wake =
                            [this] {
                              if (trigger_.Ended(clock_.Now())) Nudge();
                            }};
    auto assembly = Assembly::Create(std::move(parts));
    if (!assembly.ok()) co_return assembly.status();
    assembly_ = *std::move(assembly);
    co_return Status::Ok();
  }

  // What the process before this one has left. Without it everything starts anew, as upstream does.
  Task<void> Recall() {
    if (!flags_.options.deviations.survive_restarts || !flags_.options.write_status_configmap)
      co_return;
    const auto left = co_await kube_writer_->ReadAnnotation(
        flags_.options.namespace_, flags_.options.status_config_map_name, kMemoryAnnotation);
    if (!left.ok())
      log_.Warning("what the last process left could not be read", {{"error", left.status()}});
    if (!left.ok() || left->empty()) co_return;
    const auto memory = ParseMemory(*left);
    if (!memory.ok()) {
      log_.Warning("what the last process left is ignored", {{"error", memory.status()}});
      co_return;
    }
    assembly_->engine().Recall(*memory, clock_.Now());
  }

  Task<void> OnePass() {
    const TimePoint waited_from = clock_.Now();
    co_await UntilDue();
    if (stopping_) co_return;
    const TimePoint began = clock_.Now();
    numbers_.Waited(began - waited_from);
    numbers_.PassBegan(began);
    health_.Active();
    const auto report = co_await assembly_->engine().Pass(began);
    const TimePoint ended = clock_.Now();
    const bool good = report->error.empty() || report->error_type == "transientError";
    if (good) health_.Succeeded();
    Tell(*report, began, ended);
    reasons_.PassEnded(report);
    if (WritesStatus() && report->status)
      PutStatus(status_map_.Render(*report->status, began), began);
    autoscale::Engine& engine = assembly_->engine();
    trigger_.PassEnded(
        {.began = began,
         .ended = ended,
         .last_scale_up = engine.last_scale_up(),
         .last_scale_down = engine.last_scale_down(),
         .waits_for_quiet = report->scale_up.result == report::ScaleUpResult::kInCooldown,
         .call_again = report->call_again});
    const report::CallAgain next = trigger_.Next();
    log_.Debug("next pass", {{"in", next.at - ended}, {"why", next.why}});
  }

  Task<void> UntilDue() {
    while (!stopping_ && clock_.Now() < trigger_.Due()) {
      nudge_.emplace(*executor_);
      const Future<bool> nudged = nudge_->future();
      co_await nudged.Until(trigger_.Due());
    }
  }
  void Nudge() {
    if (nudge_) nudge_->Set(true);
  }

  void Tell(const report::PassReport& report, TimePoint began, TimePoint ended) {
    const AutoscalerMetrics::Around around{world_, *guarded_, assembly_->engine().templates()};
    numbers_.PassEnded(report, around, began, ended);
    numbers_.ViewAge(feed_->view_age());
    for (const auto& r : feed_->reflectors())
      numbers_.Lists(r->kind(), r->lists(), r->watches(), r->size());
    TellUnreadable();
    if (!report.error.empty())
      log_.Error("the pass failed", {{"type", report.error_type}, {"error", report.error}});
    for (const report::ScaleUp& round : report.earlier_rounds) TellScaleUp(round);
    TellScaleUp(report.scale_up);
    for (const report::RemovedNode& node : report.scale_down.removed) {
      log_.Info("removal started",
                {{"node", node.node}, {"group", node.group}, {"pods", node.evicted.size()}});
    }
    for (const report::DeletionOutcome& outcome : report.scale_down.outcomes) {
      log_.Info("removal ended",
                {{"node", outcome.node}, {"result", outcome.result}, {"error", outcome.error}});
    }
    log_.Debug("pass", {{"took", ended - began},
                        {"scale_up", report::ToString(report.scale_up.result)},
                        {"scale_down", report::ToString(report.scale_down.result)},
                        {"unneeded", report.scale_down.unneeded.size()}});
  }

  void TellUnreadable() {
    std::map<AutoscalerMetrics::KindAndReason, int> counts;
    Reasons::Unreadable reasons;
    for (const auto& [kind, name, why] : feed_->Unreadable()) {
      ++counts[{kind, why.reason}];
      if (kind == "Pod") reasons.pods[name] = why.what;
      if (kind == "Node") reasons.nodes[name.substr(name.find('/') + 1)] = why.what;
    }
    numbers_.Unreadable(counts);
    reasons_.CannotBeRead(std::move(reasons));
  }

  void TellScaleUp(const report::ScaleUp& scale_up) {
    for (const report::GroupResize& resize : scale_up.resizes) {
      log_.Info("scaled up", {{"group", resize.group},
                              {"from", resize.from},
                              {"to", resize.to},
                              {"pods", scale_up.triggered.size()}});
    }
  }

  void PutStatus(std::string text, TimePoint at) {
    kube::KubeWriter::Annotations annotations = {{kLastUpdatedAnnotation, FormatGoTime(at)}};
    if (flags_.options.deviations.survive_restarts) annotations[kMemoryAnnotation] = MemoryAt(at);
    status_writer_->Put(std::move(text), std::move(annotations));
  }
  std::string MemoryAt(TimePoint at) {
    MemoryText memory = FormatMemory(assembly_->engine().Remember(at));
    const bool told = std::exchange(memory_is_cut_, memory.left_out > 0);
    if (memory_is_cut_ && !told) {
      log_.Warning("not every back-off is left to the next process: an annotation is limited",
                   {{"left_out", memory.left_out}, {"limit_bytes", kMaxMemoryBytes}});
    }
    return std::move(memory.text);
  }

  // SIGHUP. What names the groups and machines is looked at by each refresh, certificates of gRPC
  // ends with each handshake: for them there is nothing to do here.
  void Reload() {
    log_.Info(
        "SIGHUP: files are read again; flags, addresses and the provider take effect after a "
        "restart only");
    ReloadConnection(flags_, server_url_, *credentials_, log_);
  }

  void StopSoon() {
    if (stopping_) return;
    stopping_ = true;
    log_.Info("stopping");
    Nudge();
    executor_->Spawn(ShutDown());
  }

  Task<void> ShutDown() {
    // A pass under way ends by itself; drains do not, and the next leader takes their taints away.
    const Deadline by = Deadline::In(clock_, limits_.pass);
    while (assembly_ && !idle_ && !by.Passed(clock_)) co_await executor_->Sleep(kStopPoll);
    changes_.Close();
    co_await UntilNothingChanges();
    const bool acts = !flags_.dry_run && (!Elects() || lease_->leads());
    if (acts) {
      co_await LeaveInOrder();
      if (Elects()) co_await HandOver();
    }
    executor_->Stop();
  }

  // What changes the cloud ends before the lease does, by its deadline.
  Task<void> UntilNothingChanges() {
    const TimePoint grace = Later(clock_.Now(), limits_.pass);
    const TimePoint last = Later(changes_.latest(), kLate);
    const Deadline by{Elects() ? last : std::min(last, grace)};
    while (changes_.count() > 0 && !by.Passed(clock_)) co_await executor_->Sleep(kStopPoll);
  }

  Task<void> LeaveInOrder() {
    const Deadline flushed = Deadline::In(clock_, kFlushFor);
    co_await events_->Flush(flushed);
    const bool remembers = flags_.options.deviations.survive_restarts;
    // A call that was refused because we end looks to the engine like a group that fails: then what
    // was written after the last pass stays.
    if (WritesStatus() && remembers && !status_writer_->last().empty() && changes_.refused() == 0)
      PutStatus(status_writer_->last(), clock_.Now());
    while (status_writer_->writing() && !flushed.Passed(clock_))
      co_await executor_->Sleep(kStopPoll);
    // As upstream, unless the next process is to find what we know.
    if (WritesStatus() && !remembers) {
      const Status deleted = co_await kube_writer_->DeleteConfigMap(
          flags_.options.namespace_, flags_.options.status_config_map_name);
      if (!deleted.ok())
        log_.Warning("the status ConfigMap could not be deleted", {{"error", deleted}});
    }
  }

  // Only when nothing that the lease allowed is under way: what still runs would run beside the
  // next leader.
  Task<void> HandOver() {
    writes_closed_ = true;
    const Deadline by = Deadline::In(clock_, kWritesEnd);
    while (kube_writer_->under_way() > 0 && !by.Passed(clock_))
      co_await executor_->Sleep(kStopPoll);
    const size_t left = changes_.count() + kube_writer_->under_way();
    if (left == 0) {
      co_await lease_->Release();
    } else {
      log_.Warning("the lease is left to run out: calls that it allowed are under way",
                   {{"calls", left}});
    }
  }

  const autoscale::FlagValues flags_;
  const StopLimits limits_;
  Plugins& plugins_;
  Clock& clock_;
  const Log& log_;
  SeededRng rng_;
  SeededRng rng_cloud_{SeedFromSystem()};  // the provider draws on its own threads
  Metrics metrics_;
  ChangesUnderWay changes_;
  Pool workers_;
  AutoscalerMetrics numbers_;
  HealthCheck health_;
  Reasons reasons_;
  LoopTrigger trigger_;
  StatusMap status_map_;
  cluster::World world_;
  ClusterDumps dumps_;
  std::string server_url_;
  std::unique_ptr<kube::Credentials> credentials_;
  std::unique_ptr<kube::Client> client_;
  std::unique_ptr<kube::LeaderLease> lease_;
  std::unique_ptr<kube::EventSender> events_;
  std::unique_ptr<kube::KubeWriter> kube_writer_;
  std::unique_ptr<StatusWriter> status_writer_;
  std::unique_ptr<DryRunWriter> dry_writer_;
  std::unique_ptr<kube::ClusterFeed> feed_;
  std::unique_ptr<cloud::NodeGroups> groups_;
  std::unique_ptr<cloud::NodeGroups> guarded_;
  std::unique_ptr<Assembly> assembly_;
  std::optional<Promise<bool>> nudge_;
  bool memory_is_cut_ = false;  // and that has been told
  std::atomic<bool> writes_closed_ = false;
  bool stopping_ = false;
  bool idle_ = false;
  int exit_code_ = 0;
  std::unique_ptr<net::HttpServer> server_;
  std::unique_ptr<Executor> executor_;
  std::unique_ptr<net::MultiClient> transport_;  // its thread ends first of all
};

}  // namespace

int RunOnRealCluster(const autoscale::FlagValues& flags, Plugins& plugins, StopLimits limits) {
  const StopSignals signals({SIGTERM, SIGINT, SIGQUIT});
  // Never destroyed: threads of the gRPC library may still log while the process ends.
  SystemClock& clock = KeepForever(std::make_unique<SystemClock>());
  const Log& log = KeepForever(std::make_unique<Log>(LogFrom(flags, clock)));
  grpc::RouteLibraryLog(log);
  RealCluster cluster(flags, plugins, clock, log, limits);
  if (const Status connected = cluster.Connect(); !connected.ok()) {
    log.Error("the autoscaler cannot start", {{"error", connected}});
    return 1;
  }
  return cluster.Run(signals);
}

}  // namespace coppice::app
