// Between objects and the solver: a NodePool and a NodeClaim as it reads them, and what it planned
// as the NodeClaim that will be created.
//
// Pure functions.

#pragma once

#include <memory>

#include "model/node_claim.h"
#include "model/node_pool.h"
#include "provision/solver.h"

namespace coppice::provision {

Pool PoolFrom(const model::NodePool& pool, std::shared_ptr<const cloud::InstanceTypes> types);
ClaimFacts FactsFrom(const model::NodeClaim& claim);

// What every machine of the pool is to be: by its requirements, its labels, its name and its class.
model::NodeRequirements RequirementsOf(const model::NodePool& pool, const model::LabelRules& rules);

// Labels whose one value a requirement settles.
void SettleLabels(const model::NodeRequirements& requirements, model::Labels& labels);

// The claim to be created for a planned machine: named after its pool, owned by it, with the types
// that may be bought, the capacity types in which they can be had now, and a value for every label
// of the pool's own that is not settled yet. Without types (of a static pool) the provider chooses
// among all that the requirements allow. The API server makes up the rest of the name.
model::NodeClaim ClaimFrom(const model::NodePool& pool, const PlannedClaim& planned,
                           const model::LabelRules& labels);

}  // namespace coppice::provision
