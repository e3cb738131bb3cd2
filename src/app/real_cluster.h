// The autoscaler on a real cluster: the process around the engine. Connects, waits for the lease,
// waits until the view is complete, then one pass after the other until a signal or the loss of the
// lease; serves /metrics, /health-check and /snapshotz meanwhile.

#pragma once

#include "app/plugins.h"
#include "autoscale/flags.h"
#include "base/clock.h"

namespace coppice::app {

// How long the end of the process waits. Kubernetes kills half a minute after the signal.
struct StopLimits {
  Duration pass = std::chrono::seconds(10);  // for a pass under way
  Duration calls = std::chrono::seconds(3);  // for calls that change nothing, a Refresh say
};

// Until SIGTERM, SIGINT or SIGQUIT (0), or until it cannot go on (1).
int RunOnRealCluster(const autoscale::FlagValues& flags, Plugins& plugins, StopLimits limits = {});

}  // namespace coppice::app
