// NodeList: the registered nodes as a pass sees them, in list order. Most of a list is that of the
// pass before: what was read off an object is kept as long as the object is.

#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "autoscale/listed_node.h"
#include "autoscale/options.h"
#include "autoscale/owners.h"
#include "autoscale/processors.h"
#include "autoscale/taints.h"

namespace coppice::autoscale {

class NodeList {
 public:
  NodeList(const StartupTaintOptions& options, cluster::World& world, cloud::NodeGroups& groups,
           const Owners& owners, Processors& slots)
      : taints_(options), world_(world), groups_(groups), owners_(owners), slots_(slots) {}

  // Lists anew. Indexes are good for as long as the world stands still.
  void Update();

  const std::vector<ListedNode>& nodes() const { return nodes_; }
  size_t ready() const { return ready_; }
  size_t unknown() const { return unknown_; }  // of which nobody can say yet whose they are

 private:
  ListedNode Read(const cluster::NodePtr& node) const;
  bool LacksGpu(const model::Node& node) const;
  void SetGroup(ListedNode& of) const;

  const TaintConfig taints_;
  cluster::World& world_;
  cloud::NodeGroups& groups_;
  const Owners& owners_;
  Processors& slots_;

  std::vector<ListedNode> nodes_;
  size_t ready_ = 0;
  size_t unknown_ = 0;
  // What was read off each object; for which answers of the provider its group stands, and for
  // which set of nodes its index.
  PerNode<ListedNode> read_;
  uint64_t groups_version_ = 0;
  uint64_t node_set_ = 0;
  std::string gpu_label_;
};

}  // namespace coppice::autoscale
