// Drift: has a machine become another one than its pool would buy today?
//
// Asked of launched claims only, and in this order: the template's hash (what cannot change on a
// node), the pool's requirements against the claim's labels, whether its instance type is still
// sold, and last whatever its provider knows. The first yes is the reason.
//
// Pure functions; who asks the provider, and how often, is up to the caller.

#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "cloud/instance_type.h"
#include "model/node_claim.h"
#include "model/node_pool.h"

namespace coppice::provision {

inline constexpr char kNodePoolDrifted[] = "NodePoolDrifted";
inline constexpr char kRequirementsDrifted[] = "RequirementsDrifted";
inline constexpr char kInstanceTypeNotFound[] = "InstanceTypeNotFound";

// Lists of types change slowly, and a young claim was just bought from one: types are looked at
// only later, and after a good look not again for a while.
inline constexpr Duration kTypeDriftMinAge = std::chrono::hours(1);
inline constexpr Duration kTypeDriftMemory = std::chrono::minutes(30);

struct DriftRules {
  const model::LabelRules& labels;
  // Labels that name a reservation; a claim that loses its reservation has not drifted for that.
  std::set<std::string, std::less<>> reserved_labels;
};

// By the pool's template and requirements alone; "" if there is none.
std::string_view PoolDrift(const model::NodePool& pool, const model::NodeClaim& claim,
                           const DriftRules& rules);

// Whether the claim is old enough for its type to be looked at.
bool IsDueForTypeDrift(const model::NodeClaim& claim, TimePoint now);
// By what is sold today, available or not; "" if it still is.
std::string_view TypeDrift(const cloud::InstanceTypes& types, const model::NodeClaim& claim,
                           const DriftRules& rules);

// The condition Drifted as it should be now; `reason` is "" if it has not. True if it changed.
// A claim that is not launched has none.
bool SetDrifted(model::NodeClaim& claim, std::string_view reason, TimePoint now);

// The condition Consolidatable as it should be now: the claim is initialized and nothing has
// happened to its pods for the pool's consolidateAfter. True if it changed.
bool SetConsolidatable(model::NodeClaim& claim, const model::NodePool& pool, TimePoint now);

// When consolidateAfter will be over, if it is running: a pod came or went, or the node came up,
// too short a time ago. Until then the node also takes no pods that consolidation would move.
std::optional<TimePoint> SettlesAt(const model::NodeClaim& claim, const model::NodePool& pool,
                                   TimePoint now);

}  // namespace coppice::provision
