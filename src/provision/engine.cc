#include "provision/engine.h"

#include <algorithm>
#include <utility>

#include "base/on_worker.h"
#include "provision/batcher.h"
#include "provision/class_keeper.h"
#include "provision/disruption/disruptor.h"
#include "provision/lifecycle/garbage.h"
#include "provision/lifecycle/node_end.h"
#include "provision/lifecycle/repair.h"
#include "provision/nearest_pool.h"
#include "provision/observation.h"
#include "provision/pool_seller.h"
#include "provision/provisioner.h"

namespace coppice::provision {

namespace {

namespace names = model::karpenter;

// Passes that news hasten come at most so often: each looks at every claim.
constexpr Duration kLeastPause = std::chrono::milliseconds(20);
// While something is on its way, without news.
constexpr Duration kPollBusy = std::chrono::seconds(1);

report::ClaimState StateOf(const model::NodeClaim& claim, TimePoint now) {
  report::ClaimState state{
      .name = claim.metadata.name,
      .pool = LabelOr(claim.metadata.labels, model::kNodePoolLabel),
      .node = claim.status.node_name,
      .provider_id = claim.status.provider_id,
      .type = LabelOr(claim.metadata.labels, model::kInstanceTypeLabel),
      .zone = LabelOr(claim.metadata.labels, model::kZoneLabel),
      .capacity_type = LabelOr(claim.metadata.labels, model::kCapacityTypeLabel),
      .since = claim.metadata.creation_timestamp ? claim.metadata.creation_timestamp->at : now};
  if (const auto lasts = model::LastingOf(claim.spec.expire_after);
      lasts && claim.metadata.creation_timestamp)
    state.expires = Later(claim.metadata.creation_timestamp->at, *lasts);
  const auto at = [&](const char* type) {
    const auto* condition = model::FindCondition(claim.status.conditions, type);
    if (condition == nullptr) return;
    if (condition->last_transition_time) state.since = condition->last_transition_time->at;
    state.text = condition->reason == condition->type ? "" : condition->reason;
    if (!condition->message.empty()) state.text += ": " + condition->message;
  };
  if (claim.metadata.unreadable) {
    state.stage = "Unreadable";
    state.text = "cannot be read, so that it and its machine stay as they are: " +
                 claim.metadata.unreadable->what;
    return state;
  }
  if (claim.metadata.deletion_timestamp) {
    state.since = claim.metadata.deletion_timestamp->at;
    const bool ends = model::IsTrue(claim.status.conditions, names::kInstanceTerminating);
    state.stage = ends || claim.status.node_name.empty() ? "Terminating" : "Draining";
    return state;
  }
  for (const auto& [type, stage] :
       {std::pair{names::kLaunched, "Launching"}, std::pair{names::kRegistered, "Registering"},
        std::pair{names::kInitialized, "Initializing"}}) {
    if (model::IsTrue(claim.status.conditions, type)) continue;
    state.stage = stage;
    at(type);
    return state;
  }
  state.stage = "Ready";
  at(names::kReady);
  return state;
}

}  // namespace

class Engine::Body {
 public:
  explicit Body(EngineParts parts)
      : context_(std::move(parts)),
        batcher_(context_.options()),
        store_(context_),
        cloud_(context_),
        pools_(context_),
        classes_(context_),
        pod_events_(context_),
        observation_(context_),
        life_({context_, store_, cloud_, pools_, pod_events_}),
        node_end_({context_, store_, cloud_}),
        garbage_({context_, store_, cloud_, life_}),
        repair_({context_, store_, life_}),
        provisioner_({context_, store_, pools_, life_, marks_, observation_.times}),
        queue_({context_, store_, life_, provisioner_, marks_}),
        disruptor_({context_, store_, pools_, queue_, provisioner_, marks_}),
        seller_({context_, store_, pools_, life_, provisioner_, marks_,
                 [this] { return passed_ && garbage_.refreshed(); }}) {
    provisioner_.explain = [this](std::shared_ptr<const DisruptionWorld> world,
                                  std::vector<report::UnplacedPod> unplaced) {
      context_.Spawn(Explain(std::move(world), std::move(unplaced)));
    };
  }

  TimePoint Due() const {
    const TimePoint wake = std::max(context_.wake_at(), Later(last_pass_, kLeastPause));
    if (!passed_) return TimePoint::min();
    // Before it is known what can be bought a batch waits.
    const TimePoint batch = garbage_.refreshed() ? batcher_.Due() : TimePoint::max();
    return std::min({wake, batch, poll_at_});
  }

