// Node pools for a rehearsal, from the files of whoever runs them.
//
// Pools of another cloud are taken, too: the class that they refer to says what only that cloud
// understands (images, subnets, roles), so that one of ours without any wishes stands in for it. What
// a pool requires of machines is kept.

#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "rehearse/player.h"

namespace coppice::rehearse {

// A file or a folder of what kubectl prints. InvalidArgument says which pool is wrong, and where;
// `notes` is what was replaced.
Result<PlayedPools> ReadPlayedPools(const std::string& path,
                                    const provision::EngineOptions& options,
                                    std::vector<std::string>& notes);

// Those that a log has.
PlayedPools RecordedPools(const Demand& demand, const provision::EngineOptions& options);

}  // namespace coppice::rehearse
