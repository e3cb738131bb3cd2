// HyperNodeKeeper: the tree of HyperNodes from session to session, made anew when something that it
// goes by has changed: an object, the list of nodes, a node's labels. Decision thread.

#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "batch/hyper_nodes.h"
#include "cluster/object_store.h"

namespace coppice::batch {

class HyperNodeKeeper {
 public:
  using Nodes = std::vector<std::shared_ptr<const model::Node>>;
  // Whether it had to be made anew.
  bool Refresh(const cluster::ObjectStore<model::HyperNode>& objects, Nodes nodes);
  const std::shared_ptr<const HyperNodeTree>& tree() const { return tree_; }

 private:
  uint64_t version_ = 0;
  Nodes nodes_;
  std::shared_ptr<const HyperNodeTree> tree_;
};

}  // namespace coppice::batch
