// Is this node ready, and since when did it say so? One rule, used by everybody in the pass.

#pragma once

#include <string_view>

#include "autoscale/taints.h"
#include "model/node.h"

namespace coppice::autoscale {

// Why a node that calls itself ready is treated as if it were not.
inline constexpr std::string_view kResourceNotReady =
    "cluster-autoscaler.kubernetes.io/resource-not-ready";
inline constexpr std::string_view kStartupTaintReason =
    "cluster-autoscaler.kubernetes.io/startup-taint";

struct Readiness {
  bool ready = false;
  TimePoint last_transition;  // the latest of the conditions and taints that matter
  std::string_view reason;    // kResourceNotReady and the like, else empty
};

// Ready iff a Ready condition is there and nothing speaks against it: Ready False or Unknown,
// DiskPressure, NetworkUnavailable, or the taint of one of these. Memory and PID pressure do not
// matter.
Readiness ReadinessOf(const model::Node& node);

// A copy whose Ready condition is False since its creation, for `reason`.
model::Node UnreadyCopy(const model::Node& node, std::string_view reason);

}  // namespace coppice::autoscale
