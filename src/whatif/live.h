// A what-if on a cluster that lives: its objects, node groups and node pools at one moment, taken hold
// of on the decision thread, and everything else worked out elsewhere, on copies. Twice: with the
// change and without, for the answer is the difference.
//
// Where there are groups and pools, pools are asked first, as in life, where a batch of theirs ends
// long before the autoscaler looks again; what they do not take is left to the groups.

#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cloud/node_claims.h"
#include "cloud/node_groups.h"
#include "cluster/world.h"
#include "provision/settings.h"
#include "whatif/pools.h"
#include "whatif/whatif.h"

namespace coppice::whatif {

class TakenClaims;  // live_pools.h

// What is known at a moment. Shares the objects, which never change.
struct LiveMoment {
  TimePoint now;
  ClusterObjects objects;
  std::optional<std::vector<DumpGroups::Group>> groups;  // absent: there are none
  std::shared_ptr<TakenClaims> claims;                   // null: there are no pools
};
// On the decision thread, without a fork. O(objects), pointers only. An order that has no node yet
// is left out of the sizes: the plan decides on it anew. `groups` may be null.
LiveMoment TakeMoment(const cluster::World& world, cloud::NodeGroups* groups, TimePoint now,
                      const cloud::ScalingOptions& defaults);
// The same of node pools: what they can buy. For `pod`, too, which is to be added; may be null.
void TakePools(const cloud::NodeClaims& claims, const model::Pod* pod, LiveMoment& moment);

// The change, all of it together.
struct LiveChange {
  std::vector<std::string> remove_nodes;
  std::optional<model::Pod> pod;  // that so many are added of
  int pods = 0;
  std::map<std::string, int> max_sizes;               // of groups; of a pool: nodes in its limits
  std::map<std::string, model::ResourceList> limits;  // of pools, what is named
  std::vector<std::string> forbid_types;
};

// Who works it out. All of it outlives the answer.
struct LiveEngines {
  const autoscale::FlagValues& flags;
  const autoscale::Plugins& plugins;
  const batch::PluginRegistry* batch = nullptr;  // null: gangs are pods like others
  provision::Settings pools = {};
};

struct LiveSide {
  std::optional<WhatIfPlan> groups;
  std::optional<PoolsPlan> pools;
};
struct LiveAnswer {
  LiveSide without;
  LiveSide with;
  std::vector<std::string> notes;
};
// `stop` as WhatIf has it. A group, pool, node or type that is not there is refused.
Result<LiveAnswer> AskLive(const LiveMoment& moment, const LiveChange& change,
                           const LiveEngines& engines, std::function<bool()> stop);
std::string AsJson(const LiveAnswer& answer);

// A pod of the moment by namespace/name, or by namespace/owner ("default/web"); null: none.
std::shared_ptr<const model::Pod> FindLike(const LiveMoment& moment, std::string_view name);

}  // namespace coppice::whatif
