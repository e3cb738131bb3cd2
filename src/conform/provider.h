// `coppice conform provider`: Cluster Autoscaler's externalgrpc contract, played against somebody's
// provider.
//
// Reads only, unless a group is named in which machines may be ordered. Machines that were there
// before, and machines that somebody else orders meanwhile, are never touched: ours are those that
// a list shows after our order and did not show before, and only if they are as many as were
// ordered.

#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/clock.h"
#include "conform/calls.h"
#include "conform/report.h"
#include "conform/rules.h"

namespace coppice::conform {

struct ProviderOptions {
  PlayOptions play{.contract = "provider"};
  Duration timeout = std::chrono::seconds(5);  // of a call: Cluster Autoscaler's grpc_timeout
  std::string grow;                            // the group to order machines in; empty: none
  // Most machines that a server which does everything it is asked would be made to order.
  int at_most = 5;
  // How long to wait for a machine to be listed and up, or gone.
  Duration patience = std::chrono::minutes(3);
};

std::vector<RuleText> ProviderRules();
Report TryProvider(const ProviderOptions& options, Transport transport, Clock& clock);

}  // namespace coppice::conform
