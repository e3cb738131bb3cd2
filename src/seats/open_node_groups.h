// The provider that --cloud-provider names: a registered node group provider (externalgrpc), or a
// registered cloud, whose --cloud-config is then a file as `coppice provider` reads it. Several,
// separated by commas, with `--cloud-config=NAME=FILE,NAME=FILE`, stand behind one loop; one that
// is used twice gets two names: `--cloud-provider=a=externalgrpc,b=externalgrpc`.

#pragma once

#include <memory>

#include "autoscale/flags.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/metrics.h"
#include "base/pool.h"
#include "base/rng.h"
#include "seats/plugins.h"

namespace coppice::seats {

// Refuses, in a sentence, what is not registered or cannot be opened. No network beyond what the
// provider needs. `cloud_workers` call the API of a cloud that this program drives itself; null:
// threads of its own. On a simulated clock nobody may wait for another thread: InlineWorkers.
Result<std::unique_ptr<cloud::NodeGroups>> OpenNodeGroups(const autoscale::FlagValues& flags,
                                                          const Plugins& plugins, Clock& clock,
                                                          Rng& rng, const Log& log,
                                                          Metrics& metrics,
                                                          Workers* cloud_workers = nullptr);

// Whether all expanders and processors that are named are registered.
Status CheckPluginNames(const autoscale::FlagValues& flags, const Plugins& plugins);
// Whether all that --cloud-provider names is registered, without opening anything.
Status CheckProviderNames(const autoscale::FlagValues& flags, const Plugins& plugins);

}  // namespace coppice::seats
