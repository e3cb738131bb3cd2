#include "provision/disruption/disruptor.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "base/go_duration.h"
#include "base/on_worker.h"
#include "provision/claim_builder.h"
#include "provision/disruption/drift.h"

namespace coppice::provision {

namespace {

namespace names = model::karpenter;

constexpr Duration kMemoLasts = std::chrono::minutes(5);
constexpr Duration kUnsyncedPoll = std::chrono::seconds(1);
// A claim that takes longer than that to be launched keeps nobody from consolidating.
constexpr Duration kLongestStall = std::chrono::seconds(30);

bool IsValidatedLater(Method method) {
  return method == Method::kEmptiness || method == Method::kMultiNode ||
         method == Method::kSingleNode;
}

bool IsConsolidation(Method method) {
  return method == Method::kMultiNode || method == Method::kSingleNode;
}

uint64_t Mixed(uint64_t seed, std::string_view text) {
  return (seed ^ std::hash<std::string_view>{}(text)) * 0x9E3779B97F4A7C15ULL;
}

uint64_t Mixed(uint64_t seed, uint64_t number) { return (seed ^ number) * 0x9E3779B97F4A7C15ULL; }

PlannedClaim PlannedFrom(const Replacement& replacement) {
  PlannedClaim planned;
  planned.types = replacement.types;
  planned.requirements = replacement.requirements;
  planned.requests = replacement.requests;
  planned.min_values_relaxed = replacement.min_values_relaxed;
  planned.reservations = replacement.reservations;
  return planned;
}

std::string CreatedFor(Method method) {
  return method == Method::kDrift || method == Method::kStaticDrift ? "drifted"
         : method == Method::kRepair                                ? "unhealthy"
         : method == Method::kEmptiness                             ? "empty"
                                                                    : "underutilized";
}

}  // namespace

uint64_t Disruptor::FingerprintOf(const DisruptionWorld& world) const {
  uint64_t print = 1;
  for (size_t i = 0; i < world.machines.size(); ++i) {
    const StateNode& state = world.solver.nodes[i];
    print = Mixed(print, state.name());
    print = Mixed(print, state.marked_for_deletion ? "leaves" : state.initialized() ? "up" : "");
    const Machine& machine = world.machines[i];
    print = Mixed(print, machine.nominated ? "nominated"
                         : machine.queued  ? "queued"
                         : machine.chosen  ? "chosen"
                                           : machine.held_by);
    print = Mixed(print, machine.waits_for);
    if (machine.claim != nullptr) {
      for (const auto& condition : machine.claim->status.conditions)
        print = Mixed(Mixed(print, condition.type), condition.status);
    }
    if (machine.known != nullptr) print = Mixed(print, machine.known->print);
  }
  for (const PoolView& view : world.pools) {
    print = Mixed(print,
                  view.pool->metadata.name + "/" + std::to_string(view.pool->metadata.generation));
    print = Mixed(print, std::to_string(reinterpret_cast<uintptr_t>(view.types.get())));
  }
  for (const PodPtr& pod : world.pending) print = Mixed(print, pod->metadata.uid);
  return print;
}

bool Disruptor::HasUnlaunched(const std::vector<ClaimPtr>& claims) const {
  return std::ranges::any_of(claims, [](const ClaimPtr& claim) {
    return claim->status.provider_id.empty() && !claim->metadata.deletion_timestamp;
  });
}

std::map<std::string, std::string> Disruptor::WaitingPools(TimePoint now) {
  std::map<std::string, std::string> waiting;
  const Duration pause = context().options().pause_between_disruptions;
  for (const auto& [pool, last] : last_disruption_) {
    if (now < Later(last, pause)) waiting[pool] = "its pool pauses between disruptions";
  }
  if (context().options().upstream_exact) return waiting;  // all of them, before a round
  for (const ClaimPtr& claim : parts_.store.List()) {
    if (!claim->status.provider_id.empty() || claim->metadata.deletion_timestamp) continue;
    const auto& created = claim->metadata.creation_timestamp;
    if (created && now >= Later(created->at, kLongestStall)) continue;
    waiting[LabelOr(claim->metadata.labels, model::kNodePoolLabel)] =
        "waiting on cluster sync: " + claim->metadata.name + " of its pool is not launched yet";
  }
  return waiting;
}

void Disruptor::Look(const std::vector<ClaimPtr>& claims, TimePoint now) {
  if (running_ || !context().options().disruption) return;
  if (now < next_) return context().WakeAt(next_);
  const bool unsynced = context().options().upstream_exact && HasUnlaunched(claims);
  if (unsynced || !context().Stale().empty()) {
    next_ = Later(now, kUnsyncedPoll);
    return context().WakeAt(next_);
  }
  running_ = true;
  context().Spawn(Round());
}

Task<void> Disruptor::Round() {
  staying_now_.clear();
  staying_holds_ = false;
  held_back_ = false;
  const bool acted = co_await OneRound();
  running_ = false;
  last_round_ = context().Now();
  if (!staying_holds_) {
    staying_.clear();
    for (auto& [node, staying] : staying_now_) staying_.push_back(std::move(staying));
  }
  next_ = acted || std::exchange(again_, false)
              ? context().Now()
              : Later(context().Now(), context().options().disruption_poll);
  context().WakeAt(next_);
}

Disruptor::Scene Disruptor::SceneNow() {
  const TimePoint now = context().Now();
  const ViewParts view{context(), parts_.store, parts_.pools, parts_.marks};
  Scene scene;
  scene.world = std::make_shared<DisruptionWorld>(
      MakeView(view, now, {.disruption = true, .waiting_pools = WaitingPools(now)}));
  // What is on its way counts already, or two commands would share the same room.
  if (!context().options().upstream_exact) parts_.provisioner.HoldBackLimits(*scene.world);
  scene.round = std::make_shared<DisruptionRound>(*scene.world, DisruptionOptionsOf(context()));
  scene.print = FingerprintOf(*scene.world);
  scene.known = scene.print == consolidated_ && consolidated_at_ != TimePoint::min() &&
                now < Later(consolidated_at_, kMemoLasts);
  if (!scene.known) return scene;
  if (staying_now_.empty()) {  // what was said then still holds
    staying_holds_ = true;
  } else {
    for (const report::StayingPoolNode& staying : staying_)
      staying_now_.emplace(staying.node, staying);
  }
  return scene;
}

Task<bool> Disruptor::OneRound() {
  const TimePoint began = context().Now();
  Scene scene = SceneNow();
  TellProtected(*scene.world);
  for (const Method method : AllMethods()) {
    if (scene.known && IsConsolidation(method)) continue;
    if (consolidating_ > 0 && IsConsolidation(method)) {  // one move at a time
      held_back_ = true;
      continue;
    }
    const Tried tried = co_await Try(method, scene);
    if (tried == Tried::kActed) co_return true;
    // What came to nothing keeps no later method waiting; but it looks at what is there now.
    if (tried == Tried::kWorldChanged) scene = SceneNow();
  }
  if (!scene.known) {
    consolidated_ = scene.print;
    consolidated_at_ = held_back_ ? TimePoint::min() : began;
  }
  co_return false;
}

Task<Disruptor::Tried> Disruptor::Try(Method method, Scene scene) {
  const TimePoint began = context().Now();
  MethodAnswer answer;
  const std::function<void()> work = [&] { answer = scene.round->Ask(method); };
  const Status asked = co_await OnWorker(context().parts.workers, context().parts.executor, work);
  if (!asked.ok()) {
    held_back_ = true;
    co_return Tried::kNothing;
  }
  context().Observe(
      "karpenter_voluntary_disruption_decision_evaluation_duration_seconds",
      "Duration of the disruption decision evaluation process in seconds.",
      Seconds(context().Now() - began),
      {{"reason", LowerReason(method)}, {"consolidation_type", std::string(TypeOf(method))}});
  TellEligible(method, answer);
  CountMoves(answer);
  Tell(answer, *scene.world);
  held_back_ = held_back_ || answer.held_back_by_budget;
  Tried tried = Tried::kNothing;
  for (const Command& command : answer.commands) {
    Order order = OrderOf(command, *scene.world);
    if (order.claims.empty() || IsPausing(order, context().Now())) {
      held_back_ = true;
      continue;
    }
    if (WasShown(order)) continue;
    if (IsValidatedLater(method)) {
      if (tried == Tried::kNothing) tried = Tried::kWorldChanged;
      if (!context().options().upstream_exact) {
        ValidateApart(std::move(order));
        continue;
      }
      auto still = co_await Validated(std::move(order));
      if (!still) {
        held_back_ = true;
        continue;
      }
      order = *std::move(still);
    }
    if (co_await Begin(std::move(order))) {
      tried = Tried::kActed;
    } else if (!context().pretends() && tried == Tried::kNothing) {
      tried = Tried::kWorldChanged;
    }
  }
  co_return tried;
}

// True: it is being carried out.
Task<bool> Disruptor::Begin(Order order) {
  if (context().pretends()) {
    Show(order);
    co_return false;
  }
  const Order before = order;
  const Status started = co_await parts_.queue.Start(std::move(order));
  if (!started.ok()) {
    Abandon(before, "start", started.message());
    held_back_ = true;
    co_return false;
  }
  for (const std::string& pool : before.pools) last_disruption_[pool] = context().Now();
  co_return true;
}

bool Disruptor::IsPausing(const Order& order, TimePoint now) const {
  const Duration pause = context().options().pause_between_disruptions;
  if (pause <= Duration::zero()) return false;
  return std::ranges::any_of(order.pools, [&](const std::string& pool) {
    const auto last = last_disruption_.find(pool);
    return last != last_disruption_.end() && now < Later(last->second, pause);
  });
}

Order Disruptor::OrderOf(const Command& command, const DisruptionWorld& world) const {
  Order order{.method = command.method, .decision = command.decision, .savings = command.savings};
  for (const Candidate& candidate : command.candidates) {
    const Machine& machine = world.machines[candidate.machine];
    const ClaimPtr now = parts_.store.Find(*machine.claim);
    if (now == nullptr || now->metadata.deletion_timestamp) return {};  // look again
    order.claims.push_back(now);
    order.nodes.push_back(world.solver.nodes[candidate.machine].node);
    order.pods.push_back(candidate.reschedulable.size());
    if (candidate.repair) order.repairs.push_back(*candidate.repair);
    order.prices.push_back(candidate.price);
    order.price += candidate.price;
    if (std::ranges::find(order.pools, candidate.pool_name()) == order.pools.end())
      order.pools.push_back(candidate.pool_name());
  }
  for (const Replacement& replacement : command.replacements) {
    const NodePoolPtr pool = parts_.pools.Find(replacement.pool);
    if (pool == nullptr) return {};
    Provisioner::Wish wish;
    wish.pool = pool;
    wish.claim = ClaimFrom(*pool, PlannedFrom(replacement), context().labels());
    wish.reason = CreatedFor(command.method);
    wish.pods = replacement.pods;
    wish.most = MostOf(replacement.types);
    wish.least = LeastOf(replacement.types);
    for (const cloud::InstanceType* type : replacement.types) order.types.push_back(type->name);
    order.replacements.push_back(std::move(wish));
  }
  // Terminate-first: what is needed is bought for the pods when they wait.
  if (command.decision == Decision::kTerminateFirst) order.replacements.clear();
  for (const size_t machine : command.nominated) {
    const ClaimPtr& claim = world.machines[machine].claim;
    if (claim == nullptr) continue;
    const std::string& id = claim->status.provider_id;
    // Since it was looked at, its end has begun.
    if (parts_.marks.queued.contains(id) && !context().options().upstream_exact) return {};
    order.nominated.push_back(id);
  }
  return order;
}

}  // namespace coppice::provision
