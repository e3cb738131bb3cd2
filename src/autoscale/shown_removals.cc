#include "autoscale/shown_removals.h"

#include <algorithm>
#include <functional>

namespace coppice::autoscale {

size_t ShownRemovals::LookOf(const std::string& node) const {
  const cluster::NodePtr object = world_.FindNode(node);
  if (object == nullptr) return 0;
  std::vector<std::string> pods;
  for (const cluster::World::PodEntry* entry : world_.BoundTo(node)) {
    const model::ObjectMeta& meta = entry->pod->metadata;
    pods.push_back(meta.namespace_ + "/" + meta.name + "/" + meta.uid);
  }
  std::ranges::sort(pods);
  std::string look = object->metadata.uid + " " + object->spec.provider_id;
  for (const std::string& pod : pods) look += " " + pod;
  return std::hash<std::string>()(look);
}

void ShownRemovals::Add(const std::string& node) {
  std::erase_if(looks_,
                [this](const auto& look) { return world_.FindNode(look.first) == nullptr; });
  looks_[node] = LookOf(node);
}

std::vector<RemovableNode> ShownRemovals::LeaveOut(NodesToDelete& nodes) const {
  std::vector<RemovableNode> out;
  if (looks_.empty()) return out;
  for (auto* list : {&nodes.empty, &nodes.drain}) {
    std::vector<RemovableNode> left;
    for (RemovableNode& node : *list) {
      const auto shown = looks_.find(node.node);
      const bool again = shown == looks_.end() || shown->second != LookOf(node.node);
      (again ? left : out).push_back(std::move(node));
    }
    *list = std::move(left);
  }
  return out;
}

}  // namespace coppice::autoscale
