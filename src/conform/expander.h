// `coppice conform expander`: Cluster Autoscaler's gRPC expander contract, played against somebody's
// server. Questions only: nothing is bought by asking.

#pragma once

#include <vector>

#include "base/clock.h"
#include "conform/calls.h"
#include "conform/report.h"
#include "conform/rules.h"

namespace coppice::conform {

struct ExpanderOptions {
  PlayOptions play{.contract = "expander"};
  Duration timeout = std::chrono::seconds(5);  // Cluster Autoscaler's, which has no flag for it
};

std::vector<RuleText> ExpanderRules();
Report TryExpander(const ExpanderOptions& options, Transport transport, Clock& clock);

}  // namespace coppice::conform
