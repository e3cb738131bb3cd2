// The autoscaler put together from flags and plug-ins: the same for a model cluster (`coppice
// run`), for a dump (`coppice simulate`) and for a real one (`coppice run --kubeconfig`). They
// differ in who feeds the World, who is behind the Writer, and whose machines the groups are.
//
// Lives on the decision thread.

#pragma once

#include <functional>
#include <memory>

#include "autoscale/engine.h"
#include "autoscale/flags.h"
#include "autoscale/plugins.h"
#include "base/metrics.h"
#include "base/pool.h"

namespace coppice::autoscale {

// What the process lends: all references outlive the assembly.
struct AssemblyParts {
  FlagValues flags;
  const Plugins& plugins;
  cluster::World& world;
  cluster::Writer& writer;
  Executor& executor;
  Workers& workers;  // for the cloud's slow calls and expanders that ask somebody else
  Rng& rng;
  const Log& log;
  Metrics& metrics;
  cloud::NodeGroups& groups;  // who owns the machines
  // How old the view of the cluster is; null: always fresh.
  std::function<Duration()> view_age = nullptr;
  std::function<std::string()> oldest_kind = nullptr;  // that it is so old of
  bool first_of_tie = false;                           // no lot among equally good options
  // What a pass left under way has ended (Engine::Parts::wake).
  std::function<void()> wake = nullptr;
};

class Assembly {
 public:
  // Refuses, in a sentence, what is not registered or cannot be opened. No network.
  static Result<std::unique_ptr<Assembly>> Create(AssemblyParts parts);
  virtual ~Assembly() = default;

  virtual Engine& engine() = 0;
};

}  // namespace coppice::autoscale
