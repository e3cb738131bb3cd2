// The autoscaler put together from flags and plug-ins: the same for a model cluster (`coppice
// run`), for a dump (`coppice simulate`) and for a real one (`coppice run --kubeconfig`). They
// differ in who feeds the World and who is behind the Writer.
//
// Lives on the decision thread.

#pragma once

#include <functional>
#include <memory>

#include "app/plugins.h"
#include "autoscale/engine.h"
#include "autoscale/flags.h"
#include "base/metrics.h"
#include "base/pool.h"

namespace coppice::app {

// What the process lends: all references outlive the assembly.
struct AssemblyParts {
  autoscale::FlagValues flags;
  const Plugins& plugins;
  cluster::World& world;
  cluster::Writer& writer;
  Executor& executor;
  Workers& workers;  // for the cloud's slow calls and expanders that ask somebody else
  Rng& rng;
  const Log& log;
  Metrics& metrics;
  // Who owns the machines; null: made from --cloud-provider and --cloud-config.
  cloud::NodeGroups* groups = nullptr;
  // How old the view of the cluster is; null: always fresh.
  std::function<Duration()> view_age = nullptr;
  std::function<std::string()> oldest_kind = nullptr;  // that it is so old of
  // Who calls the API of a cloud that this program drives itself; null: threads of its own. On a
  // simulated clock nobody may wait for another thread: InlineWorkers.
  Workers* cloud_workers = nullptr;
  bool first_of_tie = false;  // no lot among equally good options
  // What a pass left under way has ended (Engine::Parts::wake).
  std::function<void()> wake = nullptr;
};

class Assembly {
 public:
  // Refuses, in a sentence, what is not registered or cannot be opened. No network beyond what
  // opening the provider needs.
  static Result<std::unique_ptr<Assembly>> Create(AssemblyParts parts);
  virtual ~Assembly() = default;

  virtual autoscale::Engine& engine() = 0;
  virtual cloud::NodeGroups& groups() = 0;
};

// The provider that --cloud-provider names: a registered node group provider (externalgrpc), or a
// registered cloud, whose --cloud-config is then a file as `coppice provider` reads it. Several,
// separated by commas, with `--cloud-config=NAME=FILE,NAME=FILE`, stand behind one loop; one that
// is used twice gets two names: `--cloud-provider=a=externalgrpc,b=externalgrpc`.
Result<std::unique_ptr<cloud::NodeGroups>> OpenNodeGroups(const autoscale::FlagValues& flags,
                                                          const Plugins& plugins, Clock& clock,
                                                          Rng& rng, const Log& log,
                                                          Metrics& metrics,
                                                          Workers* cloud_workers = nullptr);

}  // namespace coppice::app