  Task<std::shared_ptr<const report::ProvisionReport>> Pass(TimePoint now) {
    context_.ForgetWakes();
    auto report = std::make_shared<report::ProvisionReport>();
    report->at = now;
    TimePoint from = now;
    const auto stage = [&](const char* name) {
      report->stages.emplace_back(name, context_.Now() - std::exchange(from, context_.Now()));
    };
    if (classes_.Look(now)) garbage_.RefreshSoon();
    garbage_.Look(now);
    store_.LookAfterUnseen();
    marks_.ForgetOld(now);
    const auto& nodes = context_.NodesById();
    pod_events_.Look(nodes, now);
    const auto claims = store_.List();
    pools_.Look(claims, store_.Facts(), nodes, marks_.leaving, now);
    observation_.Look(claims, now);
    // On a stale view nothing is bought and no machine is given up: what looks late, gone or empty
    // may be none of that. What somebody has decided goes on.
    const bool fresh = context_.Stale().empty();
    if (fresh) life_.Look(claims, nodes, now);
    node_end_.Look(claims, now);
    if (fresh) {
      repair_.Look(claims, nodes, now);
      provisioner_.KeepStatic(claims, now);
    }
    stage("machines");
    if (fresh) {
      queue_.Look(now);
      queue_.Recover(claims, nodes);
    }
    if (garbage_.refreshed()) disruptor_.Look(claims, now);
    stage("disruption");
    if (!passed_) TriggerAll(now);
    TriggerLeaving(now);
    if (garbage_.refreshed() && now >= batcher_.Due()) {
      batcher_.Take(now);
      provisioning_ = co_await provisioner_.Run(now);
      NoteProvisioning(context_.Now());
      stage("provisioning");
    }
    Finish(*report, context_.Now());
    stage("report");
    report->took = context_.Now() - now;
    report_ = report;
    co_return report_;
  }

  bool PodWaits(const model::Pod& pod, TimePoint now) {
    if (!IsProvisionable(pod)) return false;
    observation_.times.Seen(pod, now);
    return batcher_.Trigger(pod.metadata.uid, now);
  }
  bool News(TimePoint now) {
    if (context_.wake_at() <= now) return false;
    context_.WakeAt(now);
    return true;
  }

  std::shared_ptr<const report::ProvisionReport> report() const { return report_; }
  size_t under_way() const { return context_.under_way(); }
  market::Seller& seller() { return seller_; }

 private:
  // Near misses, on a worker; they stand in the report of the next pass. Pods that were refused with
  // the same words share one look.
  Task<void> Explain(std::shared_ptr<const DisruptionWorld> world,
                     std::vector<report::UnplacedPod> unplaced) {
    std::map<std::string, std::vector<report::PoolMiss>> by_text;
    const SolverOptions options = SolverOptionsOf(context_);
    const size_t most = context_.options().explain_pods;
    size_t solves_left = context_.options().explain_solves;
    const std::function<void()> work = [&] {
      for (const report::UnplacedPod& pod : unplaced) {
        if (pod.ignored || by_text.contains(pod.text) || by_text.size() >= most) continue;
        by_text[pod.text] = NearMisses(*world, pod.pod, options, solves_left);
      }
    };
    const Status done = co_await OnWorker(context_.parts.workers, context_.parts.executor, work);
    if (done.ok()) misses_ = std::move(by_text);
  }

  void TriggerAll(TimePoint now) {
    for (const auto* entry : context_.world().Unbound()) PodWaits(*entry->pod, now);
  }
  // Pods of machines that leave are asked for again while they are there.
  void TriggerLeaving(TimePoint now) {
    for (const ClaimPtr& claim : store_.List()) {
      if (claim->metadata.deletion_timestamp || marks_.leaving.contains(claim->status.provider_id))
        batcher_.Trigger(claim->metadata.uid, now);
    }
  }

  void NoteProvisioning(TimePoint now) {
    const report::Provisioning& last = *provisioning_;
    const bool held = !last.held_back.empty() ||
                      std::ranges::any_of(last.machines, [](const report::PlannedMachine& machine) {
                        return machine.claim.empty();
                      });
    if (held) {
      batcher_.TriggerAt(Later(now, kPollBusy));
    } else if (last.pods > 0 || !last.unplaced.empty()) {
      batcher_.TriggerAt(Later(now, Batcher::kAgain));
    }
  }

