#include "provision/conditions.h"

#include <array>

namespace coppice::provision {

namespace {

namespace names = model::karpenter;

constexpr std::array<std::string_view, 3> kClaimDependents = {names::kLaunched, names::kRegistered,
                                                              names::kInitialized};
constexpr std::array<std::string_view, 2> kPoolDependents = {kValidationSucceeded, kNodeClassReady};

void PutCondition(std::vector<model::Condition>& conditions, int64_t generation,
                  std::string_view type, std::string_view status, std::string_view reason,
                  std::string_view message, TimePoint now) {
  model::SetCondition(conditions,
                      {.type = std::string(type),
                       .status = std::string(status),
                       .observed_generation = generation,
                       .reason = std::string(reason.empty() ? type : reason),
                       .message = std::string(message)},
                      now);
}

void SettleConditions(std::vector<model::Condition>& conditions, const model::ObjectMeta& meta,
                      std::span<const std::string_view> dependents, TimePoint now) {
  const TimePoint created = meta.creation_timestamp ? meta.creation_timestamp->at : now;
  bool all_true = true;
  bool any_false = false;
  std::string message;
  for (const std::string_view type : dependents) {
    if (model::FindCondition(conditions, type) == nullptr) {
      PutCondition(conditions, meta.generation, type, "Unknown", kAwaitingReconciliation,
                   "object is awaiting reconciliation", created);
    }
    const model::Condition& condition = *model::FindCondition(conditions, type);
    const bool current = condition.observed_generation == meta.generation;
    if (condition.status == "True" && current) continue;
    all_true = false;
    any_false = any_false || (condition.status == "False" && current);
    message += (message.empty() ? "" : ", ") + condition.type + "=" + condition.status;
  }
  if (all_true) {
    PutCondition(conditions, meta.generation, names::kReady, "True", names::kReady, "", now);
  } else {
    PutCondition(conditions, meta.generation, names::kReady, any_false ? "False" : "Unknown",
                 any_false ? "UnhealthyDependents" : "ReconcilingDependents", message, now);
  }
}

}  // namespace

void SetClaimCondition(model::NodeClaim& claim, std::string_view type, std::string_view status,
                       std::string_view reason, std::string_view message, TimePoint now) {
  PutCondition(claim.status.conditions, claim.metadata.generation, type, status, reason, message,
               now);
}

void SetPoolCondition(model::NodePool& pool, std::string_view type, std::string_view status,
                      std::string_view reason, std::string_view message, TimePoint now) {
  PutCondition(pool.status.conditions, pool.metadata.generation, type, status, reason, message,
               now);
}

void SettleClaimConditions(model::NodeClaim& claim, TimePoint now) {
  SettleConditions(claim.status.conditions, claim.metadata, kClaimDependents, now);
}

void SettlePoolConditions(model::NodePool& pool, TimePoint now) {
  SettleConditions(pool.status.conditions, pool.metadata, kPoolDependents, now);
}

}  // namespace coppice::provision
