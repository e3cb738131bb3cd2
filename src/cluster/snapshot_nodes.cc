// Snapshot: nodes, their order and their facts.

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "cluster/canonical.h"
#include "cluster/snapshot.h"
#include "model/resources.h"

namespace coppice::cluster {

NodeIndex Snapshot::FindNode(std::string_view name) const {
  return node_names_.Find(HashBytes(name),
                          [&](uint32_t id) { return nodes_[id].facts->name == name; });
}

std::shared_ptr<const NodeFacts> Snapshot::MakeNodeFacts(const model::Node& object) {
  return std::make_shared<const NodeFacts>(
      NodeFacts{.name = object.metadata.name,
                .provider_id = object.spec.provider_id,
                .labels = object.metadata.labels,
                .shape_id = interner_.Shape(object),
                .allocatable = model::ToNodeAmounts(object.status.allocatable)});
}

Result<NodeIndex> Snapshot::AddNode(const model::Node& node) {
  if (FindNode(node.metadata.name) != kNone) {
    return AlreadyExists("node '" + node.metadata.name + "' is in the snapshot already");
  }
  NodeIndex index = node_bound();
  if (!free_nodes_.empty()) {
    index = free_nodes_.back();
    free_nodes_.pop_back();
  } else {
    nodes_.emplace_back();
    shape_of_.push_back(0);
  }
  nodes_[index].sequence = next_sequence_++;
  ShowNode(index, MakeNodeFacts(node));
  Log({.step = Step::kAddedNode, .subject = index});
  ++loosened_;
  return index;
}

void Snapshot::RemoveNode(NodeIndex node) {
  CHECK(IsLive(node));
  while (!nodes_[node].pods.empty()) RemovePod(nodes_[node].pods.back());
  old_nodes_.push_back(nodes_[node].facts);
  HideNode(node);
  Log({.step = Step::kRemovedNode, .subject = node});
  ++loosened_;  // a domain less can make spread possible
}

void Snapshot::UpdateNode(NodeIndex node, const model::Node& object) {
  CHECK(IsLive(node) && nodes_[node].facts->name == object.metadata.name);
  old_nodes_.push_back(nodes_[node].facts);
  SwapNodeFacts(node, MakeNodeFacts(object));
  Log({.step = Step::kUpdatedNode, .subject = node});
  ++loosened_;
}

std::vector<NodeIndex>::iterator Snapshot::OrderPlace(uint64_t sequence) {
  if (order_.empty() || nodes_[order_.back()].sequence < sequence) return order_.end();
  return std::lower_bound(
      order_.begin(), order_.end(), sequence,
      [&](NodeIndex node, uint64_t wanted) { return nodes_[node].sequence < wanted; });
}

void Snapshot::ShowNode(NodeIndex node, std::shared_ptr<const NodeFacts> facts) {
  NodeRecord& record = nodes_[node];
  record.facts = std::move(facts);
  shape_of_[node] = record.facts->shape_id;
  resources_.SetAllocatable(node, record.facts->allocatable);
  order_.insert(OrderPlace(record.sequence), node);
  node_names_.Insert(HashBytes(record.facts->name), node);
  counters_->OnNodeShown(node);
}

void Snapshot::HideNode(NodeIndex node) {
  NodeRecord& record = nodes_[node];
  CHECK(record.pods.empty());
  counters_->OnNodeHidden(node);
  node_names_.Erase(HashBytes(record.facts->name), node);
  order_.erase(OrderPlace(record.sequence));
  resources_.SetAllocatable(node, {});
  record.facts = nullptr;
}

void Snapshot::SwapNodeFacts(NodeIndex node, std::shared_ptr<const NodeFacts> facts) {
  nodes_[node].facts = std::move(facts);
  shape_of_[node] = nodes_[node].facts->shape_id;
  resources_.SetAllocatable(node, nodes_[node].facts->allocatable);
  counters_->OnNodeChanged(node);
}

}  // namespace coppice::cluster
