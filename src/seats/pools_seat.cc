#include "seats/pools_seat.h"

#include <algorithm>
#include <map>
#include <set>

#include "base/mutex.h"
#include "base/on_worker.h"
#include "cloud/guarded_claims.h"
#include "fit/chain.h"
#include "model/added_kinds.h"
#include "report/explain_pools.h"
#include "seats/open_node_claims.h"
#include "whatif/model_pools.h"

namespace coppice::seats {
namespace {

constexpr Duration kFailsAgain = std::chrono::minutes(1);

class PoolsSeat final : public EngineSeat {
 public:
  PoolsSeat(const ProcessParts& parts, const provision::Settings& settings)
      : parts_(parts),
        settings_(settings),
        turn_([this](const report::ProvisionReport& report) { Tell(report); }) {}

  host::Engine& engine() override { return turn_; }
  const cloud::NodeClaims* claims() override { return guarded_.get(); }
  market::Seller* seller() override { return engine_ == nullptr ? nullptr : &engine_->seller(); }

  void AddKinds(EngineKinds& kinds) override {
    AddAll<model::PoolKinds>(kinds);
    if (OwnProvider()) AddAll<model::ProviderKinds>(kinds);
  }

  Task<Status> Open() override {
    // Opening a provider may ask it something: not on this thread, which renews the lease.
    std::optional<Result<std::unique_ptr<OpenedClaims>>> opened;
    const std::function<void()> open = [this, &opened] {
      opened = OpenNodeClaims(parts_.flags, parts_.plugins, parts_.clock, parts_.provider_rng,
                              parts_.log, parts_.metrics, parts_.CloudGate());
    };
    const Status ran = co_await OnWorker(parts_.workers, parts_.executor, open);
    if (!ran.ok()) co_return ran;
    if (!opened->ok()) co_return opened->status();
    opened_ = *std::move(*opened);
    guarded_ = cloud::GuardClaims(opened_->claims(), parts_.CloudGate(), parts_.log);
    CO_TRY(filters_, MakeFilters());
    kube::ClusterFeed& feed = parts_.server.feed();
    engine_ = std::make_unique<provision::Engine>(
        provision::EngineParts{.options = settings_.options,
                               .world = parts_.world,
                               .writer = parts_.writer,
                               .claims = *guarded_,
                               .executor = parts_.executor,
                               .workers = parts_.workers,
                               .rng = parts_.rng,
                               .log = parts_.log,
                               .metrics = parts_.metrics,
                               .metric_sources = &parts_.metric_sources,
                               .filters = filters_.get(),
                               .view_age = [&feed] { return feed.view_age(); },
                               .oldest_kind = [&feed] { return feed.oldest_kind(); },
                               .not_ours = PlacedByBatch(),
                               .foreign_classes = ForeignClasses(),
                               .wake = parts_.look_again});
    turn_.Open(*engine_);
    TellStart();
    co_return Status::Ok();
  }

  std::optional<Result<std::string>> Explain(const net::ServerRequest& request) override {
    const std::shared_ptr<const report::ProvisionReport> last = LastReport();
    if (last == nullptr) return Result<std::string>(Unavailable("there has been no pass yet"));
    return report::ExplainPools(*last, {.pod = request.Query("pod"),
                                        .node = request.Query("node"),
                                        .claim = request.Query("nodeclaim"),
                                        .pool = request.Query("nodepool")});
  }

 private:
  // Pods that batch places are bought for as gangs, by it.
  std::function<bool(const model::Pod&)> PlacedByBatch() const {
    if (settings_.gang_scheduler_names.empty()) return nullptr;
    return [names = settings_.gang_scheduler_names](const model::Pod& pod) {
      return std::ranges::find(names, pod.spec.scheduler_name) != names.end();
    };
  }
  // A provider with classes of its own, not a cloud of the four verbs.
  bool OwnProvider() const { return parts_.plugins.node_claims.Has(parts_.flags.cloud_provider); }
  std::function<std::vector<cloud::NodeClassInput>()> ForeignClasses() {
    if (!OwnProvider()) return nullptr;
    return [&world = parts_.world] {
      const model::Kind kind = model::kKind<model::KwokNodeClass>;
      const size_t slash = kind.api_version.find('/');
      std::vector<cloud::NodeClassInput> classes;
      world.objects<model::KwokNodeClass>().ForEachByName(
          [&](const std::shared_ptr<const model::KwokNodeClass>& one) {
            classes.push_back(
                {.kind = {std::string(kind.api_version.substr(0, slash)),
                          std::string(kind.api_version.substr(slash + 1)), std::string(kind.kind)},
                 .node_class = *one});
          });
      return classes;
    };
  }

