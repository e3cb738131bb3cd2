// The status that a pass reports: the cluster and each group in numbers and words.

#pragma once

#include <map>
#include <string>

#include "autoscale/group_states.h"
#include "autoscale/processors.h"
#include "report/pass_report.h"

namespace coppice::autoscale {

// `candidates`: nodes that are not needed, by group; "" for those of none.
report::ClusterStatus StatusOf(const GroupStates& state, cloud::NodeGroups& groups,
                               Processors& slots, const std::map<std::string, int>& candidates,
                               TimePoint now);

}  // namespace coppice::autoscale
