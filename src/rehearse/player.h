// Player: recorded demand against a model cluster with the real autoscaler on top, on a clock that
// jumps. What people did is played as it was recorded: pods are created and deleted when they were,
// and what ends by itself ends after the time that it ran. What the cluster did is not: where pods
// go, which machines are bought and removed, is decided anew.
//
// With pools Karpenter's model is played, beside the groups of the configuration or, if it has none,
// instead of them. Nodes that stood there at the start do so again if their group is played; pods of
// others wait for machines first.

#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "autoscale/assembly.h"
#include "autoscale/flags.h"
#include "base/clock.h"
#include "batch/scheduler.h"
#include "cloud/cloud.h"
#include "model/node_class.h"
#include "model/node_pool.h"
#include "provider/provider_config.h"
#include "provision/options.h"
#include "rehearse/demand.h"
#include "rehearse/outcome.h"

namespace coppice::rehearse {

// Node pools, as an operator would have put them into the cluster.
struct PlayedPools {
  std::vector<model::NodePool> pools;
  std::vector<model::NodeClass> classes;
  provision::EngineOptions options;
};

// The batch scheduler, which places the pods of gangs and buys for them.
struct PlayedBatch {
  batch::SchedulerFlags flags;
  const batch::PluginRegistry& plugins;
};

struct PlayParts {
  const Demand& demand;
  const provider::ProviderConfig& config;  // on the simulated cloud; groups, if any, are played
  autoscale::FlagValues flags;
  const autoscale::Plugins& plugins;
  const cloud::CloudRegistry& clouds;
  uint64_t seed = 1;
  std::string name;
  const PlayedPools* pools = nullptr;  // beside the groups, or instead of them
  const PlayedBatch* batch = nullptr;  // beside all of that
};
Result<Outcome> PlayDemand(const PlayParts& parts);

}  // namespace coppice::rehearse
