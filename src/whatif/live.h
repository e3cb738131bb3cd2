// A what-if on a cluster that lives: its objects and groups at one moment, taken hold of on the
// decision thread, and everything else worked out elsewhere, on copies. Twice: with the change and
// without, for the answer is the difference.

#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cloud/node_groups.h"
#include "cluster/world.h"
#include "whatif/whatif.h"

namespace coppice::whatif {

// What is known at a moment. Shares the objects, which never change.
struct LiveMoment {
  TimePoint now;
  ClusterObjects objects;
  std::vector<DumpGroups::Group> groups;
};
// On the decision thread, without a fork. O(objects), pointers only. An order that has no node yet
// is left out of the sizes: the plan decides on it anew.
LiveMoment TakeMoment(const cluster::World& world, cloud::NodeGroups& groups, TimePoint now,
                      const cloud::ScalingOptions& defaults);

// The change, all of it together.
struct LiveChange {
  std::vector<std::string> remove_nodes;
  std::optional<model::Pod> pod;  // that so many are added of
  int pods = 0;
  std::map<std::string, int> max_sizes;
  std::vector<std::string> forbid_types;
};

struct LiveAnswer {
  WhatIfPlan without;
  WhatIfPlan with;
};
// `stop` as WhatIf has it. A group, node or type that is not there is refused.
Result<LiveAnswer> AskLive(const LiveMoment& moment, const LiveChange& change,
                           const autoscale::FlagValues& flags, const autoscale::Plugins& plugins,
                           std::function<bool()> stop);
std::string AsJson(const LiveAnswer& answer);

// A pod of the moment by namespace/name, or by namespace/owner ("default/web"); null: none.
std::shared_ptr<const model::Pod> FindLike(const LiveMoment& moment, std::string_view name);

}  // namespace coppice::whatif
