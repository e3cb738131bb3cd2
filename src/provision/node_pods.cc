#include "provision/node_pods.h"

#include <algorithm>
#include <functional>
#include <string_view>
#include <utility>

#include "model/node_claim.h"
#include "provision/pod_selection.h"

namespace coppice::provision {

NodePodsPtr NodePodsOf(std::vector<PodPtr> pods) {
  std::ranges::sort(pods, {}, [](const PodPtr& pod) {
    return std::pair<std::string_view, std::string_view>(pod->metadata.namespace_,
                                                         pod->metadata.name);
  });
  auto made = std::make_shared<NodePods>();
  std::vector<PodPtr> running;
  for (const PodPtr& pod : pods) {
    if (IsOwnedBy(*pod, "apps/v1", "DaemonSet")) made->daemons.push_back(pod);
    made->speaks = made->speaks ||
                   pod->metadata.annotations.contains(model::karpenter::kDoNotDisruptAnnotation);
    if (IsPendingPod(pod)) made->pending.push_back(pod);
    if (IsTerminal(*pod)) continue;
    running.push_back(pod);
    made->print =
        (made->print ^ std::hash<std::string_view>{}(pod->metadata.uid)) * 0x9E3779B97F4A7C15ULL;
  }
  made->running = PodList(std::move(running));
  made->all = made->running.size() == pods.size() ? made->running : PodList(std::move(pods));
  return made;
}

std::vector<NodePodsPtr> NodePodsBook::Of(const std::vector<cluster::NodePtr>& nodes) {
  const auto versions = std::pair(world_.nodes_version(), world_.pods_version());
  if (found_versions_ == versions) return found_;
  ++looks_;
  std::vector<NodePodsPtr> found;
  found.reserve(nodes.size());
  for (const cluster::NodePtr& node : nodes) {
    const std::string& name = node->metadata.name;
    Page& page = pages_[name];
    page.seen = looks_;
    const uint64_t version = world_.pods_version(name);
    if (page.pods == nullptr || page.version != version) {
      std::vector<PodPtr> pods;
      for (const auto* entry : world_.BoundTo(name)) pods.push_back(entry->pod);
      page.version = version;
      page.pods = NodePodsOf(std::move(pods));
    }
    found.push_back(page.pods);
  }
  if (pages_.size() > nodes.size())
    std::erase_if(pages_, [this](const auto& page) { return page.second.seen != looks_; });
  found_ = found;
  found_versions_ = versions;
  return found;
}

}  // namespace coppice::provision
