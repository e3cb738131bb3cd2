// Karpenter's --scheduler-config: what of the cluster's kube-scheduler concerns where pods go, as a
// small document of its own. Plain values; reading has no side effect.

#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "model/pod.h"

namespace coppice::fit {

// `podTopologySpread.defaultConstraints`, and nothing else: an unknown key is an error. An empty
// text is none.
Result<std::vector<model::TopologySpreadConstraint>> ParseDefaultSpread(std::string_view text,
                                                                        std::string file_name);

}  // namespace coppice::fit
