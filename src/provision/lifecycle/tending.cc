// Tending: what is to be said of a machine that is up: has it drifted, may it be consolidated, is it
// what was promised, when did its pods last change. Only worked out again when something that it
// depends on has changed, or its time has come.

#include <fmt/format.h>

#include <algorithm>

#include "provision/conditions.h"
#include "provision/disruption/drift.h"
#include "provision/lifecycle/claim_life.h"

namespace coppice::provision {

namespace {

namespace names = model::karpenter;

constexpr Duration kTendEvery = std::chrono::minutes(5);
// Whether it has drifted could not be said: soon again, for after a start that is so of all claims.
constexpr Duration kAskDriftAgain = std::chrono::seconds(10);
constexpr Duration kConsistencyEvery = std::chrono::minutes(10);

// A claim whose hash was made by another rule gets ours; one that has drifted stays drifted.
void RestampHash(const model::NodePool& pool, model::NodeClaim& claim) {
  if (LabelOr(claim.metadata.annotations, names::kHashVersionAnnotation) ==
      model::kNodePoolHashVersion)
    return;
  claim.metadata.annotations[names::kHashVersionAnnotation] = model::kNodePoolHashVersion;
  if (!model::IsTrue(claim.status.conditions, names::kDrifted))
    claim.metadata.annotations[names::kHashAnnotation] = model::HashOf(pool);
}

}  // namespace

std::optional<std::string> ClaimLife::DriftOf(const model::NodePool& pool,
                                              const model::NodeClaim& claim, Memory& memory,
                                              TimePoint now) const {
  const DriftRules rules{context().labels(), context().traits().reserved_capacity_labels};
  if (const auto reason = PoolDrift(pool, claim, rules); !reason.empty())
    return std::string(reason);
  if (IsDueForTypeDrift(claim, now) && now >= Later(memory.types_checked, kTypeDriftMemory)) {
    const auto types = context().parts.claims.InstanceTypesFor(pool, {});
    if (!types.ok() || *types == nullptr || (*types)->empty()) return std::nullopt;
    if (const auto reason = TypeDrift(**types, claim, rules); !reason.empty())
      return std::string(reason);
    memory.types_checked = now;
  }
  auto drifted = context().parts.claims.IsDrifted(claim);
  if (!drifted.ok()) return std::nullopt;
  return *std::move(drifted);
}

// Who cannot be asked has not said no: what was found before stays, with the time since when.
void ClaimLife::JudgeDrift(const model::NodePool& pool, model::NodeClaim& claim, Memory& memory,
                           TimePoint now) {
  if (const auto reason = DriftOf(pool, claim, memory, now)) {
    SetDrifted(claim, *reason, now);
  } else {
    memory.tend_at = std::min(memory.tend_at, Later(now, kAskDriftAgain));
  }
}

void ClaimLife::CheckConsistency(const model::Node& node, model::NodeClaim& claim, Memory& memory,
                                 TimePoint now) {
  if (now < memory.consistency_at) return;
  memory.consistency_at = Later(now, kConsistencyEvery);
  std::string wrong;
  for (const auto& [resource, wanted] : claim.spec.requests) {
    if (wanted.IsZero()) continue;
    const model::Quantity* promised = claim.status.capacity.Find(resource);
    if (promised == nullptr || promised->IsZero()) continue;
    const model::Quantity* there = node.status.capacity.Find(resource);
    const double has = there == nullptr ? 0 : static_cast<double>(there->MilliValue());
    const double part = has / static_cast<double>(promised->MilliValue());
    if (part >= 0.9) continue;
    wrong = fmt::format("expected {} of resource {}, but found {} ({:.1f}% of expected)",
                        promised->ToString(), resource, there == nullptr ? "0" : there->ToString(),
                        part * 100);
  }
  if (wrong.empty()) {
    SetClaimCondition(claim, names::kConsistentStateFound, "True", names::kConsistentStateFound, "",
                      now);
    return;
  }
  context().Tell(Context::Of(claim), "Warning", "FailedConsistencyCheck", wrong);
  SetClaimCondition(claim, names::kConsistentStateFound, "False", "ConsistencyCheckFailed", wrong,
                    now);
}

void ClaimLife::Tend(const ClaimPtr& claim, const NodePtr& node, Memory& memory, TimePoint now) {
  // Pods that came, ended or are ending.
  const auto last = parts_.pod_events.LastOn(claim->status.provider_id);
  const auto& known = claim->status.last_pod_event_time;
  const bool event = last && (!known || *last >= Later(known->at, PodEvents::kOnceIn));
  const std::string pool_name = LabelOr(claim->metadata.labels, model::kNodePoolLabel);
  const NodePoolPtr pool = parts_.pools.Find(pool_name);
  const auto facts = context().ClassOf(*claim->spec.node_class_ref);
  const std::string read = claim->metadata.resource_version + "/" +
                           (pool == nullptr ? "" : std::to_string(pool->metadata.generation)) +
                           "/" + (facts ? std::to_string(facts->generation) : "");
  if (!event && read == memory.tended && now < memory.tend_at) {
    memory.quiet = {
        .until = memory.tend_at, .claim = claim, .node = node, .pod_event = last, .rules = rules_};
    const auto lasts = model::LastingOf(claim->spec.expire_after);
    if (const auto& created = claim->metadata.creation_timestamp; created && lasts)
      memory.quiet.until = std::min(memory.quiet.until, Later(created->at, *lasts));
    context().WakeAt(memory.tend_at);
    return;
  }
  model::NodeClaim after = *claim;
  if (event) after.status.last_pod_event_time = model::Time{*last};
  memory.tended = read;
  memory.tend_at = Later(now, kTendEvery);
  // Against half a pool everything has drifted.
  if (pool != nullptr && !pool->metadata.unreadable) {
    RestampHash(*pool, after);
    JudgeDrift(*pool, after, memory, now);
    SetConsolidatable(after, *pool, now);
    if (const auto settles = SettlesAt(after, *pool, now))
      memory.tend_at = std::min(memory.tend_at, *settles);
  }
  const bool initialized = model::IsTrue(claim->status.conditions, names::kInitialized);
  if (node != nullptr && !node->metadata.unreadable && initialized)
    CheckConsistency(*node, after, memory, now);
  context().WakeAt(memory.tend_at);
  if (after == *claim) return;
  Begin(claim, WriteClaim(claim, std::move(after)));
}

}  // namespace coppice::provision
