// Engines on a real cluster: the process around them. Connects, waits for the lease,
// waits until the view is complete, then one pass after the other until a signal or the loss of the
// lease; serves /metrics, /health-check and /snapshotz meanwhile.

#pragma once

#include "app/dashboard.h"
#include "app/main.h"
#include "host/life.h"
#include "seats/engine_seats.h"

namespace coppice::app {

// Until SIGTERM, SIGINT or SIGQUIT (0), or until it cannot go on (1).
int RunOnRealCluster(const seats::RunSettings& settings, Plugins& plugins,
                     host::StopLimits limits = {}, const DashboardOptions& web = {.address = ""});

}  // namespace coppice::app
