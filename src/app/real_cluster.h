// The autoscaler on a real cluster: the process around the engine. Connects, waits for the lease,
// waits until the view is complete, then one pass after the other until a signal or the loss of the
// lease; serves /metrics, /health-check and /snapshotz meanwhile.

#pragma once

#include "app/dashboard.h"
#include "app/plugins.h"
#include "autoscale/flags.h"
#include "host/life.h"

namespace coppice::app {

// Until SIGTERM, SIGINT or SIGQUIT (0), or until it cannot go on (1). `record` is a directory for
// rehearse/recorder.h; empty: nothing is recorded.
int RunOnRealCluster(const autoscale::FlagValues& flags, Plugins& plugins,
                     host::StopLimits limits = {}, const DashboardOptions& web = {.address = ""},
                     const std::string& record = "");

}  // namespace coppice::app
