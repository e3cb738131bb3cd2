// Whose the nodes are: what the provider is told and asked about them, and what is not done as long
// as it has not said.

#include <utility>

#include "autoscale/engine_pass.h"

namespace coppice::autoscale {

namespace {

cloud::NodeRef RefTo(const model::Node& node) {
  return {.provider_id = node.spec.provider_id,
          .name = node.metadata.name,
          .node = {std::shared_ptr<const void>(), &node}};  // lent for the call: without an owner
}

}  // namespace

std::optional<std::string> Engine::GroupOf(const model::Node& node) {
  const auto group = groups_.GroupOf(RefTo(node));
  if (!group.ok()) return std::nullopt;
  return group->value_or("");
}

// Before a refresh: what a provider has to be asked about nodes it asks then, off this thread.
void Engine::TellNodes() {
  if (told_set_ == parts_.world.node_set_version()) return;
  told_set_ = parts_.world.node_set_version();
  groups_.TellNodes([this](const std::function<void(const cloud::NodeRef&)>& tell) {
    parts_.world.ForEachNode([&](const cluster::NodePtr& node) { tell(RefTo(*node)); });
  });
}

// Not before the provider was asked: which nodes are ours is not known until then, and marks of a
// process before us would stay for ever. This pass still sees them. A node that the provider could
// not answer for is seen to when it can; until then it is not removed, so that a mark on it cannot
// be a new one of ours.
Task<void> Engine::CleanUp(PassState& pass) {
  const bool first = !std::exchange(initialized_, true);
  if (!first && not_cleaned_.empty()) co_return;
  std::vector<cluster::NodePtr> all;
  if (first) {
    all = parts_.world.Nodes();
  } else {
    for (const std::string& name : not_cleaned_) {
      if (cluster::NodePtr node = parts_.world.FindNode(name)) all.push_back(std::move(node));
    }
  }
  not_cleaned_.clear();
  std::vector<cluster::NodePtr> owned;
  for (const cluster::NodePtr& node : all) {
    const auto group = GroupOf(*node);
    if (!group) {
      not_cleaned_.insert(node->metadata.name);
    } else if (!group->empty()) {
      owned.push_back(node);
    }
  }
  if (first) {
    down_.Adopt(*pass.nodes, taints_are_fresh_, pass.now);
  } else {
    all.clear();
  }
  co_await actuator_.CleanUp(std::move(owned), std::move(all));
}

}  // namespace coppice::autoscale
