// NodePods: what plans ask of the pods on a node, worked out once until one of them changes.
//
// The book is of the decision thread; what it hands out is never changed and may be read anywhere.

#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "cluster/world.h"
#include "provision/pod_list.h"

namespace coppice::provision {

struct NodePods {
  PodList all;                  // by namespace and name
  PodList running;              // without the terminal ones
  std::vector<PodPtr> daemons;  // of DaemonSets
  uint64_t print = 0;           // another one for other running pods
  bool speaks = false;          // one says something about being disturbed
};
using NodePodsPtr = std::shared_ptr<const NodePods>;

NodePodsPtr NodePodsOf(std::vector<PodPtr> pods);

class NodePodsBook {
 public:
  explicit NodePodsBook(const cluster::World& world) : world_(world) {}

  // In the order of `nodes`; forgets all others.
  std::vector<NodePodsPtr> Of(const std::vector<cluster::NodePtr>& nodes);

 private:
  struct Page {
    uint64_t version = 0;
    NodePodsPtr pods;
    uint64_t seen = 0;  // in which look
  };
  const cluster::World& world_;
  std::map<std::string, Page, std::less<>> pages_;  // by node
  uint64_t looks_ = 0;
};

}  // namespace coppice::provision
