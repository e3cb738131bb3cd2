#include "cluster/node_change.h"

namespace coppice::cluster {

model::Node Changed(model::Node node, const NodeChange& change) {
  const auto drop = [&node](const std::string& key) {
    std::erase_if(node.spec.taints, [&](const model::Taint& taint) { return taint.key == key; });
  };
  for (const model::Taint& taint : change.add_taints) {
    drop(taint.key);
    node.spec.taints.push_back(taint);
  }
  for (const std::string& key : change.remove_taints) drop(key);
  if (change.unschedulable) node.spec.unschedulable = *change.unschedulable;
  return node;
}

}  // namespace coppice::cluster
