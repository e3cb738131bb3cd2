#include "provision/disruption/queue.h"

#include <algorithm>
#include <utility>

#include "model/taints.h"
#include "provision/conditions.h"
#include "wire/time_text.h"

namespace coppice::provision {

namespace {

namespace names = model::karpenter;

constexpr Duration kPerCandidate = std::chrono::milliseconds(80);
constexpr Duration kLeastTimeout = std::chrono::minutes(10);
constexpr Duration kMostTimeout = std::chrono::hours(1);

// The part of a command that only deletes that is about these of its claims.
Order Kept(const Order& order, const std::vector<bool>& these) {
  Order kept = order;
  kept.claims.clear();
  kept.nodes.clear();
  kept.pods.clear();
  kept.prices.clear();
  kept.repairs.clear();
  kept.pools.clear();
  for (size_t i = 0; i < these.size(); ++i) {
    if (!these[i]) {
      kept.price -= order.prices[i];
      kept.savings -= order.prices[i];
      continue;
    }
    kept.claims.push_back(order.claims[i]);
    kept.nodes.push_back(order.nodes[i]);
    kept.pods.push_back(order.pods[i]);
    kept.prices.push_back(order.prices[i]);
    if (i < order.repairs.size()) kept.repairs.push_back(order.repairs[i]);
    const std::string pool = LabelOr(order.claims[i]->metadata.labels, model::kNodePoolLabel);
    if (std::ranges::find(kept.pools, pool) == kept.pools.end()) kept.pools.push_back(pool);
  }
  return kept;
}

bool HasOurTaint(const model::Node& node) {
  return std::ranges::any_of(node.spec.taints, [](const model::Taint& taint) {
    return taint.key == names::kDisruptedTaint && taint.effect == model::kNoSchedule;
  });
}

}  // namespace

Task<Status> DisruptionQueue::MarkOne(ClaimPtr claim, NodePtr node, std::string reason) {
  const Status held =
      context().world().held_nodes().Hold(node->metadata.name, node->metadata.uid, Engine::kName);
  if (!held.ok()) co_return held;
  cluster::NodeChange change;
  model::Taint taint;
  taint.key = names::kDisruptedTaint;
  taint.effect = model::kNoSchedule;
  change.add_taints.push_back(std::move(taint));
  const Status tainted =
      co_await context().parts.writer.ChangeNode(node->metadata.name, std::move(change));
  if (!tainted.ok()) co_return tainted;
  const ClaimPtr now = parts_.store.Find(*claim);
  if (now == nullptr || now->metadata.deletion_timestamp)
    co_return Status(Code::kAborted, claim->metadata.name + " is going already");
  model::NodeClaim after = *now;
  SetClaimCondition(after, names::kDisruptionReason, "True", reason, reason, context().Now());
  co_return co_await parts_.store.Write(now, std::move(after));
}

bool DisruptionQueue::IsEnding(const model::NodeClaim& claim) {
  const ClaimPtr now = parts_.store.Find(claim);
  return now != nullptr && now->metadata.deletion_timestamp;
}

Task<void> DisruptionQueue::Unmark(ClaimPtr claim, std::string node) {
  if (IsEnding(*claim)) co_return;  // no pod is to come there any more
  cluster::NodeChange change;
  change.remove_taints.push_back(names::kDisruptedTaint);
  const Status untainted = co_await context().parts.writer.ChangeNode(node, std::move(change));
  if (!untainted.ok() && untainted.code() != Code::kNotFound) {
    context().parts.log.Warning("a taint could not be taken back",
                                {{"node", node}, {"error", untainted}});
  }
  context().world().held_nodes().Release(node, Engine::kName);
  const ClaimPtr now = parts_.store.Find(*claim);
  if (now == nullptr || now->metadata.deletion_timestamp) co_return;
  model::NodeClaim after = *now;
  if (!model::ClearCondition(after.status.conditions, names::kDisruptionReason)) co_return;
  const Status written = co_await parts_.store.Write(now, std::move(after));
  if (!written.ok() && written.code() != Code::kAborted) {
    context().parts.log.Warning("a condition could not be taken back",
                                {{"nodeclaim", claim->metadata.name}, {"error", written}});
  }
}

Task<void> DisruptionQueue::UnmarkAll(Order order) {
  for (size_t i = 0; i < order.claims.size(); ++i)
    co_await Unmark(order.claims[i], order.nodes[i]->metadata.name);
}

// Taints all. Those that cannot be are left out of a command that only deletes; one that replaces is
// all or nothing.
Task<Status> DisruptionQueue::Mark(Order& order) {
  std::vector<Task<Status>> marks;
  const std::string reason(ReasonOf(order.method));
  for (size_t i = 0; i < order.claims.size(); ++i)
    marks.push_back(MarkOne(order.claims[i], order.nodes[i], reason));
  const std::vector<Status> results = co_await WhenAll(std::move(marks));
  Status failed;
  std::vector<bool> marked;
  for (size_t i = 0; i < results.size(); ++i) {
    marked.push_back(results[i].ok());
    if (results[i].ok()) continue;
    failed = results[i];
    co_await Unmark(order.claims[i], order.nodes[i]->metadata.name);
  }
  Order kept = Kept(order, marked);
  if (!failed.ok() && (!order.replacements.empty() || kept.claims.empty())) {
    co_await UnmarkAll(kept);
    co_return failed;
  }
  order = std::move(kept);
  co_return Status::Ok();
}

// All at once; if one cannot be had, none stays.
Task<Result<std::vector<ClaimPtr>>> DisruptionQueue::BuyAll(Order& order,
                                                            std::vector<PoolLedger::Grant> grants) {
  std::vector<Task<Result<ClaimPtr>>> purchases;
  for (size_t i = 0; i < order.replacements.size(); ++i) {
    purchases.push_back(
        parts_.provisioner.Buy(std::move(order.replacements[i]), std::move(grants[i])));
  }
  const auto results = co_await WhenAll(std::move(purchases));
  std::vector<ClaimPtr> bought;
  Status failed;
  for (const Result<ClaimPtr>& made : results) {
    if (!made.ok()) {
      failed = made.status();
      continue;
    }
    context().Tell(Context::Of(**made), "Normal", "DisruptionLaunching",
                   "Launching NodeClaim: " + std::string(ReasonOf(order.method)));
    bought.push_back(*made);
  }
  if (failed.ok()) co_return bought;
  for (const ClaimPtr& claim : bought) {
    const Status gone = co_await parts_.store.Delete(claim);
    (void)gone;  // found empty later
  }
  co_return failed;
}

Task<Status> DisruptionQueue::Start(Order order) {
  for (const ClaimPtr& claim : order.claims) {
    if (parts_.marks.queued.contains(claim->status.provider_id))
      co_return Status(Code::kAborted, claim->metadata.name + " is in another command");
  }
  std::vector<PoolLedger::Entry> entries;
  for (const Provisioner::Wish& wish : order.replacements)
    entries.push_back(Provisioner::EntryOf(wish));
  CO_TRY(auto grants, parts_.provisioner.ledger().TakeAll(std::move(entries), order.claims));
  const std::string id = "command-" + std::to_string(next_id_++);
  for (const ClaimPtr& claim : order.claims) parts_.marks.queued[claim->status.provider_id] = id;
  const std::vector<ClaimPtr> all = order.claims;
  const auto forget = [&] {
    for (const ClaimPtr& claim : all) parts_.marks.queued.erase(claim->status.provider_id);
  };
  const Status marked = co_await Mark(order);
  if (!marked.ok()) {
    forget();
    co_return marked;
  }
  Active active{.since = context().Now()};
  auto bought = co_await BuyAll(order, std::move(grants));
  if (!bought.ok()) {
    co_await UnmarkAll(order);
    forget();
    co_return bought.status();
  }
  active.replacements = *std::move(bought);
  forget();
  for (const ClaimPtr& claim : order.claims) {
    parts_.marks.queued[claim->status.provider_id] = id;
    parts_.marks.leaving.insert(claim->status.provider_id);  // only now: else bought for twice
  }
  const TimePoint until = Later(context().Now(), context().options().nomination_window());
  for (const std::string& nominated : order.nominated) parts_.marks.Nominate(nominated, until);
  active.told =
      Described(order, active.replacements.empty() ? "Deleting" : "Launching", context().Now());
  active.told.id = id;
  if (!active.replacements.empty()) active.told.replacements.clear();
  for (const ClaimPtr& claim : active.replacements)
    active.told.replacements.push_back(claim->metadata.name);
  CountDecision(order);
  context().parts.log.Info("machines are taken away", {{"command", id},
                                                       {"reason", active.told.reason},
                                                       {"decision", active.told.decision},
                                                       {"nodes", order.nodes.size()},
                                                       {"replacements", active.replacements.size()},
                                                       {"savings", order.savings}});
  active.order = std::move(order);
  active_[id] = std::move(active);
  Look(context().Now());
  co_return Status::Ok();
}

void DisruptionQueue::Look(TimePoint now) {
  size_t candidates = 0;
  for (const auto& [id, active] : active_) candidates += active.order.claims.size();
  const Duration timeout = std::clamp<Duration>(kPerCandidate * static_cast<int64_t>(candidates),
                                                kLeastTimeout, kMostTimeout);
  for (auto& [id, active] : active_) {
    if (active.busy) continue;
    std::string lost;
    bool waits = false;
    for (const ClaimPtr& replacement : active.replacements) {
      const ClaimPtr found = parts_.store.Find(*replacement);
      if (found == nullptr || found->metadata.deletion_timestamp) {
        lost = "its replacement " + replacement->metadata.name + " has come to nothing";
      } else if (!model::IsTrue(found->status.conditions, names::kInitialized)) {
        waits = true;
        context().Tell(Context::Of(*found), "Normal", "DisruptionWaitingReadiness",
                       "Waiting on readiness to continue disruption");
      }
    }
    const bool late = now >= Later(active.since, timeout);
    if (lost.empty() && late && waits) lost = "its replacements were not up in time";
    if (lost.empty() && late && active.refused)
      lost = "not all of its machines could be deleted in time";
    if (!lost.empty()) {
      active.busy = true;
      context().Spawn(RollBack(id, lost));
    } else if (!waits) {
      active.busy = true;
      active.told.stage = "Deleting";
      context().Spawn(DeleteAll(id));
    }
    context().WakeAt(Later(now, std::chrono::seconds(1)));
  }
  // A mark goes with its machine.
  std::set<std::string> there;
  for (const ClaimPtr& claim : parts_.store.List()) there.insert(claim->status.provider_id);
  std::erase_if(parts_.marks.leaving, [&](const std::string& id) { return !there.contains(id); });
}

Task<void> DisruptionQueue::DeleteAll(std::string id) {
  const Order order = active_.at(id).order;
  bool all = true;
  for (size_t i = 0; i < order.claims.size(); ++i) {
    const ClaimPtr now = parts_.store.Find(*order.claims[i]);
    if (now == nullptr || now->metadata.deletion_timestamp) continue;
    const std::string text =
        "Disrupting " + std::string(ToString(order.decision)) + ": " + LowerReason(order.method);
    context().Tell(Context::Of(*order.nodes[i]), "Normal", "DisruptionTerminating", text);
    context().Tell(Context::Of(*now), "Normal", "DisruptionTerminating", text);
    Status status;
    if (i < order.repairs.size() && order.repairs[i].grace)
      status = co_await Bound(now, Later(context().Now(), *order.repairs[i].grace));
    if (status.ok()) {
      ClaimLife::Disruption why{.reason = LowerReason(order.method),
                                .consolidates = !TypeOf(order.method).empty(),
                                .pods = order.pods[i]};
      status = co_await parts_.life.DisruptFor(now, std::move(why));
    }
    if (status.ok() && i < order.repairs.size()) CountRepair(*now, order.repairs[i]);
    all = all && status.ok();
  }
  if (!all) {  // the next look tries again, for a while
    active_.at(id).refused = true;
    co_await context().parts.executor.Sleep(std::chrono::seconds(1));
    active_.at(id).busy = false;
    co_return;
  }
  Close(id, "Done", "");
}

Task<Status> DisruptionQueue::Bound(ClaimPtr claim, TimePoint end) {
  const std::string* there =
      claim->metadata.annotations.Find(names::kTerminationTimestampAnnotation);
  const auto at = there == nullptr ? std::nullopt : wire::ParseRfc3339(*there);
  if (at && *at <= end) co_return Status::Ok();
  model::NodeClaim after = *claim;
  after.metadata.annotations[names::kTerminationTimestampAnnotation] = wire::FormatRfc3339(end);
  co_return co_await parts_.store.Write(claim, std::move(after));
}

Task<void> DisruptionQueue::RollBack(std::string id, std::string why) {
  const Order order = active_.at(id).order;
  context().parts.log.Warning("a disruption is taken back", {{"command", id}, {"why", why}});
  MetricLabels labels;
  labels["decision"] = std::string(ToString(order.decision));
  labels["reason"] = LowerReason(order.method);
  labels["consolidation_type"] = std::string(ToString(order.decision));  // the peer's, here alone
  // One for each replacement that is not up.
  context()
      .parts.metrics
      .GetCounter("karpenter_voluntary_disruption_queue_failures_total",
                  "The number of times that an enqueued disruption decision failed.", labels)
      .Add(static_cast<double>(
          std::ranges::count_if(active_.at(id).replacements, [this](const ClaimPtr& replacement) {
            const ClaimPtr found = parts_.store.Find(*replacement);
            return found == nullptr || found->metadata.deletion_timestamp ||
                   !model::IsTrue(found->status.conditions, names::kInitialized);
          })));
  co_await UnmarkAll(order);
  for (const ClaimPtr& claim : order.claims) {
    if (!IsEnding(*claim)) parts_.marks.leaving.erase(claim->status.provider_id);
  }
  Close(id, "RolledBack", why);
}

void DisruptionQueue::Recover(const std::vector<ClaimPtr>& claims,
                              const Context::NodeIndexById& nodes) {
  for (const ClaimPtr& claim : claims) {
    const std::string& id = claim->status.provider_id;
    if (id.empty() || claim->metadata.deletion_timestamp || parts_.marks.queued.contains(id) ||
        parts_.marks.leaving.contains(id))
      continue;
    const auto found = nodes.find(id);
    if (found == nodes.end()) continue;
    const NodePtr& node = found->second.front();
    const bool marked =
        HasOurTaint(*node) ||
        model::FindCondition(claim->status.conditions, names::kDisruptionReason) != nullptr;
    if (!marked || node->metadata.deletion_timestamp || recovering_[node->metadata.name]) continue;
    recovering_[node->metadata.name] = true;
    const auto recover = [](DisruptionQueue* queue, ClaimPtr of, std::string name) -> Task<void> {
      co_await queue->Unmark(of, name);
      // The World shows it in a moment.
      co_await queue->context().parts.executor.Sleep(std::chrono::seconds(1));
      queue->recovering_.erase(name);
    };
    context().Spawn(recover(this, claim, node->metadata.name));
  }
}

}  // namespace coppice::provision