  void TellClaims(const std::vector<ClaimPtr>& claims, report::ProvisionReport& report,
                  TimePoint now) {
    costs_.clear();
    claims_busy_ = false;
    for (const ClaimPtr& claim : claims) {
      report.claims.push_back(StateOf(*claim, now));
      report.claims.back().price = pools_.PriceOfClaim(*claim);
      costs_[report.claims.back().pool] += report.claims.back().price;
      claims_busy_ = claims_busy_ || report.claims.back().stage != "Ready";
    }
    observation_.Priced(report.claims);
    reported_ = claims;
    reported_prices_ = pools_.prices_version();
  }

  void Finish(report::ProvisionReport& report, TimePoint now) {
    const auto claims = store_.List();
    if (report_ != nullptr && claims == reported_ && pools_.prices_version() == reported_prices_) {
      report.claims = report_->claims;
    } else {
      TellClaims(claims, report, now);
    }
    const bool busy = context_.under_way() > 0 || claims_busy_;
    observation_.Synced(claims, garbage_.refreshed(), now);
    report.pools = pools_.States(costs_);
    for (const report::PoolState& pool : report.pools) {
      context_.SetOfPool(pool.name, "karpenter_nodepools_cost_total",
                         "The estimated cost of the nodes of a pool.", pool.cost, {});
    }
    report.provisioning = provisioning_;
    if (report.provisioning) {
      for (report::UnplacedPod& pod : report.provisioning->unplaced) {
        const auto misses = misses_.find(pod.text);
        if (misses != misses_.end()) pod.misses = misses->second;
      }
    }
    report.staying = disruptor_.staying();
    report.disruption_at = disruptor_.last_round();
    for (const auto& [number, command] : disruptor_.validating())
      report.commands.push_back(command);
    for (report::DisruptionCommand& command : queue_.Commands())
      report.commands.push_back(std::move(command));
    for (report::PoolState& pool : report.pools) {
      const auto left = disruptor_.budgets().find(pool.name);
      if (left == disruptor_.budgets().end()) continue;
      for (const auto& [reason, count] : left->second) pool.budgets.emplace_back(reason, count);
    }
    report.under_way = context_.under_way();
    for (const auto* entry : context_.world().Unbound())
      report.waiting_pods += IsProvisionable(*entry->pod) ? 1 : 0;
    report.error = context_.Stale();
    if (report.error.empty() && !garbage_.refresh_status().ok())
      report.error = "the cloud cannot be read: " + garbage_.refresh_status().message();
    passed_ = true;
    last_pass_ = now;
    poll_at_ = Later(now, busy ? kPollBusy : context_.options().disruption_poll);
    report.call_again = report::CallAgain{Due(), "something may be due"};
    context_.Set("karpenter_cluster_state_node_count", "Current count of nodes in cluster state",
                 static_cast<double>(context_.world().node_count()));
  }

  Context context_;
  Batcher batcher_;
  Marks marks_;
  ClaimStore store_;
  CloudCalls cloud_;
  PoolKeeper pools_;
  ClassKeeper classes_;
  PodEvents pod_events_;
  Observation observation_;
  ClaimLife life_;
  NodeEnd node_end_;
  Garbage garbage_;
  Repair repair_;
  Provisioner provisioner_;
  DisruptionQueue queue_;
  Disruptor disruptor_;
  PoolSeller seller_;
  std::optional<report::Provisioning> provisioning_;
  std::map<std::string, std::vector<report::PoolMiss>> misses_;  // by the peer's sentence
  std::shared_ptr<const report::ProvisionReport> report_;
  // Of what its claims were told, and what follows from them.
  std::vector<ClaimPtr> reported_;
  uint64_t reported_prices_ = 0;
  std::map<std::string, double> costs_;  // by pool
  bool claims_busy_ = false;
  bool passed_ = false;
  TimePoint last_pass_ = TimePoint::min();
  TimePoint poll_at_ = TimePoint::min();
};

Engine::Engine(EngineParts parts) : body_(std::make_unique<Body>(std::move(parts))) {}
Engine::~Engine() = default;

TimePoint Engine::Due() const { return body_->Due(); }
Task<std::shared_ptr<const report::ProvisionReport>> Engine::Pass(TimePoint now) {
  return body_->Pass(now);
}
bool Engine::PodWaits(const model::Pod& pod, TimePoint now) { return body_->PodWaits(pod, now); }
bool Engine::PodGone(TimePoint now) { return body_->News(now); }
bool Engine::NodesChanged(TimePoint now) { return body_->News(now); }
bool Engine::ObjectsChanged(TimePoint now) { return body_->News(now); }
std::shared_ptr<const report::ProvisionReport> Engine::report() const { return body_->report(); }
size_t Engine::under_way() const { return body_->under_way(); }
market::Seller& Engine::seller() { return body_->seller(); }

}  // namespace coppice::provision
