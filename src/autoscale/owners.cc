#include "autoscale/owners.h"

#include <functional>
#include <memory>

namespace coppice::autoscale {

namespace {

cloud::NodeRef RefTo(const model::Node& node) {
  return {.provider_id = node.spec.provider_id,
          .name = node.metadata.name,
          .node = {std::shared_ptr<const void>(), &node}};  // lent for the call: without an owner
}

}  // namespace

std::optional<std::string> Owners::GroupOf(const model::Node& node) const {
  const auto group = groups_.GroupOf(RefTo(node));
  if (!group.ok()) return std::nullopt;
  return group->value_or("");
}

void Owners::TellNodes() {
  if (told_set_ == world_.node_set_version()) return;
  told_set_ = world_.node_set_version();
  groups_.TellNodes([this](const std::function<void(const cloud::NodeRef&)>& tell) {
    world_.ForEachNode([&](const cluster::NodePtr& node) { tell(RefTo(*node)); });
  });
}

std::string Owners::NotOurs(const cloud::NodeRef& node, std::string_view group) const {
  if (!deviations_.fuses) return "";
  const auto owner = groups_.GroupOf(node);
  if (!owner.ok()) return "nobody can say whose machine it is: " + owner.status().message();
  if (!owner->has_value()) return "the provider does not know the machine as its own";
  if (**owner != group)
    return "the provider has the machine in " + **owner + ", not in " + std::string(group);
  return "";
}

}  // namespace coppice::autoscale
