// NodePods: what plans ask of the pods on a node, worked out once until one of them changes.
//
// The book is of the decision thread; what it hands out is never changed and may be read anywhere.

#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "cluster/world.h"
#include "provision/pod_list.h"

namespace coppice::provision {

struct NodePods {
  PodList all;                  // by namespace and name
  PodList running;              // without the terminal ones
  std::vector<PodPtr> daemons;  // of DaemonSets
  std::vector<PodPtr> pending;  // bound, and not started
  uint64_t print = 0;           // another one for other running pods
  bool speaks = false;          // one says something about being disturbed
};
using NodePodsPtr = std::shared_ptr<const NodePods>;

NodePodsPtr NodePodsOf(std::vector<PodPtr> pods);
inline bool IsPendingPod(const PodPtr& pod) { return pod->status.phase == "Pending"; }

class NodePodsBook {
 public:
  explicit NodePodsBook(const cluster::World& world) : world_(world) {}

  // In the order of `nodes`, which are all of the World.
  std::vector<NodePodsPtr> Of(const std::vector<cluster::NodePtr>& nodes);

 private:
  struct Page {
    uint64_t version = 0;
    NodePodsPtr pods;
    uint64_t seen = 0;  // in which look
  };
  const cluster::World& world_;
  std::unordered_map<std::string, Page> pages_;  // by node
  uint64_t looks_ = 0;
  // The last answer, for as long as neither a node nor a bound pod changes.
  std::vector<NodePodsPtr> found_;
  std::optional<std::pair<uint64_t, uint64_t>> found_versions_;
};

}  // namespace coppice::provision
