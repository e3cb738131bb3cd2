#include "pack/counting.h"

#include <algorithm>
#include <bit>

namespace coppice::pack {

std::optional<Counting> Counting::For(fit::Search& search, const std::vector<const PodKind*>& kinds,
                                      const NodeTemplate& node_template) {
  // The search passes over cordoned nodes while a check does not: too fine for arithmetic.
  if (node_template.node.spec.unschedulable) return std::nullopt;
  Counting counting(search, kinds);
  if (!counting.Learn(node_template)) return std::nullopt;
  return counting;
}

bool Counting::Learn(const NodeTemplate& node_template) {
  cluster::Snapshot& snapshot = search_->snapshot();
  const auto fork = snapshot.Fork();
  const auto fresh = AddTo(snapshot, FreshCopy(node_template, "e-0"));
  if (!fresh.ok()) return false;
  for (const PodKind* kind : *kinds_) {
    if (!LearnShape(*kind, *fresh)) return false;
  }
  for (const cluster::ResourceId resource : columns_) {
    fresh_.push_back(snapshot.resources().free(resource)[*fresh]);
  }
  return true;
}

size_t Counting::ColumnOf(cluster::ResourceId resource) {
  const auto it = std::ranges::find(columns_, resource);  // a handful
  if (it != columns_.end()) return static_cast<size_t>(it - columns_.begin());
  columns_.push_back(resource);
  return columns_.size() - 1;
}

bool Counting::LearnShape(const PodKind& kind, cluster::NodeIndex fresh) {
  const cluster::Snapshot& snapshot = search_->snapshot();
  const cluster::SpecId spec = snapshot.spec_id(kind.front().index);
  // Equal for scheduling, and yet a resize in its status can make a pod one of another shape.
  for (const fit::PendingPod& pod : kind) {
    if (snapshot.spec_id(pod.index) != spec || !snapshot.IsPlain(pod.index)) return false;
  }
  const fit::Question& question = search_->Ask(kind.front().index);
  const std::vector<fit::ResourceNeed>* needs = question.Needs();
  if (needs == nullptr || snapshot.resources().gives(spec)) return false;
  if (spec >= shapes_.size()) shapes_.resize(spec + 1);
  if (shapes_[spec]) return true;
  Shape& shape = shapes_[spec].emplace();
  shape.fits_fresh = question.Check(fresh).yes();
  for (const fit::ResourceNeed& need : *needs) {
    shape.asks.push_back({ColumnOf(need.resource), need.asked});
  }
  for (const auto& [resource, amount] : snapshot.resources().taken(spec).of) {
    shape.takes.push_back({ColumnOf(resource), amount});
  }
  return true;
}

bool Counting::HasRoom(Shape& shape, size_t node) {
  const int64_t* free = free_.data() + node * columns_.size();
  const bool room = std::ranges::all_of(
      shape.asks, [free](const Amount& ask) { return ask.amount <= free[ask.column]; });
  if (!room) shape.full[node / 64] |= uint64_t{1} << (node % 64);
  return room;
}

size_t Counting::FindIn(Shape& shape, size_t begin, size_t end) {
  for (size_t word = begin / 64; word * 64 < end; ++word) {
    uint64_t candidates = ~shape.full[word];
    if (word * 64 < begin) candidates &= ~uint64_t{0} << (begin - word * 64);
    for (; candidates != 0; candidates &= candidates - 1) {
      const size_t node = word * 64 + static_cast<size_t>(std::countr_zero(candidates));
      if (node >= end) return kNowhere;
      if (HasRoom(shape, node)) return node;
    }
  }
  return kNowhere;
}

size_t Counting::Find(Shape& shape) {
  if (!shape.fits_fresh) return kNowhere;
  shape.full.resize((pods_on_.size() + 63) / 64, 0);
  const size_t count = first_position_ + pods_on_.size();
  const size_t start = std::max((search_->last() + 1) % count, first_position_) - first_position_;
  size_t node = FindIn(shape, start, pods_on_.size());
  if (node == kNowhere) node = FindIn(shape, 0, start);
  if (node != kNowhere) search_->MoveTo(first_position_ + node);
  return node;
}

void Counting::AddNode() {
  pods_on_.push_back(0);
  free_.insert(free_.end(), fresh_.begin(), fresh_.end());
}

void Counting::Place(const fit::PendingPod& pod, const Shape& shape, size_t node) {
  int64_t* free = free_.data() + node * columns_.size();
  for (const Amount& take : shape.takes) free[take.column] -= take.amount;
  ++pods_on_[node];
  result_.pods.push_back(&pod);
}

// False: no more nodes for the whole estimate.
bool Counting::PlaceKind(const PodKind& kind, bool more_nodes, Limiter& limiter) {
  Shape& shape = *shapes_[search_->snapshot().spec_id(kind.front().index)];
  size_t next = 0;
  for (; next < kind.size() && !pods_on_.empty(); ++next) {
    const size_t node = Find(shape);
    if (node == kNowhere) break;
    Place(kind[next], shape, node);
  }
  if (!more_nodes) return false;
  for (; next < kind.size(); ++next) {
    shape.full.resize(pods_on_.size() / 64 + 1, 0);
    if (pods_on_.empty() || !shape.fits_fresh || !HasRoom(shape, pods_on_.size() - 1)) {
      // A fresh node did not take it: another would not either.
      if (!pods_on_.empty() && pods_on_.back() == 0) return true;
      if (!limiter.MayAddNode()) return false;
      AddNode();
      if (!shape.fits_fresh) return true;
    }
    Place(kind[next], shape, pods_on_.size() - 1);
  }
  return true;
}

Estimate Counting::Run(Limiter limiter) {
  size_t pods = 0;
  for (const PodKind* kind : *kinds_) pods += kind->size();
  result_.pods.reserve(pods);
  bool more_nodes = true;
  for (const PodKind* kind : *kinds_) more_nodes = PlaceKind(*kind, more_nodes, limiter);
  for (const int count : pods_on_) {
    if (count > 0) result_.pods_per_node.push_back(count);
  }
  result_.nodes = static_cast<int>(result_.pods_per_node.size());
  return std::move(result_);
}

}  // namespace coppice::pack
