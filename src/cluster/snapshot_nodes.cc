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
                .allocatable = model::ToNodeAmounts(object.status.allocatable)});
}

Result<NodeIndex> Snapshot::AddNode(const model::Node& node) {
  if (FindNode(node.metadata.name) != kNone) {
    return AlreadyExists("node '" + node.metadata.name + "' is in the snapshot already");
  }
  if (marks_.empty() && slots_.size() > 2 * order_.size() + 1024) CompactSlots();
  NodeIndex index = node_bound();
  if (!free_nodes_.empty()) {
    index = free_nodes_.back();
    free_nodes_.pop_back();
  } else {
    nodes_.emplace_back();
    shape_of_.push_back(0);
    content_.push_back(0);
  }
  nodes_[index].slot = static_cast<uint32_t>(slots_.size());
  slots_.push_back(kNone);
  if (live_slots_.size() * 64 < slots_.size()) live_slots_.push_back(0);
  ShowNode(index, MakeNodeFacts(node), interner_->Shape(node));
  Log({.step = Step::kAddedNode, .subject = index});
  return index;
}

void Snapshot::RemoveNode(NodeIndex node) {
  CHECK(IsLive(node));
  while (!nodes_[node].pods.empty()) RemovePod(nodes_[node].pods.back());
  old_nodes_.push_back(nodes_[node].facts);
  const uint64_t content = content_[node];
  HideNode(node);
  Log({.step = Step::kRemovedNode,
       .subject = node,
       .node = node,
       .slot = shape_of_[node],
       .content = content});
}

void Snapshot::UpdateNode(NodeIndex node, const model::Node& object) {
  CHECK(IsLive(node) && nodes_[node].facts->name == object.metadata.name);
  old_nodes_.push_back(nodes_[node].facts);
  const LogEntry entry{.step = Step::kUpdatedNode,
                       .subject = node,
                       .node = node,
                       .slot = shape_of_[node],
                       .content = content_[node]};
  SwapNodeFacts(node, MakeNodeFacts(object), interner_->Shape(object));
  Log(entry);
}

void Snapshot::AddTaint(NodeIndex node, const model::Taint& taint) {
  CHECK(IsLive(node));
  const NodeShapeId before = shape_of_[node];
  auto known = std::ranges::lower_bound(tainted_shapes_, before, {}, &Tainted::shape);
  const auto same_shape = [&] { return known != tainted_shapes_.end() && known->shape == before; };
  while (same_shape() && !(known->taint == taint)) ++known;
  if (!same_shape()) {
    NodeShape shape = interner_->node_shape(before);
    shape.taints.push_back({.key = taint.key, .value = taint.value, .effect = taint.effect});
    known = tainted_shapes_.insert(known, {before, taint, interner_->Shape(std::move(shape))});
  }
  const uint64_t content = content_[node];
  Reshape(node, known->with_taint);
  Log({.step = Step::kReshapedNode,
       .subject = node,
       .node = node,
       .slot = before,
       .content = content});
}

std::vector<NodeIndex>::iterator Snapshot::OrderPlace(uint32_t slot) {
  if (order_.empty() || nodes_[order_.back()].slot < slot) return order_.end();
  return std::lower_bound(order_.begin(), order_.end(), slot, [&](NodeIndex node, uint32_t wanted) {
    return nodes_[node].slot < wanted;
  });
}

size_t Snapshot::position_of(NodeIndex node) const {
  const uint32_t slot = nodes_[node].slot;
  // Without holes before it the slot is the position.
  if (slot < order_.size() && order_[slot] == node) return slot;
  const auto it = std::lower_bound(
      order_.begin(), order_.end(), slot,
      [&](NodeIndex other, uint32_t wanted) { return nodes_[other].slot < wanted; });
  return static_cast<size_t>(it - order_.begin());
}

void Snapshot::SetLive(uint32_t slot, NodeIndex node) {
  slots_[slot] = node;
  const uint64_t bit = uint64_t{1} << (slot % 64);
  uint64_t& word = live_slots_[slot / 64];
  word = node == kNone ? word & ~bit : word | bit;
}

// Not inside a fork: a node that a revert would bring back needs its old slot.
void Snapshot::CompactSlots() {
  slots_.assign(order_.begin(), order_.end());
  live_slots_.assign((slots_.size() + 63) / 64, 0);
  for (uint32_t slot = 0; slot < slots_.size(); ++slot) {
    nodes_[slots_[slot]].slot = slot;
    SetLive(slot, slots_[slot]);
  }
  ++slot_epoch_;
}

void Snapshot::Ease(NodeIndex node) {
  constexpr size_t kKept = size_t{1} << 18;  // who is further behind starts afresh
  const uint32_t slot = nodes_[node].slot;
  if (!eased_read_ && !eased_.empty() && eased_.back() == slot) return;
  eased_read_ = false;
  if (eased_.size() == kKept) {
    eased_base_ += eased_.size();
    eased_.clear();
  }
  eased_.push_back(slot);
}

void Snapshot::ShowNode(NodeIndex node, std::shared_ptr<const NodeFacts> facts, NodeShapeId shape) {
  NodeRecord& record = nodes_[node];
  record.facts = std::move(facts);
  shape_of_[node] = shape;
  resources_.SetAllocatable(node, record.facts->allocatable);
  order_.insert(OrderPlace(record.slot), node);
  SetLive(record.slot, node);
  Ease(node);
  Touch(node);
  node_names_.Insert(HashBytes(record.facts->name), node);
  counters_->OnNodeShown(node);
}

void Snapshot::HideNode(NodeIndex node) {
  NodeRecord& record = nodes_[node];
  CHECK(record.pods.empty());
  counters_->OnNodeHidden(node);
  node_names_.Erase(HashBytes(record.facts->name), node);
  order_.erase(OrderPlace(record.slot));
  SetLive(record.slot, kNone);
  Touch(node);
  resources_.SetAllocatable(node, {});
  record.facts = nullptr;
}

void Snapshot::SwapNodeFacts(NodeIndex node, std::shared_ptr<const NodeFacts> facts,
                             NodeShapeId shape) {
  nodes_[node].facts = std::move(facts);
  resources_.SetAllocatable(node, nodes_[node].facts->allocatable);
  Reshape(node, shape);
}

void Snapshot::Reshape(NodeIndex node, NodeShapeId shape) {
  shape_of_[node] = shape;
  counters_->OnNodeChanged(node);
  Ease(node);
  Touch(node);
}

}  // namespace coppice::cluster
