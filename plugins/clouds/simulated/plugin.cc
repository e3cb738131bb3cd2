// The simulated cloud: the default wherever a real one is not needed.

#include "cloud/cloud.h"
#include "plugins/clouds/simulated/options.h"
#include "plugins/clouds/simulated/verbs.h"

namespace coppice::clouds::simulated {
namespace {

Result<std::unique_ptr<cloud::Cloud>> Make(const cloud::CloudContext& context) {
  Options options = ReadOptions(context.config, context.problems);
  if (context.problems.has_errors()) return context.problems.ToStatus();
  const uint64_t seed = options.seed ? *options.seed : context.rng.Next();
  return std::unique_ptr<cloud::Cloud>(
      std::make_unique<SimulatedCloud>(std::move(options), context.clock, seed, context.metrics));
}

}  // namespace

void Register(cloud::CloudRegistry& registry) { registry.Add("simulated", Make); }

}  // namespace coppice::clouds::simulated
