// Owners: whose the nodes are: what the provider is told and asked about them.

#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "autoscale/options.h"
#include "cloud/node_groups.h"
#include "cluster/world.h"

namespace coppice::autoscale {

class Owners {
 public:
  Owners(const Deviations& deviations, cloud::NodeGroups& groups, const cluster::World& world)
      : deviations_(deviations), groups_(groups), world_(world) {}

  // "": nobody's. Nothing: the provider has not said yet.
  std::optional<std::string> GroupOf(const model::Node& node) const;
  // Before a refresh: what a provider has to be asked about nodes it asks then, off this thread.
  void TellNodes();
  // The last fuse, right before a machine goes: the provider itself must say that it is the
  // group's. "" or why it is not.
  std::string NotOurs(const cloud::NodeRef& node, std::string_view group) const;

 private:
  const Deviations& deviations_;
  cloud::NodeGroups& groups_;
  const cluster::World& world_;
  uint64_t told_set_ = 0;  // which set of nodes the provider knows of
};

}  // namespace coppice::autoscale
