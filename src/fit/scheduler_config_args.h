// The arguments of single plug-ins in a KubeSchedulerConfiguration; a part of scheduler_config.

#pragma once

#include <string_view>

#include "base/yaml.h"
#include "fit/scheduler_config.h"

namespace coppice::fit {

// Puts what filters need of `args` into `config`. Arguments of other plug-ins are passed over
// unread: out-of-tree ones have a shape of their own.
void ReadPluginArgs(std::string_view plugin, const yaml::Node& args, yaml::Problems& problems,
                    SchedulerConfig& config);

// `map` has `defaultConstraints`: constraints that repeat none before.
std::vector<model::TopologySpreadConstraint> ReadDefaultConstraints(yaml::MapReader& map,
                                                                    yaml::Problems& problems);

}  // namespace coppice::fit
