// The provider of node claims that --cloud-provider names: a registered cloud, driven through its
// four verbs (cloud/cloud_node_claims.h), whose --cloud-config is a file as `coppice provider` reads
// it; nodeGroups may be absent there.

#pragma once

#include <memory>

#include "autoscale/flags.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/metrics.h"
#include "base/pool.h"
#include "base/rng.h"
#include "cloud/guarded_groups.h"
#include "cloud/node_claims.h"
#include "seats/plugins.h"

namespace coppice::seats {

// A provider, and what it stands on. Its end waits for orders under way.
class OpenedClaims {
 public:
  virtual ~OpenedClaims() = default;
  virtual cloud::NodeClaims& claims() = 0;
};

// May call the cloud: not on the decision thread. `gate` is asked before what the provider ends of
// its own accord (machines that are nobody's). `workers` null: threads of its own.
Result<std::unique_ptr<OpenedClaims>> OpenNodeClaims(const autoscale::FlagValues& flags,
                                                     const Plugins& plugins, Clock& clock, Rng& rng,
                                                     const Log& log, Metrics& metrics,
                                                     cloud::Gate gate = {},
                                                     Workers* workers = nullptr);

// Whether the cloud configuration of the flags has any node group; true if that cannot be told
// without asking (a provider that brings its own).
Result<bool> HasNodeGroups(const autoscale::FlagValues& flags, const Plugins& plugins);

}  // namespace coppice::seats
