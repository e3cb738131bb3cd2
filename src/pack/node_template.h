// A node that does not exist yet, with what would run on it from the start.

#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "cluster/snapshot.h"
#include "model/node.h"
#include "model/pod.h"

namespace coppice::pack {

struct NodeTemplate {
  model::Node node;
  std::vector<model::Pod> pods;
};
using TemplatePtr = std::shared_ptr<const NodeTemplate>;

// A copy that can stand in the cluster beside others of the same template: <name>-<suffix>.
NodeTemplate FreshCopy(const NodeTemplate& node_template, std::string_view suffix);

// Puts it into the snapshot, last in the visiting order, its pods placed.
Result<cluster::NodeIndex> AddTo(cluster::Snapshot& snapshot, const NodeTemplate& node_template);

// Gives a pod or node the name that makes it one of its own; templates.cc and FreshCopy share them.
model::Pod Renamed(const model::Pod& pod, std::string_view node_name, std::string_view suffix);
void Rename(model::Node& node, std::string name);

}  // namespace coppice::pack
