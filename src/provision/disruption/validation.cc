// Validation: a command that looked good is looked at again after a while. Pods come and go, and a
// machine that was empty for a moment is not empty. All that is rebuilt from the World as it is
// then; nothing of the first look is taken over but which machines it was about.

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/on_worker.h"
#include "provision/disruption/disruptor.h"

namespace coppice::provision {

namespace {

// Of a command's claims, those that are candidates still, in the order of the command.
std::vector<const Candidate*> CandidatesOf(const Order& order, const DisruptionWorld& world,
                                           const MethodAnswer& answer) {
  std::vector<const Candidate*> found;
  for (const ClaimPtr& claim : order.claims) {
    for (const Candidate& candidate : answer.candidates) {
      if (world.machines[candidate.machine].claim->metadata.uid == claim->metadata.uid)
        found.push_back(&candidate);
    }
  }
  return found;
}

std::set<std::string> ProviderIdsOf(const Order& order) {
  std::set<std::string> ids;
  for (const ClaimPtr& claim : order.claims) ids.insert(claim->status.provider_id);
  return ids;
}

bool WithinBudgets(const std::vector<const Candidate*>& candidates,
                   std::map<std::string, int64_t> budgets) {
  return std::ranges::all_of(candidates, [&](const Candidate* candidate) {
    return budgets[candidate->pool_name()]-- > 0;
  });
}

}  // namespace

void Disruptor::CountFailed(Method method, size_t candidates) {
  context()
      .parts.metrics
      .GetCounter("karpenter_voluntary_disruption_failed_validations_total",
                  "Number of candidates that were selected for disruption but failed validation.",
                  {{"consolidation_type", std::string(TypeOf(method))}})
      .Add(static_cast<double>(candidates));
}

void Disruptor::Reject(const Order& order, std::string_view kind, std::string why) {
  CountFailed(order.method, order.claims.size());
  if (order.method != Method::kEmptiness) {
    for (size_t i = 0; i < order.claims.size(); ++i) {
      const std::string text =
          fmt::format("Consolidation rejected: {}, reason: {} (savings: ${:.2f})",
                      CommandText(order.decision, order.nodes[i]->metadata.name, order.nodes.size(),
                                  order.replacements.size()),
                      kind, order.savings);
      const std::string_view reason = ToString(DisruptionEventKind::kRejected);
      context().Tell(Context::Of(*order.nodes[i]), "Normal", reason, text);
      context().Tell(Context::Of(*order.claims[i]), "Normal", reason, text);
    }
  }
  Abandon(order, kind, std::move(why));
}

void Disruptor::Abandon(const Order& order, std::string_view kind, std::string why) {
  context().parts.log.Info("a disruption is abandoned",
                           {{"reason", ReasonOf(order.method)}, {"kind", kind}, {"why", why}});
  parts_.queue.Note(order, "Abandoned", std::move(why), context().Now());
}

void Disruptor::ValidateApart(Order order) {
  for (const ClaimPtr& claim : order.claims) parts_.marks.chosen.insert(claim->status.provider_id);
  if (order.method != Method::kEmptiness) ++consolidating_;
  context().Spawn(CheckAndBegin(std::move(order)));
}

Task<void> Disruptor::CheckAndBegin(Order order) {
  const bool consolidates = order.method != Method::kEmptiness;
  const std::set<std::string> machines = ProviderIdsOf(order);
  auto still = co_await Validated(std::move(order));
  if (still && IsPausing(*still, context().Now())) {  // another command of the pool was faster
    Abandon(*still, "pause", "its pool pauses between disruptions");
    still.reset();
  }
  const bool began = still && co_await Begin(*std::move(still));
  for (const std::string& id : machines) parts_.marks.chosen.erase(id);
  if (consolidates) --consolidating_;
  if (!began) co_return;
  if (running_) {
    again_ = true;
    co_return;
  }
  next_ = context().Now();
  context().WakeAt(next_);
}

std::shared_ptr<DisruptionWorld> Disruptor::WorldAgain(const Order& order) {
  const ViewParts view{context(), parts_.store, parts_.pools, parts_.marks};
  auto world = std::make_shared<DisruptionWorld>(
      MakeView(view, context().Now(), {.disruption = true, .checked_again = ProviderIdsOf(order)}));
  if (!context().options().upstream_exact) parts_.provisioner.HoldBackLimits(*world);
  return world;
}

Task<std::optional<Order>> Disruptor::Validated(Order order) {
  const uint64_t number = next_validation_++;
  validating_[number] = DisruptionQueue::Described(order, "Validating", context().Now());
  co_await context().parts.executor.Sleep(context().options().validation_delay);
  validating_.erase(number);
  if (std::string stale = context().Stale(); !stale.empty()) {
    Abandon(order, "stale", std::move(stale));
    co_return std::nullopt;
  }
  const auto world = WorldAgain(order);
  if (order.method == Method::kEmptiness) co_return co_await StillEmpty(std::move(order), world);
  co_return co_await StillCheaper(std::move(order), world);
}

Task<std::optional<Order>> Disruptor::StillEmpty(Order order,
                                                 std::shared_ptr<DisruptionWorld> world) {
  DisruptionRound round(*world, DisruptionOptionsOf(context()));
  const MethodAnswer answer = round.Wanted(order.method);
  auto budgets = answer.budgets;
  Order kept = order;
  kept.claims.clear();
  kept.nodes.clear();
  kept.pods.clear();
  kept.pools.clear();
  kept.prices.clear();
  kept.price = 0;
  for (const Candidate* candidate : CandidatesOf(order, *world, answer)) {
    if (budgets[candidate->pool_name()]-- <= 0) continue;
    kept.claims.push_back(world->machines[candidate->machine].claim);
    kept.nodes.push_back(world->solver.nodes[candidate->machine].node);
    kept.pods.push_back(candidate->reschedulable.size());
    kept.prices.push_back(candidate->price);
    kept.price += candidate->price;
    if (std::ranges::find(kept.pools, candidate->pool_name()) == kept.pools.end())
      kept.pools.push_back(candidate->pool_name());
  }
  kept.savings = kept.price;
  if (kept.claims.empty()) {
    Reject(order, "churn", "none of its nodes is empty any more");
    co_return std::nullopt;
  }
  CountFailed(order.method, order.claims.size() - kept.claims.size());
  co_return kept;
}

// Whether all of its machines are candidates and within budgets; else it is rejected.
bool Disruptor::AreAllWanted(const Order& order, const std::vector<const Candidate*>& candidates,
                             const MethodAnswer& answer) {
  if (candidates.size() != order.claims.size()) {
    Reject(order, "churn", "not all of its nodes are candidates any more");
    return false;
  }
  if (!WithinBudgets(candidates, answer.budgets)) {
    Reject(order, "budget", "the budgets do not allow it any more");
    return false;
  }
  return true;
}

// The search may have taken a while: all that was asked before it is asked once more, of what is
// there now, for somebody may have taken to one of its machines meanwhile.
std::optional<Order> Disruptor::StillWanted(Order order) {
  if (std::string stale = context().Stale(); !stale.empty()) {
    Abandon(order, "stale", std::move(stale));
    return std::nullopt;
  }
  const auto world = WorldAgain(order);
  DisruptionRound round(*world, DisruptionOptionsOf(context()));
  const MethodAnswer answer = round.Wanted(order.method);
  const auto candidates = CandidatesOf(order, *world, answer);
  if (!AreAllWanted(order, candidates, answer)) return std::nullopt;
  for (size_t i = 0; i < candidates.size(); ++i) {
    order.claims[i] = world->machines[candidates[i]->machine].claim;
    order.nodes[i] = world->solver.nodes[candidates[i]->machine].node;
    order.pods[i] = candidates[i]->reschedulable.size();
  }
  return order;
}

Task<std::optional<Order>> Disruptor::StillCheaper(Order order,
                                                   std::shared_ptr<DisruptionWorld> world) {
  DisruptionRound round(*world, DisruptionOptionsOf(context()));
  const MethodAnswer answer = round.Wanted(order.method);
  const auto candidates = CandidatesOf(order, *world, answer);
  if (!AreAllWanted(order, candidates, answer)) co_return std::nullopt;
  SimulationOutcome outcome;
  const std::function<void()> work = [&] { outcome = round.Without(candidates); };
  const Status asked = co_await OnWorker(context().parts.workers, context().parts.executor, work);
  if (!asked.ok() || !outcome.trouble.empty() ||
      outcome.replacements.size() != order.replacements.size()) {
    Reject(order, "scheduling",
           outcome.trouble.empty() ? "another number of machines would be needed now"
                                   : outcome.trouble);
    co_return std::nullopt;
  }
  if (!order.replacements.empty()) {
    std::set<std::string> sold;
    for (const cloud::InstanceType* type : outcome.replacements[0].types) sold.insert(type->name);
    const bool all = std::ranges::all_of(
        order.types, [&](const std::string& type) { return sold.contains(type); });
    if (!all) {
      Reject(order, "scheduling", "a type that it would buy does not do any more");
      co_return std::nullopt;
    }
  }
  co_return StillWanted(std::move(order));
}

}  // namespace coppice::provision
