#include "provision/disruption/drift.h"

#include <algorithm>

namespace coppice::provision {

namespace {

namespace names = model::karpenter;

bool TemplateDrifted(const model::NodePool& pool, const model::NodeClaim& claim) {
  const std::string* pool_hash = pool.metadata.annotations.Find(names::kHashAnnotation);
  const std::string* pool_version = pool.metadata.annotations.Find(names::kHashVersionAnnotation);
  const std::string* hash = claim.metadata.annotations.Find(names::kHashAnnotation);
  const std::string* version = claim.metadata.annotations.Find(names::kHashVersionAnnotation);
  if (pool_hash == nullptr || pool_version == nullptr || hash == nullptr || version == nullptr) {
    return false;
  }
  return *pool_version == *version && *pool_hash != *hash;  // other versions say nothing
}

std::string LabelOf(const model::NodeClaim& claim, std::string_view key) {
  const std::string* value = claim.metadata.labels.Find(key);
  return value == nullptr ? "" : *value;
}

}  // namespace

std::string_view PoolDrift(const model::NodePool& pool, const model::NodeClaim& claim,
                           const DriftRules& rules) {
  if (TemplateDrifted(pool, claim)) return kNodePoolDrifted;
  const auto has = model::NodeRequirements::FromLabels(claim.metadata.labels, rules.labels);
  const auto demand =
      model::NodeRequirements::From(pool.spec.template_.spec.requirements, rules.labels);
  return has.Compatible(demand, nullptr) ? "" : kRequirementsDrifted;
}

bool IsDueForTypeDrift(const model::NodeClaim& claim, TimePoint now) {
  const auto& created = claim.metadata.creation_timestamp;
  return !created || now - created->at > kTypeDriftMinAge;
}

std::string_view TypeDrift(const cloud::InstanceTypes& types, const model::NodeClaim& claim,
                           const DriftRules& rules) {
  const std::string name = LabelOf(claim, model::kInstanceTypeLabel);
  const auto type = std::ranges::find(types, name, &cloud::InstanceType::name);
  if (type == types.end()) return kInstanceTypeNotFound;
  auto has = model::NodeRequirements::FromLabels(claim.metadata.labels, rules.labels);
  // A reservation may end and the machine run on as on-demand before its labels say so.
  if (LabelOf(claim, model::kCapacityTypeLabel) == model::kReserved) {
    has.Set(model::NodeRequirement::In(
        model::kCapacityTypeLabel, {std::string(model::kReserved), std::string(model::kOnDemand)}));
    for (const std::string& label : rules.reserved_labels) has.Remove(label);
  }
  return cloud::HasCompatibleOffering(*type, has, rules.labels, false) ? "" : kInstanceTypeNotFound;
}

bool SetDrifted(model::NodeClaim& claim, std::string_view reason, TimePoint now) {
  auto& conditions = claim.status.conditions;
  if (reason.empty() || !model::IsTrue(conditions, names::kLaunched)) {
    return model::ClearCondition(conditions, names::kDrifted);
  }
  const auto before = conditions;
  model::SetCondition(conditions,
                      {.type = names::kDrifted,
                       .status = "True",
                       .observed_generation = claim.metadata.generation,
                       .reason = std::string(reason),
                       .message = std::string(reason)},
                      now);
  return conditions != before;
}

std::optional<TimePoint> SettlesAt(const model::NodeClaim& claim, const model::NodePool& pool,
                                   TimePoint now) {
  const auto after = model::LastingOf(pool.spec.disruption.consolidate_after);
  if (!after || *after == Duration{}) return std::nullopt;
  const model::Condition* initialized =
      model::FindCondition(claim.status.conditions, names::kInitialized);
  if (initialized == nullptr || initialized->status != "True") return std::nullopt;
  const auto& last = claim.status.last_pod_event_time ? claim.status.last_pod_event_time
                                                      : initialized->last_transition_time;
  if (!last || now - last->at >= *after) return std::nullopt;
  return Later(last->at, *after);
}

bool SetConsolidatable(model::NodeClaim& claim, const model::NodePool& pool, TimePoint now) {
  if (model::IsStatic(pool)) return false;  // whatever stands there is left alone
  auto& conditions = claim.status.conditions;
  if (!model::LastingOf(pool.spec.disruption.consolidate_after) ||
      !model::IsTrue(conditions, names::kInitialized) || SettlesAt(claim, pool, now)) {
    return model::ClearCondition(conditions, names::kConsolidatable);
  }
  const auto before = conditions;
  model::SetCondition(conditions,
                      {.type = names::kConsolidatable,
                       .status = "True",
                       .observed_generation = claim.metadata.generation,
                       .reason = names::kConsolidatable},
                      now);
  return conditions != before;
}

}  // namespace coppice::provision
