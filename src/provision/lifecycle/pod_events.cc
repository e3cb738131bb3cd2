#include "provision/lifecycle/pod_events.h"

#include <algorithm>
#include <utility>

#include "provision/pod_selection.h"

namespace coppice::provision {

namespace {

constexpr Duration kCompareEvery = std::chrono::seconds(1);

uint8_t StageOf(const model::Pod& pod) {
  return static_cast<uint8_t>((IsTerminal(pod) ? 1 : 0) | (IsTerminating(pod) ? 2 : 0));
}

}  // namespace

void PodEvents::Look(const Context::NodeIndexById& nodes, TimePoint now) {
  if (now < Later(looked_, kCompareEvery) && looked_ != TimePoint::min()) return;
  const bool first = looked_ == TimePoint::min();
  looked_ = now;
  for (auto& [id, seen] : seen_) seen.there = false;
  for (const auto& [id, same] : nodes) {
    const model::Node& node = *same.front();
    if (!context_.Manages(node)) continue;
    const auto [it, is_new] = seen_.try_emplace(id);
    Seen& seen = it->second;
    seen.there = true;
    const uint64_t version = context_.world().pods_version(node.metadata.name);
    if (!is_new && seen.node == node.metadata.name && seen.version == version) continue;
    seen.node = node.metadata.name;
    seen.version = version;
    std::map<std::string, uint8_t> pods;
    bool happened = false;
    for (const auto* entry : context_.world().BoundTo(node.metadata.name)) {
      const model::Pod& pod = *entry->pod;
      if (IsOwnedBy(pod, "apps/v1", "DaemonSet")) continue;
      const uint8_t stage = StageOf(pod);
      const auto before = seen.pods.find(pod.metadata.uid);
      happened = happened || before == seen.pods.end() || (stage & ~before->second) != 0;
      pods.emplace(pod.metadata.uid, stage);
    }
    seen.pods = std::move(pods);
    if (happened && !first && (!is_new || !seen.pods.empty())) seen.last = now;
  }
  std::erase_if(seen_, [](const auto& entry) { return !entry.second.there; });
}

std::optional<TimePoint> PodEvents::LastOn(const std::string& provider_id) const {
  const auto it = seen_.find(provider_id);
  return it == seen_.end() ? std::nullopt : it->second.last;
}

}  // namespace coppice::provision
