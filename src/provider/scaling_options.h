// `options:` of a node group, in every file that describes one: what the autoscaler does otherwise for
// this group.

#pragma once

#include "base/yaml.h"
#include "cloud/group_config.h"

namespace coppice::provider {

// Of the group's own map; complaints, also about what is out of range, are in `problems`.
void ReadScalingOptions(yaml::MapReader& group, cloud::GroupScalingOptions& out,
                        yaml::Problems& problems);

}  // namespace coppice::provider