  Result<std::unique_ptr<fit::Chain>> MakeFilters() {
    if (!settings_.options.ask_filters || settings_.options.upstream_exact)
      return std::unique_ptr<fit::Chain>();
    return std::make_unique<fit::Chain>(TRY(fit::Chain::Create(
        parts_.plugins.filters, {.default_spread_constraints = settings_.options.default_spread})));
  }

  void TellStart() {
    const auto pools = parts_.world.objects<model::NodePool>().size();
    parts_.log.Info("node pools are served",
                    {{"provider", opened_->claims().Name()},
                     {"node_pools", pools},
                     {"node_claims", parts_.world.objects<model::NodeClaim>().size()}});
    if (pools == 0)
      parts_.log.Warning(
          "there are no NodePools: create one, or install the custom resources (deploy/crds) if "
          "the cluster does not know them");
  }

  void Tell(const report::ProvisionReport& report) {
    const auto shared = std::make_shared<const report::ProvisionReport>(report);
    {
      const MutexLock lock(mutex_);
      last_ = shared;
    }
    if (parts_.pools_passed) parts_.pools_passed(shared);
    // Passes may be one a second: what goes on failing is said once a minute.
    const TimePoint now = parts_.clock.Now();
    if (report.error.empty()) {
      told_error_.reset();
    } else if (!told_error_ || now >= Later(*told_error_, kFailsAgain)) {
      told_error_ = now;
      parts_.log.Error("the pass over node pools failed", {{"error", report.error}});
    }
    if (report.provisioning && report.provisioning->at != told_provisioning_) {
      told_provisioning_ = report.provisioning->at;
      std::map<std::string, size_t> held;  // how many of a pool are not asked for, by the reason
      for (const report::PlannedMachine& machine : report.provisioning->machines) {
        if (machine.claim.empty()) ++held[machine.pool + ": " + machine.error];
      }
      for (const auto& [why, count] : held) {
        if (told_held_.contains(why)) continue;  // it is tried again every second
        parts_.log.Warning("machines are not asked for yet", {{"machines", count}, {"why", why}});
      }
      told_held_ = std::move(held);
    }
    std::set<std::string> told;
    for (const report::DisruptionCommand& command : report.commands) {
      const std::string state = command.id + " " + command.stage;
      told.insert(state);
      if (told_commands_.contains(state)) continue;
      parts_.log.Info("disruption", {{"reason", command.reason},
                                     {"decision", command.decision},
                                     {"nodes", Join(command.nodes, ",")},
                                     {"replacements", Join(command.replacements, ",")},
                                     {"saves_per_hour", command.savings},
                                     {"stage", command.stage},
                                     {"why", command.text}});
    }
    told_commands_ = std::move(told);
  }

  std::shared_ptr<const report::ProvisionReport> LastReport() const {
    const MutexLock lock(mutex_);
    return last_;
  }

  const ProcessParts parts_;
  const provision::Settings settings_;
  std::unique_ptr<OpenedClaims> opened_;
  std::unique_ptr<cloud::NodeClaims> guarded_;
  std::unique_ptr<fit::Chain> filters_;
  std::unique_ptr<provision::Engine> engine_;
  whatif::PoolsTurn turn_;
  TimePoint told_provisioning_;
  std::optional<TimePoint> told_error_;
  std::set<std::string> told_commands_;
  std::map<std::string, size_t> told_held_;
  mutable Mutex mutex_;
  std::shared_ptr<const report::ProvisionReport> last_ COPPICE_GUARDED_BY(mutex_);
};

}  // namespace

std::unique_ptr<EngineSeat> MakePoolsSeat(const ProcessParts& parts,
                                          const provision::Settings& settings) {
  return std::make_unique<PoolsSeat>(parts, settings);
}

}  // namespace coppice::seats
