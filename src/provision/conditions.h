// Conditions of claims and pools, by the rules of the library that the peer uses: those that an
// object depends on begin as Unknown, and one root says whether all of them hold.
//
// Pure functions.

#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "model/node_claim.h"
#include "model/node_pool.h"

namespace coppice::provision {

inline constexpr char kAwaitingReconciliation[] = "AwaitingReconciliation";
inline constexpr char kValidationSucceeded[] = "ValidationSucceeded";
inline constexpr char kNodeClassReady[] = "NodeClassReady";
inline constexpr char kNodeRegistrationHealthy[] = "NodeRegistrationHealthy";

// Sets a condition of the object's present generation; without a reason its type is the reason.
void SetClaimCondition(model::NodeClaim& claim, std::string_view type, std::string_view status,
                       std::string_view reason, std::string_view message, TimePoint now);
void SetPoolCondition(model::NodePool& pool, std::string_view type, std::string_view status,
                      std::string_view reason, std::string_view message, TimePoint now);

// Missing ones as Unknown since the object's creation, and the root from all of them.
void SettleClaimConditions(model::NodeClaim& claim, TimePoint now);
void SettlePoolConditions(model::NodePool& pool, TimePoint now);

}  // namespace coppice::provision
