#include "fit/equivalence.h"

#include <algorithm>
#include <string_view>
#include <unordered_map>

#include "model/pod_kinds.h"

namespace coppice::fit {

namespace {

bool SameVolumes(const std::vector<model::Volume>& a, const std::vector<model::Volume>& b) {
  const auto counts = [](const model::Volume& v) { return !v.projected; };
  auto left = a.begin();
  auto right = b.begin();
  while (true) {
    left = std::find_if(left, a.end(), counts);
    right = std::find_if(right, b.end(), counts);
    if (left == a.end() || right == b.end()) return left == a.end() && right == b.end();
    if (!(*left++ == *right++)) return false;
  }
}

}  // namespace

bool SameForScheduling(const model::Pod& a, const model::Pod& b) {
  if (&a == &b) return true;
  if (a.spec.unkept_hash != b.spec.unkept_hash || !(a.metadata.labels == b.metadata.labels) ||
      !SameVolumes(a.spec.volumes, b.spec.volumes)) {
    return false;
  }
  if (a.spec.volumes == b.spec.volumes) return a.spec == b.spec;
  model::PodSpec left = a.spec;  // rare: projected volumes are named per pod
  left.volumes = b.spec.volumes;
  return left == b.spec;
}

std::vector<std::vector<PendingPod>> GroupEquivalent(const std::vector<PendingPod>& pods,
                                                     const cluster::Snapshot* snapshot) {
  std::vector<std::vector<PendingPod>> groups;
  groups.reserve(pods.size());
  std::unordered_map<std::string_view, std::vector<size_t>> kinds;  // by controller uid
  for (const PendingPod& pending : pods) {
    if (snapshot != nullptr && !snapshot->owned(pending.index)) {
      groups.push_back({pending});
      continue;
    }
    const model::OwnerReference* controller = model::ControllerOf(pending.pod->metadata);
    if (controller == nullptr || model::IsDaemonSetPod(*pending.pod)) {
      groups.push_back({pending});
      continue;
    }
    std::vector<size_t>& known = kinds[controller->uid];
    const auto same = std::ranges::find_if(known, [&](size_t group) {
      return SameForScheduling(*pending.pod, *groups[group].front().pod);
    });
    if (same != known.end()) {
      groups[*same].push_back(pending);
      continue;
    }
    if (known.size() < kKindsPerController) known.push_back(groups.size());
    groups.push_back({pending});
  }
  return groups;
}

}  // namespace coppice::fit
