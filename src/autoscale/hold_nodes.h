// Nodes that are to go are held (cluster/held_nodes.h) before they are touched, so that no other
// engine counts on them or takes them down, too; and what another engine holds is left alone.
//
// Decision thread.

#pragma once

#include <string_view>
#include <vector>

#include "autoscale/deletion_limits.h"
#include "cluster/held_nodes.h"
#include "report/pass_report.h"

namespace coppice::autoscale {

inline constexpr std::string_view kHolder = "autoscale";

// Holds every node of the plan. Takes out, and tells of, those that another engine holds; of an
// all-or-nothing group all the others with them.
std::vector<report::DeletionOutcome> HoldNodes(cluster::HeldNodes& held,
                                               CroppedDeletions& deletions);
void ReleaseNodes(cluster::HeldNodes& held, const std::vector<DeletionBatch>& batches);

}  // namespace coppice::autoscale
