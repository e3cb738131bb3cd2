// ModelScene: what a run on a model cluster stands on: a clock that jumps, the simulated cloud of a
// configuration, the filters, the cluster itself. Who plays on it, and for how long, is the
// caller's.
//
// One thread.

#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "autoscale/plugins.h"
#include "base/fake_clock.h"
#include "base/log.h"
#include "base/metrics.h"
#include "base/rng.h"
#include "cloud/cloud.h"
#include "fit/chain.h"
#include "provider/provider_config.h"
#include "sim/model.h"

namespace coppice::whatif {

// The file, or `standard` where none is named. Any cloud but the simulated one is refused: `who`
// says for whom ("a model cluster").
Result<provider::ProviderConfig> SimulatedConfig(
    const std::string& file, const std::string& standard, const std::string& who,
    provider::Groups groups = provider::Groups::kRequired);

struct ModelScene {
  struct Parts {
    const autoscale::Plugins& plugins;
    const cloud::CloudRegistry& clouds;
    provider::ProviderConfig config;
    TimePoint start;
    uint64_t seed = 1;
    bool verbose = false;  // the log goes to standard error; else there is none
  };
  static Result<std::unique_ptr<ModelScene>> Create(Parts parts);

  // As many nodes of each group as it has at least, ready since now.
  Status AddFirstNodes();

  FakeClock clock;
  SeededRng rng;
  Metrics metrics;
  const Log log;
  const provider::ProviderConfig config;
  fit::Chain filters;
  std::unique_ptr<sim::Model> model;

 private:
  ModelScene(Parts parts, fit::Chain filters);
};

}  // namespace coppice::whatif
