// Budgets: how many nodes of a pool may be on their way out, for a reason, at a time of day.
//
// Pure functions. A budget that cannot be evaluated closes its pool for every reason: nobody knows
// what was meant, and a node that stays does no harm.

#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/status.h"
#include "model/node_pool.h"

namespace coppice::provision {

inline constexpr char kUnderutilized[] = "Underutilized";
inline constexpr char kEmpty[] = "Empty";
inline constexpr char kDriftedReason[] = "Drifted";
inline constexpr char kUnhealthy[] = "Unhealthy";

inline constexpr int64_t kUnbounded = INT32_MAX;

// Whether a budget holds now: always if it has no schedule, else during the given time after a
// hit. A schedule that never comes (February 30) holds always, as with the peer.
Result<bool> IsActive(const model::DisruptionBudget& budget, TimePoint now);

// Nodes that one budget lets go at once, of `nodes`; percentages are rounded up. kUnbounded while
// it does not hold.
Result<int64_t> AllowedBy(const model::DisruptionBudget& budget, int64_t nodes, TimePoint now);

// The least that any budget of the pool allows for this reason, or what is wrong with one of them
// (with which, and for which reason, is all the same).
Result<int64_t> AllowedDisruptions(const model::NodePool& pool, std::string_view reason,
                                   int64_t nodes, TimePoint now);

}  // namespace coppice::provision
