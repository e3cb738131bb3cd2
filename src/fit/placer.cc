#include "fit/placer.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <unordered_map>

#include "model/pod_kinds.h"

namespace coppice::fit {

const Hints::Seen* Hints::SeenNow(const cluster::Snapshot& snapshot, cluster::PodIndex pod) const {
  if (pod >= seen_.size()) return nullptr;
  const Seen& seen = seen_[pod];
  // A plan that is reverted may give the index of one pod to another.
  return seen.run == run_ && seen.pod == snapshot.identity_hash(pod) ? &seen : nullptr;
}

cluster::NodeIndex Hints::Find(const cluster::Snapshot& snapshot, cluster::PodIndex pod) {
  if (const Seen* seen = SeenNow(snapshot, pod)) {
    const cluster::NodeIndex node = current_.entries[seen->entry].node;
    return snapshot.IsLive(node) ? node : cluster::kNone;
  }
  if (previous_.entries.empty()) return cluster::kNone;
  if (previous_table_.size() == 0) {
    // Of two for one pod the later is found first.
    for (size_t i = previous_.entries.size(); i-- > 0;)
      previous_table_.Insert(previous_.entries[i].pod, static_cast<uint32_t>(i));
  }
  const uint64_t identity = snapshot.identity_hash(pod);
  const uint32_t id = previous_table_.Find(
      identity, [&](uint32_t i) { return previous_.entries[i].pod == identity; });
  if (id == cluster::IdTable::kAbsent) return cluster::kNone;
  return snapshot.FindNode(previous_.names[previous_.entries[id].name]);
}

uint32_t Hints::NameOf(const cluster::Snapshot& snapshot, cluster::NodeIndex node) {
  if (node >= named_.size()) named_.resize(snapshot.node_bound());
  Named& named = named_[node];
  if (named.run != run_) {
    named = {run_, static_cast<uint32_t>(current_.names.size())};
    current_.names.push_back(snapshot.node(node).name);
  }
  return named.name;
}

void Hints::Set(const cluster::Snapshot& snapshot, cluster::PodIndex pod, cluster::NodeIndex node) {
  const uint32_t name = NameOf(snapshot, node);
  if (const Seen* seen = SeenNow(snapshot, pod)) {
    current_.entries[seen->entry].node = node;
    current_.entries[seen->entry].name = name;
    return;
  }
  if (pod >= seen_.size()) seen_.resize(snapshot.pod_bound());
  const uint64_t identity = snapshot.identity_hash(pod);
  seen_[pod] = {identity, run_, static_cast<uint32_t>(current_.entries.size())};
  current_.entries.push_back({identity, node, name});
}

void Hints::Prefetch(std::span<const cluster::PodIndex> pods) const {
  for (const cluster::PodIndex pod : pods) {
    if (pod < seen_.size()) __builtin_prefetch(&seen_[pod], 1);
  }
}

void Hints::NextRun() {
  previous_ = std::move(current_);
  previous_table_ = {};
  current_ = {};
  ++run_;
}

bool Placement::all() const {
  return std::ranges::all_of(placed, [](uint8_t p) { return p != 0; });
}

// The kinds of pods that found no place in this run, per controller.
class Placer::Failures {
 public:
  bool any() const { return !kinds_.empty(); }
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
    if (controller == nullptr || model::IsDaemonSetPod(pod)) return;
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

bool Placer::PlaceByHint(cluster::PodIndex pod, const PlaceOptions& options) {
  cluster::Snapshot& snapshot = search_.snapshot();
  const cluster::NodeIndex node = hints_.Find(snapshot, pod);
  if (node == cluster::kNone || !Accepts(options.accept, node)) return false;
  if (!search_.Fits(pod, node)) return false;
  snapshot.Place(pod, node);
  hints_.Set(snapshot, pod, node);
  return true;
}

bool Placer::PlaceBySearch(cluster::PodIndex pod, const PlaceOptions& options) {
  cluster::Snapshot& snapshot = search_.snapshot();
  const cluster::NodeIndex node = search_.Find(pod, options.accept);
  if (node == cluster::kNone) return false;
  snapshot.Place(pod, node);
  hints_.Set(snapshot, pod, node);
  return true;
}

bool Placer::WouldStopAtOnce(std::span<const cluster::PodIndex> pods, const Accept& accept) {
  const cluster::Snapshot& snapshot = search_.snapshot();
  if (pods.empty() || !snapshot.IsPlain(pods.front())) return false;
  const Question& question = search_.Ask(pods.front());
  if (question.rejected() || !question.OwnNodeOnly()) return false;
  const size_t last = search_.last();
  if (search_.Find(pods.front(), accept) != cluster::kNone) {
    search_.MoveTo(last);  // nothing has been placed yet
    return false;
  }
  const int32_t priority = snapshot.spec(pods.front()).priority;
  return std::ranges::all_of(pods, [&](cluster::PodIndex pod) {
    // Of each priority somebody is tried, and a hint that works is kept.
    if (snapshot.spec(pod).priority != priority) return false;
    const cluster::NodeIndex hint = hints_.Find(snapshot, pod);
    return hint == cluster::kNone || !Accepts(accept, hint);
  });
}

Placement Placer::Place(const std::vector<PendingPod>& pods, const PlaceOptions& options) {
  std::vector<cluster::PodIndex> indexes;
  indexes.reserve(pods.size());
  for (const PendingPod& pod : pods) indexes.push_back(pod.index);
  return Place(indexes, [&](size_t i) -> const model::Pod& { return *pods[i].pod; }, options);
}

Placement Placer::Place(std::span<const cluster::PodIndex> pods, const ObjectOf& object_of,
                        const PlaceOptions& options) {
  hints_.Prefetch(pods);
  Placement result;
  result.placed.assign(pods.size(), 0);
  result.unprocessed.assign(pods.size(), 0);
  const cluster::Snapshot& snapshot = search_.snapshot();
  const auto priority_of = [&](size_t i) { return snapshot.spec(pods[i]).priority; };
  std::vector<size_t> order(pods.size());  // by priority, the highest first
  std::iota(order.begin(), order.end(), size_t{0});
  if (!std::ranges::is_sorted(order, std::greater<>(), priority_of))
    std::ranges::stable_sort(order, std::greater<>(), priority_of);

  Failures failures;
  bool timed_out = false;
  const auto out_of_time = [&] {
    timed_out = timed_out || (options.out_of_time && options.out_of_time());
    return timed_out;
  };
  std::vector<size_t> without_hint;
  for (size_t begin = 0; begin < order.size();) {
    const int32_t priority = priority_of(order[begin]);
    size_t end = begin;
    while (end < order.size() && priority_of(order[end]) == priority) ++end;
    without_hint.clear();
    for (; begin < end; ++begin) {
      const size_t i = order[begin];
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
        continue;
      }
      const bool owned = snapshot.owned(pods[i]);  // else a failure is not remembered
      if (owned && failures.any() && failures.Knows(object_of(i))) {
        stopped = options.stop_at_first_failure;
      } else if (PlaceBySearch(pods[i], options)) {
        result.placed[i] = 1;
      } else {
        if (owned) failures.Add(object_of(i));
        stopped = options.stop_at_first_failure;
      }
    }
  }
  result.overflowing_controllers = failures.overflowing();
  return result;
}

}  // namespace coppice::fit
