#include "pack/placer.h"

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>

#include "cluster/canonical.h"
#include "pack/pod_kinds.h"

namespace coppice::pack {

namespace {
constexpr size_t kKindsPerController = 10;
}  // namespace

uint64_t Hints::HashOf(const model::Pod& pod) {
  const model::ObjectMeta& meta = pod.metadata;
  if (!meta.uid.empty()) return cluster::HashBytes(meta.uid);
  return cluster::HashBytes(meta.namespace_) * 31 + cluster::HashBytes(meta.name);
}

const Hints::Entry* Hints::FindPrevious(const model::Pod& pod) {
  if (previous_.empty()) return nullptr;
  if (previous_table_.size() == 0) {
    for (size_t i = previous_.size(); i-- > 0;) {  // of two for one pod the later is found first
      previous_table_.Insert(HashOf(*previous_[i].pod), static_cast<uint32_t>(i));
    }
  }
  const uint32_t id = previous_table_.Find(HashOf(pod), [&](uint32_t i) {
    const model::ObjectMeta& known = previous_[i].pod->metadata;
    if (known.uid != pod.metadata.uid) return false;
    return !known.uid.empty() ||
           (known.name == pod.metadata.name && known.namespace_ == pod.metadata.namespace_);
  });
  return id == cluster::IdTable::kAbsent ? nullptr : &previous_[id];
}

const std::string* Hints::Find(const PendingPod& pod) {
  if (pod.index < seen_.size()) {
    const Seen& seen = seen_[pod.index];
    if (seen.run == run_ && seen.pod == pod.pod.get() && seen.entry != cluster::kNone) {
      return &current_[seen.entry].node;
    }
  }
  const Entry* entry = FindPrevious(*pod.pod);
  return entry == nullptr ? nullptr : &entry->node;
}

void Hints::Set(const PendingPod& pod, std::string node) {
  if (pod.index >= seen_.size()) seen_.resize(pod.index + 1);
  Seen& seen = seen_[pod.index];
  if (seen.run == run_ && seen.pod == pod.pod.get() && seen.entry != cluster::kNone) {
    current_[seen.entry].node = std::move(node);
    return;
  }
  seen = {pod.pod.get(), run_, static_cast<uint32_t>(current_.size())};
  current_.push_back({pod.pod, std::move(node)});
}

void Hints::NextRun() {
  previous_ = std::move(current_);
  previous_table_ = {};
  current_.clear();
  ++run_;
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
    if (kinds.size() < kKindsPerController) {
      kinds.push_back(&pod);
    } else {
      overflowing_.insert(controller->uid);
    }
  }
  size_t overflowing() const { return overflowing_.size(); }

 private:
  std::unordered_map<std::string_view, std::vector<const model::Pod*>> kinds_;
  std::set<std::string_view> overflowing_;
};

bool Placer::PlaceByHint(const PendingPod& pod, const PlaceOptions& options) {
  const std::string* hint = hints_.Find(pod);
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
  hints_.Set(pod, std::string(*hint));
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
  hints_.Set(pod, snapshot.node(node).name);
  return true;
}

Placement Placer::Place(const std::vector<PendingPod>& pods, const PlaceOptions& options) {
  Placement result;
  result.placed.assign(pods.size(), 0);
  result.unprocessed.assign(pods.size(), 0);
  std::map<int32_t, std::vector<size_t>, std::greater<>> by_priority;
  std::vector<size_t>* group_of_last = nullptr;  // most pods have the priority of the one before
  int32_t last = 0;
  const cluster::Snapshot& snapshot = search_.snapshot();
  for (size_t i = 0; i < pods.size(); ++i) {
    const int32_t priority = snapshot.interner().spec(snapshot.spec_id(pods[i].index)).priority;
    if (group_of_last == nullptr || priority != last) group_of_last = &by_priority[last = priority];
    group_of_last->push_back(i);
  }

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
  result.overflowing_controllers = failures.overflowing();
  return result;
}

}  // namespace coppice::pack
