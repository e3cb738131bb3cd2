// Which engines a process has: what a command line asks for, and their seats.

#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "autoscale/flags.h"
#include "batch/scheduler_flags.h"
#include "provision/settings.h"
#include "seats/engine_seat.h"

namespace coppice::seats {

struct RunSettings {
  autoscale::FlagValues flags;  // of the process, and of node groups
  bool node_groups = true;
  std::string record = {};  // a directory for rehearse/recorder.h; empty: nothing is recorded
  std::optional<provision::Settings> node_pools = std::nullopt;  // absent: there are none
  std::optional<batch::SchedulerFlags> batch = std::nullopt;     // absent: nobody schedules
};

// What one engine is to know of another: pods that batch places are bought for as gangs, and node
// groups and node pools leave them alone.
RunSettings Together(RunSettings settings);

// In the order in which those that are due together take their turns.
std::vector<std::unique_ptr<EngineSeat>> MakeSeats(const RunSettings& settings,
                                                   const ProcessParts& parts);

// How the World of such a process looks at pods. What matters for one engine's evictions is told
// apart for all; which pods count is the autoscaler's to say if it is there. An engine that counts
// others adds them where it plans (node pools), or has a World of its own that follows (batch).
cluster::WorldOptions ViewOf(const RunSettings& settings);

// For kube::FeedOptions; nothing where peers are followed exactly, who wait for their next round.
std::optional<std::vector<std::string>> TellingAnnotations(const RunSettings& settings);

}  // namespace coppice::seats
