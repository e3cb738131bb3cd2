// Nodes that were bought for a gang and wait for it.

#include <algorithm>
#include <memory>

#include "batch/session.h"
#include "market/intent.h"

namespace coppice::batch {

// A node that was bought for a gang has a taint that keeps all others off. Its gang is placed past
// that: filters see the node without it, and whose it is is asked here.
void Session::ReadHold(NodeInfo& node) {
  const auto& taints = node.object->spec.taints;
  const auto held = std::ranges::find(taints, market::kHeldForTaint, &model::Taint::key);
  if (held == taints.end()) return;
  node.held_for = held->value;
  holders_.insert(held->value);
  auto free = std::make_shared<model::Node>(*node.object);
  std::erase_if(free->spec.taints,
                [](const model::Taint& taint) { return taint.key == market::kHeldForTaint; });
  view_->snapshot().UpdateNode(node.snapshot_index, *free);
}

Fit Session::HeldForAnother(const Task& task, const NodeInfo& node) const {
  if (node.held_for.empty()) return nullptr;
  if (task.job != nullptr && task.job->hold_value == node.held_for) return nullptr;
  return Refuse(kFitUnresolvable, "node(s) were held for a gang");
}

bool Session::SameHolds(const Job& l, const Job& r) const {
  if (&l == &r || holders_.empty()) return true;
  return !holders_.contains(l.hold_value) && !holders_.contains(r.hold_value);
}

}  // namespace coppice::batch
