#include "provision/pool_seller.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <set>
#include <tuple>
#include <utility>

#include "base/on_worker.h"
#include "market/intent.h"
#include "model/pod_kinds.h"
#include "model/taints.h"
#include "provision/claim_builder.h"
#include "provision/nearest_pool.h"
#include "provision/scheduler_check.h"

namespace coppice::provision {

namespace {

namespace names = model::karpenter;

// What a pool without limits can sell "at most": more than anybody asks for, and still a number.
constexpr int64_t kMostMachines = 1000;
constexpr char kGivenBack[] = "gang_given_back";  // as metrics count it

market::Refusal Refused(std::string text) {
  market::Refusal no;
  no.seller = PoolSeller::kName;
  no.text = std::move(text);
  return no;
}

model::Taint HoldTaint(std::string_view gang) {
  model::Taint taint;
  taint.key = std::string(market::kHeldForTaint);
  taint.value = market::HoldValue(gang);
  taint.effect = model::kNoSchedule;
  return taint;
}

bool IsRegistered(const model::NodeClaim& claim) {
  return model::IsTrue(claim.status.conditions, names::kRegistered);
}

bool Leaves(const model::Pod& pod) {
  return IsTerminal(pod) || model::IsMirrorPod(pod) || model::IsStaticPod(pod) ||
         model::IsDaemonSetPod(pod);
}

model::Quantity Times(std::string_view resource, const model::Quantity& amount, int64_t count) {
  return resource == "cpu" ? model::Quantity::FromMillis(amount.MilliValue() * count)
                           : model::Quantity::FromUnits(amount.Value() * count);
}

}  // namespace

std::shared_ptr<DisruptionWorld> PoolSeller::WorldFor(const market::Want& want,
                                                      const market::View& view,
                                                      Reasons& reasons) const {
  const ViewParts parts{context(), parts_.store, parts_.pools, parts_.marks};
  std::vector<PodPtr> asked;
  for (const market::TaskClass& one : want.classes) asked.push_back(one.pod);
  auto world = std::make_shared<DisruptionWorld>(MakeView(parts, view.now, {.also_asked = asked}));
  parts_.provisioner.HoldBackLimits(*world);
  ShowPlaced(want.placed, *world);
  ShowPlaced(view.placed, *world);
  const std::set<std::string> unsynced = parts_.provisioner.UnsyncedPools();
  std::erase_if(world->solver.pools, [&](const Pool& pool) {
    const NodePoolPtr now = parts_.pools.Find(pool.name);
    std::string why = now == nullptr ? "it is gone" : PoolLedger::WhyFull(*now);
    if (unsynced.contains(pool.name))
      why = "a claim of this pool is not launched yet, and nobody knows for whom it is";
    if (why.empty()) return false;
    reasons.push_back({pool.name, std::move(why)});
    return true;
  });
  return world;
}

Status PoolSeller::WhyNotTried(const market::Want& want, const DisruptionWorld& world) const {
  const StorageIndex storage(world.solver.storage);
  for (const market::TaskClass& one : want.classes) {
    const auto refusal = Validate(*one.pod, storage, context().labels(), StorageRulesOf(context()));
    if (refusal) return FailedPrecondition(one.role + ": " + refusal->text);
  }
  return Status::Ok();
}

void PoolSeller::DropMisfits(const DisruptionWorld& world, PoolQuote& quote) const {
  const EngineOptions& options = context().options();
  if (context().parts.filters == nullptr || !options.ask_filters) return;
  std::vector<model::NodeClaim> claims;
  for (const PlannedClaim& planned : quote.outcome.claims) {
    const auto pool = parts_.pools.Find(world.solver.pools[planned.pool].name);
    claims.push_back(pool == nullptr ? model::NodeClaim()
                                     : ClaimFrom(*pool, planned, context().labels()));
  }
  const PlanToCheck plan{world.solver, quote.tasks.pods, quote.outcome, claims, context().labels()};
  for (const Misfit& misfit : WouldNotSchedule(context().world(), *context().parts.filters, plan)) {
    PlannedClaim& claim = quote.outcome.claims[misfit.claim];
    std::erase(claim.pods, misfit.pod);
    quote.outcome.errors.push_back(
        {.pod = misfit.pod,
         .text =
             fmt::format("the scheduler's own filters refuse such a machine of nodepool \"{}\": "
                         "{}",
                         world.solver.pools[claim.pool].name, misfit.text)});
  }
}

Task<market::Quotes> PoolSeller::Quote(market::Want want, market::View view) {
  ForgetQuotes(want.gang);
  if (!Ready()) co_return Refused("what node pools can buy is not known yet");
  if (std::string stale = context().Stale(); !stale.empty()) co_return Refused(std::move(stale));
  if (context().options().upstream_exact)
    co_return Refused("gangs are not bought for under --upstream-exact");
  Reasons reasons;
  const std::shared_ptr<DisruptionWorld> world = WorldFor(want, view, reasons);
  if (const Status tried = WhyNotTried(want, *world); !tried.ok())
    co_return Refused(tried.message());
  if (world->solver.pools.empty()) {
    market::Refusal no = Refused("no node pool may buy now");
    no.reasons = std::move(reasons);
    co_return no;
  }
  const auto domains = DomainsOf(want.topology, *world, context().labels());
  std::vector<PoolQuote> quotes;
  const SolverOptions options = SolverOptionsOf(context());
  const std::function<void()> work = [&] {
    Solver solver(world->solver, options);
    for (const std::string& domain : domains) quotes.push_back(QuoteIn(solver, want, domain));
  };
  const Status ran = co_await OnWorker(context().parts.workers, context().parts.executor, work);
  if (!ran.ok()) co_return Refused("no worker is free: " + ran.message());
  if (quotes.empty())
    co_return Refused("no machine of the node pools has the label " + want.topology.key);
  std::vector<market::Offer> offers;
  const PoolQuote* nearest = nullptr;
  for (PoolQuote& quote : quotes) {
    DropMisfits(*world, quote);
    const int placed = quote.Placed();
    if (placed == want.count() || (want.in_part && placed > 0)) {
      offers.push_back(Remember(quote, want, *world));
    } else if (nearest == nullptr || placed > nearest->Placed()) {
      nearest = &quote;
    }
  }
  if (!offers.empty()) co_return offers;
  co_return co_await RefusalOf(world, *nearest, std::move(reasons));
}

Task<market::Refusal> PoolSeller::RefusalOf(std::shared_ptr<const DisruptionWorld> world,
                                            PoolQuote nearest, Reasons reasons) const {
  const std::vector<size_t> unplaced = nearest.Unplaced();
  market::Refusal no = Refused(fmt::format("{} of {} tasks find no machine for sale{}",
                                           unplaced.size(), nearest.tasks.pods.size(),
                                           nearest.domain.empty() ? "" : " in " + nearest.domain));
  no.short_of = static_cast<int>(unplaced.size());
  no.reasons = std::move(reasons);
  if (unplaced.empty()) co_return no;
  std::string said;
  for (const PodError& error : nearest.outcome.errors) {
    if (error.pod == unplaced.front()) said = error.text;
  }
  std::vector<report::PoolMiss> misses;
  const PodPtr pod = nearest.tasks.pods[unplaced.front()];
  const SolverOptions options = SolverOptionsOf(context());
  size_t solves_left = context().options().explain_solves;
  const std::function<void()> work = [&] {
    misses = NearMisses(*world, pod, options, solves_left);
  };
  const Status ran = co_await OnWorker(context().parts.workers, context().parts.executor, work);
  if (!ran.ok()) no.reasons.push_back({"all pools", said});
  for (report::PoolMiss& miss : misses) {
    const bool known = std::ranges::find(no.reasons, miss.pool, &market::Refusal::Reason::source) !=
                       no.reasons.end();
    if (known) continue;
    // Alone it would be taken: what stands in the way is that there are so many.
    const bool alone = miss.tried && miss.what == report::PoolMiss::What::kOther;
    no.reasons.push_back({miss.pool, alone ? "not for all of them: " + said : miss.text});
  }
  co_return no;
}

market::Offer PoolSeller::Remember(const PoolQuote& quote, const market::Want& want,
                                   const DisruptionWorld& world) {
  const std::string prefix = fmt::format("quote-{}", next_quote_++);
  market::Offer offer = OfferOf(quote, want, world, context().labels(), prefix);
  offer.seller = kName;
  for (size_t i = 0; i < quote.outcome.claims.size(); ++i) {
    const PlannedClaim& planned = quote.outcome.claims[i];
    const NodePoolPtr pool = parts_.pools.Find(world.solver.pools[planned.pool].name);
    if (planned.pods.empty() || pool == nullptr) continue;
    Provisioner::Wish wish;
    wish.pool = pool;
    wish.claim = ClaimFrom(*pool, planned, context().labels());
    wish.claim.metadata.annotations[kGangAnnotation] = want.gang;
    wish.claim.spec.startup_taints.push_back(HoldTaint(want.gang));
    wish.reason = "provisioned";
    wish.most = MostOf(planned.types);
    for (const size_t pod : planned.pods) wish.pods.push_back(quote.tasks.pods[pod]);
    quoted_[MachineName(prefix, i)] = {want.gang, std::move(wish)};
  }
  return offer;
}

void PoolSeller::ForgetQuotes(std::string_view gang) {
  std::erase_if(quoted_, [&](const auto& entry) { return entry.second.gang == gang; });
}

Task<market::Outcome> PoolSeller::Order(market::Offer offer) {
  market::Outcome outcome;
  outcome.seller = kName;
  outcome.gang = offer.gang;
  outcome.ordered_at = context().Now();
  std::vector<Provisioner::Wish> wishes;
  std::vector<PoolLedger::Entry> entries;
  std::set<std::string> machines;
  for (const market::Seat& seat : offer.seats) {
    if (!machines.insert(seat.machine).second) continue;
    const auto quoted = quoted_.find(seat.machine);
    const NodePoolPtr pool = parts_.pools.Find(seat.source);
    if (quoted == quoted_.end() || pool == nullptr) {
      outcome.status = FailedPrecondition("nodepool " + seat.source +
                                          " is not what it was when it was offered; ask again");
      co_return outcome;
    }
    wishes.push_back(quoted->second.wish);
    wishes.back().pool = pool;
    entries.push_back(Provisioner::EntryOf(wishes.back()));
  }
  auto grants = parts_.provisioner.ledger().TakeAll(std::move(entries));
  if (!grants.ok()) {
    outcome.status = FailedPrecondition(grants.status().message() +
                                        "; it is not what it was when it was offered, ask again");
    co_return outcome;
  }
  ForgetQuotes(offer.gang);
  std::vector<Task<Result<ClaimPtr>>> purchases;
  for (size_t i = 0; i < wishes.size(); ++i)
    purchases.push_back(parts_.provisioner.Buy(std::move(wishes[i]), std::move((*grants)[i])));
  const auto bought = co_await WhenAll(std::move(purchases));
  const auto failed = std::ranges::find_if(bought, [](const auto& one) { return !one.ok(); });
  if (failed == bought.end()) {
    outcome.lots = offer.lots;
    co_return outcome;
  }
  outcome.status = failed->status().Context("creating a claim");
  for (const auto& one : bought) {
    if (!one.ok()) continue;
    const Status given_back = co_await parts_.life.Disrupt(*one, kGivenBack);
    if (!given_back.ok())
      outcome.status =
          outcome.status.Context("and not all was given back (" + given_back.message() + ")");
  }
  co_return outcome;
}

std::vector<ClaimPtr> PoolSeller::ClaimsOf(const market::Outcome& outcome,
                                           std::string_view pool) const {
  // API servers write whole seconds.
  const TimePoint since = std::chrono::floor<std::chrono::seconds>(outcome.ordered_at);
  std::vector<ClaimPtr> claims;
  for (const ClaimPtr& claim : parts_.store.List()) {
    const auto& created = claim->metadata.creation_timestamp;
    if (LabelOr(claim->metadata.labels, model::kNodePoolLabel) != pool ||
        LabelOr(claim->metadata.annotations, kGangAnnotation) != outcome.gang ||
        claim->metadata.deletion_timestamp || (created && created->at < since))
      continue;
    claims.push_back(claim);
  }
  std::ranges::sort(claims, [](const ClaimPtr& a, const ClaimPtr& b) {
    return std::tie(a->metadata.creation_timestamp, a->metadata.name) <
           std::tie(b->metadata.creation_timestamp, b->metadata.name);
  });
  return claims;
}

bool PoolSeller::IsUnused(const model::NodeClaim& claim, std::string_view gang) const {
  const model::Taint hold = HoldTaint(gang);
  for (const NodePtr& node : context().NodesOf(claim.status.provider_id)) {
    const auto pods = context().world().BoundTo(node->metadata.name);
    if (!std::ranges::all_of(pods, [](const auto* entry) { return Leaves(*entry->pod); }))
      return false;
    if (std::ranges::none_of(node->spec.taints, [&](const model::Taint& taint) {
          return taint.key == hold.key && taint.value == hold.value;
        }))
      return false;
  }
  return true;  // also one without a node: it would come with the mark
}

Task<Status> PoolSeller::Cancel(market::Outcome outcome) {
  Status first;
  for (const market::Lot& lot : outcome.lots) {
    std::vector<ClaimPtr> claims = ClaimsOf(outcome, lot.source);
    // What is not there yet goes first.
    std::ranges::stable_sort(claims, {},
                             [](const ClaimPtr& claim) { return IsRegistered(*claim); });
    int left = lot.machines;
    for (const ClaimPtr& claim : claims) {
      if (left <= 0) break;
      const ClaimPtr now = parts_.store.Find(*claim);
      if (now == nullptr || now->metadata.deletion_timestamp || !IsUnused(*now, outcome.gang))
        continue;
      const Status gone = co_await parts_.life.Disrupt(now, kGivenBack);
      if (gone.ok()) {
        --left;
      } else if (first.ok()) {
        first = gone.Context("nodeclaim " + claim->metadata.name);
      }
    }
  }
  co_return first;
}

bool PoolSeller::WasOrdered(const market::Outcome& outcome, const market::Lot& lot) const {
  // Of a purchase that was cut short what is missing counts as lost, and is bought again.
  return !ClaimsOf(outcome, lot.source).empty();
}

market::Delivery PoolSeller::Look(const market::Outcome& outcome,
                                  const std::vector<std::string>& taken) const {
  const std::set<std::string_view> others(taken.begin(), taken.end());
  market::Delivery delivery;
  for (const market::Lot& lot : outcome.lots) {
    int left = lot.machines;
    for (const ClaimPtr& claim : ClaimsOf(outcome, lot.source)) {
      if (left <= 0) break;
      if (!IsRegistered(*claim)) {
        ++delivery.coming;
      } else if (others.contains(claim->status.node_name)) {
        continue;
      } else {
        delivery.nodes.push_back(claim->status.node_name);
      }
      --left;
    }
    delivery.lost += left;
  }
  return delivery;
}

const model::ResourceList& PoolSeller::MostOfOne(const std::string& pool) const {
  const auto types = parts_.pools.TypesOf(pool);
  Largest& largest = largest_[pool];
  if (types == largest.types) return largest.most;
  largest = {.types = types};
  if (types == nullptr) return largest.most;
  for (const cloud::InstanceType& type : *types) {
    for (const cloud::AllocatableGroup& group : cloud::AllocatableGroups(type)) {
      for (const auto& [resource, amount] : group.allocatable) {
        model::Quantity& most = largest.most[resource];
        if (most.Compare(amount) < 0) most = amount;
      }
    }
  }
  return largest.most;
}

model::ResourceList PoolSeller::Stock(TimePoint) const {
  model::ResourceList stock;
  for (const NodePoolPtr& pool : parts_.pools.pools()) {
    if (model::IsStatic(*pool) || pool->metadata.deletion_timestamp ||
        !model::IsTrue(pool->status.conditions, names::kReady))
      continue;
    const auto left = [&](std::string_view resource) -> std::optional<model::Quantity> {
      const model::Quantity* limit = pool->spec.limits.Find(resource);
      if (limit == nullptr) return std::nullopt;
      model::Quantity rest = *limit;
      if (const auto* used = pool->status.resources.Find(resource)) rest.Sub(*used);
      return rest;
    };
    int64_t machines = kMostMachines;
    if (const auto nodes = left("nodes"))
      machines = std::clamp<int64_t>(nodes->Value(), 0, kMostMachines);
    for (const auto& [resource, amount] : MostOfOne(pool->metadata.name)) {
      model::Quantity most = Times(resource, amount, machines);
      if (const auto rest = left(resource); rest && rest->Compare(most) < 0) most = *rest;
      if (most.Compare({}) > 0) stock[resource].Add(most);
    }
  }
  for (const ClaimPtr& claim : parts_.store.List()) {
    const bool coming = claim->metadata.annotations.contains(kGangAnnotation) &&
                        !claim->metadata.deletion_timestamp && !IsRegistered(*claim);
    if (!coming) continue;
    for (const auto& [resource, amount] : claim->status.allocatable) stock[resource].Add(amount);
  }
  return stock;
}

}  // namespace coppice::provision
