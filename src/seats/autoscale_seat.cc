#include "seats/autoscale_seat.h"

#include "autoscale/restart_memory.h"
#include "base/on_worker.h"
#include "host/status_writer.h"
#include "seats/open_node_groups.h"

namespace coppice::seats {
namespace {

constexpr Duration kStatusPoll = std::chrono::milliseconds(20);

class AutoscaleSeat final : public EngineSeat {
 public:
  explicit AutoscaleSeat(const ProcessParts& parts)
      : parts_(parts),
        numbers_(parts_.metrics, parts_.flags.ForMetrics()),
        reasons_(parts_.log),
        status_writer_(parts_.server.writer(), parts_.executor, parts_.log, options().namespace_,
                       options().status_config_map_name),
        autoscaler_({.flags = parts_.flags,
                     .world = parts_.world,
                     .clock = parts_.clock,
                     .log = parts_.log,
                     .numbers = numbers_,
                     .reasons = reasons_,
                     .look_again = parts_.look_again,
                     .idle = [this] { return parts_.executor.idle(); },
                     .pass_ended = parts_.pass_ended}) {
    parts_.server.writer().on_eviction = [this](const Status& outcome) {
      if (outcome.code() != Code::kNotFound) numbers_.Evicted(outcome.ok());
    };
  }

  host::Engine& engine() override { return autoscaler_; }
  cloud::NodeGroups* groups() override { return guarded_.get(); }
  market::Seller* seller() override { return seller_; }
  void Leads() override { numbers_.Leads(true); }

  Task<Status> Open() override {
    const Status open = co_await OpenProvider();
    if (!open.ok()) co_return open;
    kube::ClusterFeed& feed = parts_.server.feed();
    auto assembly =
        autoscale::Assembly::Create({.flags = parts_.flags,
                                     .plugins = parts_.plugins,
                                     .world = parts_.world,
                                     .writer = parts_.writer,
                                     .executor = parts_.executor,
                                     .workers = parts_.workers,
                                     .rng = parts_.rng,
                                     .log = parts_.log,
                                     .metrics = parts_.metrics,
                                     .groups = *guarded_,
                                     .view_age = [&feed] { return feed.view_age(); },
                                     .oldest_kind = [&feed] { return feed.oldest_kind(); },
                                     .wake = [this] { autoscaler_.WorkEnded(); }});
    if (!assembly.ok()) co_return assembly.status();
    seller_ = &(*assembly)->engine().seller();
    autoscaler_.Open({.assembly = *std::move(assembly),
                      .groups = *guarded_,
                      .status = WritesStatus() ? &status_writer_ : nullptr});
    co_await Recall();
    autoscaler_.TellStart();
    co_return Status::Ok();
  }

  Task<void> Leave(Deadline flushed) override {
    if (Remembers()) autoscaler_.TellEnd(parts_.changes.refused() == 0);
    while (status_writer_.writing() && !flushed.Passed(parts_.clock))
      co_await parts_.executor.Sleep(kStatusPoll);
    // As upstream, unless the next process is to find what we know.
    if (WritesStatus() && !Remembers()) {
      const Status deleted = co_await parts_.server.writer().DeleteConfigMap(
          options().namespace_, options().status_config_map_name);
      if (!deleted.ok())
        parts_.log.Warning("the status ConfigMap could not be deleted", {{"error", deleted}});
    }
  }

  std::optional<Result<std::string>> Explain(const net::ServerRequest& request) override {
    // Questions that only node pools can answer.
    if (request.Query("nodeclaim") != nullptr || request.Query("nodepool") != nullptr)
      return std::nullopt;
    return reasons_.Explain(request.Query("pod"), request.Query("node"));
  }

 private:
  const autoscale::Options& options() const { return parts_.flags.options; }
  bool WritesStatus() const { return options().write_status_configmap && !parts_.flags.dry_run; }
  bool Remembers() const { return options().deviations.survive_restarts; }

  Task<Status> OpenProvider() {
    // Opening a provider may ask it something: not on this thread, which renews the lease.
    std::optional<Result<std::unique_ptr<cloud::NodeGroups>>> opened;
    const std::function<void()> open = [this, &opened] {
      opened = OpenNodeGroups(parts_.flags, parts_.plugins, parts_.clock, parts_.provider_rng,
                              parts_.log, parts_.metrics);
    };
    const Status ran = co_await OnWorker(parts_.workers, parts_.executor, open);
    if (!ran.ok()) co_return ran;
    if (!opened->ok()) co_return opened->status();
    groups_ = *std::move(*opened);
    guarded_ = cloud::GuardGroups(*groups_, parts_.CloudGate(), parts_.log);
    co_return Status::Ok();
  }

  // What the process before this one has left. Without it everything starts anew, as upstream does.
  Task<void> Recall() {
    if (!Remembers() || !options().write_status_configmap) co_return;
    const auto left = co_await parts_.server.writer().ReadAnnotation(
        options().namespace_, options().status_config_map_name, autoscale::kMemoryAnnotation);
    if (!left.ok())
      parts_.log.Warning("what the last process left could not be read",
                         {{"error", left.status()}});
    if (left.ok() && !left->empty()) autoscaler_.Recall(*left);
  }

  const ProcessParts parts_;
  autoscale::AutoscalerMetrics numbers_;
  autoscale::Reasons reasons_;
  host::StatusWriter status_writer_;
  std::unique_ptr<cloud::NodeGroups> groups_;
  std::unique_ptr<cloud::NodeGroups> guarded_;
  Autoscaler autoscaler_;
  market::Seller* seller_ = nullptr;  // the engine's
};

}  // namespace

std::unique_ptr<EngineSeat> MakeAutoscaleSeat(const ProcessParts& parts) {
  return std::make_unique<AutoscaleSeat>(parts);
}

}  // namespace coppice::seats
