// What a machine is to the solver while it is on its way: the claim speaks for it until the node is
// registered, fills in what the kubelet has not reported yet until it is initialised, and taints
// that will go away by themselves do not count.

#include <algorithm>
#include <iterator>

#include "market/intent.h"
#include "model/taints.h"
#include "provision/solver.h"
#include "provision/tolerance.h"

namespace coppice::provision {
namespace {

// Of a node that is being rebooted. It does not keep a node from being initialised, so it is no
// ephemeral taint, but it will go.
bool IsRebooting(const model::Taint& taint) {
  return taint.key == "karpenter.sh/rebooting" && taint.effect == model::kNoSchedule;
}

// What is held for a gang does not become free by itself, although it is a start-up taint.
bool IsHold(const model::Taint& taint) { return taint.key == market::kHeldForTaint; }

bool LabelIsTrue(const NodePtr& node, std::string_view label) {
  const std::string* value = node == nullptr ? nullptr : node->metadata.labels.Find(label);
  return value != nullptr && *value == "true";
}

model::ResourceList FilledIn(const model::ResourceList* reported,
                             const model::ResourceList& promised) {
  if (reported == nullptr) return promised;
  model::ResourceList filled = *reported;
  for (const auto& [name, amount] : promised) {
    const model::Quantity* there = filled.Find(name);
    if (there == nullptr || there->IsZero()) filled[name] = amount;
  }
  return filled;
}

}  // namespace

bool StateNode::registered() const {
  return !managed() || LabelIsTrue(node, model::kRegisteredLabel);
}
bool StateNode::initialized() const {
  return !managed() || LabelIsTrue(node, model::kInitializedLabel);
}

const std::string& StateNode::name() const {
  return node == nullptr || !registered() ? claim->name : node->metadata.name;
}

const model::Labels& StateNode::labels() const {
  return node == nullptr || !registered() ? claim->labels : node->metadata.labels;
}

std::string StateNode::hostname() const {
  const std::string* label = labels().Find(model::kHostnameLabel);
  return label == nullptr || label->empty() ? name() : *label;
}

std::string StateNode::provider_id() const { return node == nullptr ? "" : node->spec.provider_id; }

std::vector<model::Taint> StateNode::taints() const {
  const bool from_claim = node == nullptr || !registered();
  std::vector<model::Taint> taints = from_claim ? claim->taints : node->spec.taints;
  if (managed() && !initialized()) {
    std::erase_if(taints, [this](const model::Taint& taint) {
      return IsEphemeral(taint, claim->ephemeral.get()) || IsRebooting(taint) ||
             std::ranges::any_of(claim->startup_taints, [&](const model::Taint& startup) {
               return !IsHold(startup) && model::SameTaint(startup, taint);
             });
    });
  }
  if (from_claim) std::ranges::copy_if(claim->startup_taints, std::back_inserter(taints), IsHold);
  return taints;
}

model::ResourceList StateNode::capacity() const {
  model::ResourceList list =
      initialized() || claim == nullptr
          ? node->status.capacity
          : FilledIn(node == nullptr ? nullptr : &node->status.capacity, claim->capacity);
  list["nodes"] = model::Quantity::FromUnits(1);
  return list;
}

model::ResourceList StateNode::allocatable() const {
  // Nobody knows what it has to offer.
  if (node != nullptr && node->metadata.unreadable) return {};
  if (initialized() || claim == nullptr) return node->status.allocatable;
  return FilledIn(node == nullptr ? nullptr : &node->status.allocatable, claim->allocatable);
}

}  // namespace coppice::provision
