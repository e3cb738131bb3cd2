// GroupOptions: the options of a group: the provider's own, else the flags', then what a processor
// makes of them. A function object that others keep a copy of.

#pragma once

#include <string_view>

#include "autoscale/processors.h"
#include "cloud/node_groups.h"

namespace coppice::autoscale {

class GroupOptions {
 public:
  GroupOptions(cloud::NodeGroups& groups, const cloud::ScalingOptions& defaults, Processors& slots)
      : groups_(&groups), defaults_(&defaults), slots_(&slots) {}

  cloud::ScalingOptions operator()(std::string_view group) const;

 private:
  cloud::NodeGroups* groups_;
  const cloud::ScalingOptions* defaults_;
  Processors* slots_;
};

}  // namespace coppice::autoscale
