// Player: recorded demand against a model cluster with the real autoscaler on top, on a clock that
// jumps. What people did is played as it was recorded: pods are created and deleted when they were,
// and what ends by itself ends after the time that it ran. What the cluster did is not: where pods
// go, which machines are bought and removed, is decided anew.
//
// A pod that is evicted or loses its node comes back at once, as its controller would make it.

#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "autoscale/assembly.h"
#include "autoscale/flags.h"
#include "base/clock.h"
#include "cloud/cloud.h"
#include "provider/provider_config.h"
#include "rehearse/demand.h"

namespace coppice::rehearse {

struct Sample {
  TimePoint at;
  int machines = 0;
  int pending = 0;
  int pods = 0;     // wanted
  double rate = 0;  // of all machines, per hour
};

struct Decision {
  TimePoint at;
  std::string what;  // "+3 workers", "-1 workers"
  std::string why;
  friend bool operator==(const Decision& a, const Decision& b) {
    return a.at == b.at && a.what == b.what;
  }
};

struct Outcome {
  std::string name;
  TimePoint start;
  TimePoint end;
  std::vector<Sample> samples;
  std::vector<Decision> decisions;
  double cost = 0;
  double machine_hours = 0;
  int peak_machines = 0;
  int bought = 0;
  int removed = 0;
  size_t evictions = 0;  // pods that had to move, whoever ended them
  size_t started = 0;
  size_t waiting = 0;  // at the end
  Duration median_wait{};
  Duration long_wait{};  // 99 of 100 waited less
  Duration longest_wait{};
  std::string longest_waiter;
  size_t passes = 0;
  double real_seconds = 0;
};

struct PlayParts {
  const Demand& demand;
  const provider::ProviderConfig& config;  // on the simulated cloud
  autoscale::FlagValues flags;
  const autoscale::Plugins& plugins;
  const cloud::CloudRegistry& clouds;
  uint64_t seed = 1;
  std::string name;
};
Result<Outcome> PlayDemand(const PlayParts& parts);

}  // namespace coppice::rehearse
