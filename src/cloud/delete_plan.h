// What a request to delete nodes means, worked out before any of it is done. One bad id refuses the
// whole request: a mistake in who belongs where must not take down the machines that happen to be
// right.

#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "cloud/group_config.h"
#include "cloud/ledger.h"
#include "cloud/node_groups.h"

namespace coppice::cloud {

struct DeletePlan {
  std::vector<std::string> machines;  // ids: ask the cloud
  std::vector<std::string> drop;      // order names that the cloud has not heard of, or has refused
  std::vector<std::string> doom;      // order names that the cloud may carry out: delete what comes
  int64_t done = 0;                   // are gone already
};

// A stand-in for a machine without a Node: the autoscaler gives it the id for a name.
bool IsUnregistered(const NodeRef& node);

// Pure. `well_formed(id)`: has the form of an id of this cloud.
Result<DeletePlan> PlanDelete(const Ledger& ledger, const GroupConfig& group,
                              const std::vector<NodeRef>& nodes,
                              const std::function<bool(const ProviderId&)>& well_formed);

}  // namespace coppice::cloud
