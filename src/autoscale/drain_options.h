// What autoscale hands to drain: the flags that are about pods on leaving nodes, and upstream's
// words.

#pragma once

#include "autoscale/options.h"
#include "cluster/world.h"
#include "drain/options.h"
#include "drain/pdb_tracker.h"

namespace coppice::autoscale {

inline constexpr std::string_view kAnnotationPrefix = "cluster-autoscaler.kubernetes.io/";

drain::RuleOptions RuleOptionsFrom(const DrainOptions& options);
drain::EvictionOptions EvictionOptionsFrom(const DrainOptions& options);

// The budgets of now. Without Deviations::malformed_budgets_guard one that nobody understands is
// an error.
Result<drain::PdbTracker> BudgetsOf(const Deviations& deviations, const cluster::World& world);

}  // namespace coppice::autoscale
