#include "batch/hyper_node_keeper.h"

#include <algorithm>
#include <utility>

namespace coppice::batch {

bool HyperNodeKeeper::Refresh(const cluster::ObjectStore<model::HyperNode>& objects, Nodes nodes) {
  const auto same_node = [](const auto& now, const auto& before) {
    return now == before || (now->metadata.name == before->metadata.name &&
                             now->metadata.labels == before->metadata.labels);
  };
  if (tree_ != nullptr && objects.version() == version_ &&
      std::ranges::equal(nodes, nodes_, same_node)) {
    nodes_ = std::move(nodes);  // compared in a moment the next time
    return false;
  }
  version_ = objects.version();
  nodes_ = std::move(nodes);
  std::vector<HyperNodeObject> list;
  objects.ForEach([&](const auto& object) { list.push_back(object); });
  tree_ = std::make_shared<const HyperNodeTree>(std::move(list), nodes_);
  return true;
}

}  // namespace coppice::batch
