#include "pack/node_template.h"

namespace coppice::pack {

model::Pod Renamed(const model::Pod& pod, std::string_view node_name, std::string_view suffix) {
  model::Pod copy = pod;
  copy.metadata.name += '-';
  copy.metadata.name += suffix;
  copy.metadata.uid = copy.metadata.name;  // unique in the simulation, and that is all it has to be
  copy.spec.node_name = node_name;
  return copy;
}

void Rename(model::Node& node, std::string name) {
  node.metadata.labels["kubernetes.io/hostname"] = name;
  node.metadata.uid = name;
  node.metadata.name = std::move(name);
}

NodeTemplate FreshCopy(const NodeTemplate& node_template, std::string_view suffix) {
  NodeTemplate copy = node_template;
  std::string name = node_template.node.metadata.name;
  name.append("-").append(suffix);
  Rename(copy.node, std::move(name));
  for (model::Pod& pod : copy.pods) pod = Renamed(pod, copy.node.metadata.name, suffix);
  return copy;
}

Result<cluster::NodeIndex> AddTo(cluster::Snapshot& snapshot, const NodeTemplate& node_template) {
  const cluster::NodeIndex node = TRY(snapshot.AddNode(node_template.node));
  for (const model::Pod& pod : node_template.pods) snapshot.AddPod(pod, node);
  return node;
}

}  // namespace coppice::pack
