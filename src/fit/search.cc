#include "fit/search.h"

#include <algorithm>
#include <array>
#include <bit>

namespace coppice::fit {

namespace {

using cluster::kNone;
using cluster::NodeIndex;

uint64_t Ones(size_t count) { return count >= 64 ? ~uint64_t{0} : (uint64_t{1} << count) - 1; }

void Mark(std::vector<uint64_t>& bits, uint32_t slot) {
  bits[slot / 64] |= uint64_t{1} << (slot % 64);
}

// Up to 64 nodes that are asked together, with their slots.
struct Batch {
  std::array<NodeIndex, 64> nodes;
  std::array<uint32_t, 64> slots;
  size_t size = 0;
  void Add(NodeIndex node, uint32_t slot) {
    nodes[size] = node;
    slots[size++] = slot;
  }
};

}  // namespace

bool Accepts(const Accept& accept, NodeIndex node) {
  if (node == accept.except) return false;
  return accept.allowed == nullptr ||
         (node < accept.allowed->size() && (*accept.allowed)[node] != 0);
}

Search::Known& Search::KnownOf(cluster::SpecId spec) {
  if (spec >= known_.size()) known_.resize(spec + 1);
  if (!known_[spec]) known_[spec] = std::make_unique<Known>();
  return *known_[spec];
}

void Search::ForgetOldIds() {
  if (id_epoch_ == snapshot_.id_epoch()) return;
  id_epoch_ = snapshot_.id_epoch();
  known_.clear();
  single_.reset();
}

const Question& Search::Ask(cluster::PodIndex pod) {
  ForgetOldIds();
  if (!snapshot_.IsPlain(pod)) return single_.emplace(chain_.Ask(snapshot_, pod));
  const cluster::SpecId spec = snapshot_.spec_id(pod);
  const cluster::LabelSetId labels = snapshot_.label_set_id(pod);
  Known& known = KnownOf(spec);
  const uint64_t facts = snapshot_.facts().version();
  const uint64_t terms = snapshot_.counters().terms_version();
  const cluster::NodeShapeId shapes = snapshot_.interner().node_shape_count();
  if (known.question && (known.labels == labels || known.question->for_spec()) &&
      known.facts_version == facts && known.terms_version == terms && known.node_shapes == shapes) {
    return *known.question;
  }
  known.question.reset();
  Question question = chain_.Ask(snapshot_, pod);
  // Preparing may have met terms and shapes that nobody had asked about before.
  if (!question.for_kind() || question.rejected()) return single_.emplace(std::move(question));
  known.labels = labels;
  known.facts_version = facts;
  known.terms_version = snapshot_.counters().terms_version();
  known.node_shapes = shapes;
  return known.question.emplace(std::move(question));
}

model::Verdict Search::Check(cluster::PodIndex pod, NodeIndex node) {
  const Question& question = Ask(pod);
  return question.rejected() ? question.rejection() : question.Check(node);
}

bool Search::Fits(cluster::PodIndex pod, NodeIndex node) {
  const Question& question = Ask(pod);
  if (question.rejected()) return false;
  return question.NarrowRest({&node, 1}, question.NarrowOwn({&node, 1}, 1)) != 0;
}

// Brings the memory up to date: what has been eased since is to be asked again.
void Search::CatchUp(Known& known, uint64_t own_links) const {
  const size_t words = snapshot_.live_slots().size();
  const uint64_t end = snapshot_.eased_end();
  const bool keep = known.own_links == own_links && known.epoch == snapshot_.slot_epoch() &&
                    known.seen >= snapshot_.eased_begin() &&
                    end - known.seen <= snapshot_.slots().size();
  if (!keep) {
    known.refused.assign(words, 0);
    known.own_links = own_links;
    known.epoch = snapshot_.slot_epoch();
  } else {
    known.refused.resize(words, 0);
    for (uint64_t number = known.seen; number < end; ++number) {
      const uint32_t slot = snapshot_.eased(number);
      if (slot / 64 < words) known.refused[slot / 64] &= ~(uint64_t{1} << (slot % 64));
    }
  }
  known.seen = end;
}

template <class Take>
void Search::Scan(const Question& question, Known& known, const Accept& accept, size_t begin,
                  size_t end, Take take) const {
  const auto slots = snapshot_.slots();
  const auto live = snapshot_.live_slots();
  Batch batch;
  const auto ask = [&] {  // whether to go on
    const std::span<const NodeIndex> nodes(batch.nodes.data(), batch.size);
    const uint64_t all = Ones(batch.size);
    const uint64_t own = question.NarrowOwn(nodes, all);
    for (uint64_t no = all & ~own; no != 0; no &= no - 1) {
      Mark(known.refused, batch.slots[static_cast<size_t>(std::countr_zero(no))]);
    }
    for (uint64_t yes = question.NarrowRest(nodes, own); yes != 0; yes &= yes - 1) {
      const NodeIndex node = batch.nodes[static_cast<size_t>(std::countr_zero(yes))];
      // Only a pod that tolerates it comes so far: they are few, and memory is about filters.
      if (!PassedOver(accept, node) && !take(node)) return false;
    }
    batch.size = 0;
    return true;
  };
  size_t together = 1;  // most searches end at once; those that do not ask more together
  for (size_t word = begin / 64; word * 64 < end; ++word) {
    uint64_t candidates = live[word] & ~known.refused[word];
    if (word * 64 < begin) candidates &= ~Ones(begin - word * 64);
    if (end - word * 64 < 64) candidates &= Ones(end - word * 64);
    for (; candidates != 0; candidates &= candidates - 1) {
      const size_t slot = word * 64 + static_cast<size_t>(std::countr_zero(candidates));
      if (!Accepts(accept, slots[slot])) continue;
      batch.Add(slots[slot], static_cast<uint32_t>(slot));
      if (batch.size < together) continue;
      if (!ask()) return;
      together = std::min<size_t>(64, together * 4);
    }
  }
  if (batch.size != 0) ask();
}

// PreFilter has named the nodes: only these are asked, in the order in which the rotation meets
// them.
NodeIndex Search::FindNamed(const Question& question, const Accept& accept, size_t start) {
  const size_t count = snapshot_.nodes().size();
  std::vector<std::pair<size_t, NodeIndex>> near;  // by distance from the start
  for (const NodeIndex node : question.only_nodes()) {
    const size_t position = snapshot_.position_of(node);
    if (position < accept.from_position || !Accepts(accept, node)) continue;
    near.emplace_back((position + count - start) % count, node);
  }
  std::ranges::sort(near);
  for (const auto& [distance, node] : near) {
    if (question.Fits(node) && !PassedOver(accept, node)) return node;
  }
  return kNone;
}

NodeIndex Search::Find(cluster::PodIndex pod, const Accept& accept) {
  const auto order = snapshot_.nodes();
  const size_t count = order.size();
  if (accept.from_position >= count) return kNone;
  const Question& question = Ask(pod);
  if (question.rejected()) return kNone;
  const size_t start = std::max((last_ + 1) % count, accept.from_position);
  NodeIndex found = kNone;
  if (question.only()) {
    found = FindNamed(question, accept, start);
  } else {
    Known& known = KnownOf(snapshot_.spec_id(pod));
    CatchUp(known, question.own_links());
    const auto take_first = [&found](NodeIndex node) {
      found = node;
      return false;
    };
    const size_t start_slot = snapshot_.slot_of(order[start]);
    Scan(question, known, accept, start_slot, snapshot_.slots().size(), take_first);
    if (found == kNone && start > accept.from_position) {
      Scan(question, known, accept, snapshot_.slot_of(order[accept.from_position]), start_slot,
           take_first);
    }
  }
  if (found != kNone) last_ = order[start] == found ? start : snapshot_.position_of(found);
  return found;
}

NodeSet Search::FindAll(cluster::PodIndex pod, const Accept& accept) {
  NodeSet all(snapshot_.node_bound());
  const auto order = snapshot_.nodes();
  const Question& question = Ask(pod);
  if (accept.from_position >= order.size() || question.rejected()) return all;
  if (question.only()) {
    for (const NodeIndex node : question.only_nodes()) {
      const bool asked = snapshot_.position_of(node) >= accept.from_position &&
                         Accepts(accept, node) && !PassedOver(accept, node);
      if (asked && question.Fits(node)) all.Add(node);
    }
    return all;
  }
  Known& known = KnownOf(snapshot_.spec_id(pod));
  CatchUp(known, question.own_links());
  Scan(question, known, accept, snapshot_.slot_of(order[accept.from_position]),
       snapshot_.slots().size(), [&all](NodeIndex node) {
         all.Add(node);
         return true;
       });
  return all;
}

}  // namespace coppice::fit
