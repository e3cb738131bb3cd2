#include "pack/placer.h"

#include <algorithm>
#include <map>

#include "model/resources.h"
#include "pack/pod_kinds.h"

namespace coppice::pack {

namespace {
constexpr size_t kKindsPerController = 10;
}  // namespace

std::string Hints::KeyOf(const model::Pod& pod) {
  if (!pod.metadata.uid.empty()) return pod.metadata.uid;
  return pod.metadata.namespace_ + "/" + pod.metadata.name;
}

const std::string* Hints::Find(const model::Pod& pod) const {
  if (current_.empty() && previous_.empty()) return nullptr;
  const std::string key = KeyOf(pod);
  const auto now = current_.find(key);
  if (now != current_.end()) return &now->second;
  const auto before = previous_.find(key);
  return before == previous_.end() ? nullptr : &before->second;
}

void Hints::Set(const model::Pod& pod, std::string node) { current_[KeyOf(pod)] = std::move(node); }

void Hints::NextRun() {
  previous_ = std::move(current_);
  current_.clear();
}

bool Placement::all() const {
  return std::ranges::all_of(placed, [](uint8_t p) { return p != 0; });
}

// The kinds of pods that found no place in this run, per controller.
class Placer::Failures {
 public:
  bool Knows(const model::Pod& pod) const {
    const model::OwnerReference* controller = model::ControllerOf(pod.metadata);
    if (controller == nullptr) return false;
    const auto it = kinds_.find(controller->uid);
    if (it == kinds_.end()) return false;
    return std::ranges::any_of(
        it->second, [&](const model::Pod* failed) { return SameForScheduling(pod, *failed); });
  }
  void Add(const model::Pod& pod) {
    const model::OwnerReference* controller = model::ControllerOf(pod.metadata);
    if (controller == nullptr || IsDaemonSetPod(pod)) return;
    auto& kinds = kinds_[controller->uid];
    if (kinds.size() < kKindsPerController) kinds.push_back(&pod);
  }

 private:
  std::unordered_map<std::string_view, std::vector<const model::Pod*>> kinds_;
};

bool Placer::PlaceByHint(const PendingPod& pod, const PlaceOptions& options) {
  const std::string* hint = hints_.Find(*pod.pod);
  if (hint == nullptr) return false;
  cluster::Snapshot& snapshot = search_.snapshot();
  const cluster::NodeIndex node = snapshot.FindNode(*hint);
  if (node == cluster::kNone || node == options.accept.except) return false;
  if (options.accept.allowed != nullptr &&
      (node >= options.accept.allowed->size() || (*options.accept.allowed)[node] == 0)) {
    return false;
  }
  if (!search_.Fits(pod.index, node)) return false;
  snapshot.Place(pod.index, node);
  hints_.Set(*pod.pod, std::string(*hint));
  return true;
}

bool Placer::PlaceBySearch(const PendingPod& pod, const PlaceOptions& options, Failures& failures) {
  if (failures.Knows(*pod.pod)) return false;
  cluster::Snapshot& snapshot = search_.snapshot();
  const cluster::NodeIndex node = search_.Find(pod.index, options.accept);
  if (node == cluster::kNone) {
    failures.Add(*pod.pod);
    return false;
  }
  snapshot.Place(pod.index, node);
  hints_.Set(*pod.pod, snapshot.node(node).name);
  return true;
}

Placement Placer::Place(const std::vector<PendingPod>& pods, const PlaceOptions& options) {
  Placement result;
  result.placed.assign(pods.size(), 0);
  result.unprocessed.assign(pods.size(), 0);
  std::map<int32_t, std::vector<size_t>, std::greater<>> by_priority;
  for (size_t i = 0; i < pods.size(); ++i)
    by_priority[model::PriorityOf(*pods[i].pod)].push_back(i);

  Failures failures;
  bool timed_out = false;
  const auto out_of_time = [&] {
    timed_out = timed_out || (options.out_of_time && options.out_of_time());
    return timed_out;
  };
  for (const auto& [priority, group] : by_priority) {
    std::vector<size_t> without_hint;
    for (const size_t i : group) {
      if (out_of_time()) {
        result.unprocessed[i] = 1;
      } else if (PlaceByHint(pods[i], options)) {
        result.placed[i] = 1;
      } else {
        without_hint.push_back(i);
      }
    }
    bool stopped = false;
    for (const size_t i : without_hint) {
      if (stopped) break;
      if (out_of_time()) {
        result.unprocessed[i] = 1;
      } else if (PlaceBySearch(pods[i], options, failures)) {
        result.placed[i] = 1;
      } else {
        stopped = options.stop_at_first_failure;
      }
    }
  }
  return result;
}

}  // namespace coppice::pack
