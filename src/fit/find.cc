#include "fit/find.h"

#include <algorithm>
#include <bit>

namespace coppice::fit {
namespace {

using cluster::NodeIndex;

uint64_t Ones(size_t count) { return count >= 64 ? ~uint64_t{0} : (uint64_t{1} << count) - 1; }

uint64_t Among(std::span<const NodeIndex> nodes, const NodeSet* among) {
  if (!among) return Ones(nodes.size());
  uint64_t alive = 0;
  for (size_t i = 0; i < nodes.size(); ++i) alive |= uint64_t{among->Has(nodes[i])} << i;
  return alive;
}

// The first place in [from, to) of the visiting order that takes the pod.
Found FindIn(const Question& question, std::span<const NodeIndex> order, size_t from, size_t to,
             const NodeSet* among) {
  for (size_t at = from; at < to; at += 64) {
    const auto block = order.subspan(at, std::min<size_t>(64, to - at));
    uint64_t alive = Among(block, among);
    if (alive != 0) alive = question.Narrow(block, alive);
    if (alive != 0) {
      const size_t place = at + static_cast<size_t>(std::countr_zero(alive));
      return {.node = order[place], .place = place};
    }
  }
  return {};
}

// PreFilter has named the nodes: only these are asked, in the order in which the rotation meets
// them.
Found FindNamed(const Question& question, std::span<const NodeIndex> order, size_t start,
                const NodeSet* among) {
  Found best;
  size_t best_distance = order.size();
  for (NodeIndex node : question.only_nodes()) {
    if ((among && !among->Has(node)) || !question.Fits(node)) continue;
    const auto place = static_cast<size_t>(std::ranges::find(order, node) - order.begin());
    const size_t distance = (place + order.size() - start) % order.size();
    if (distance >= best_distance) continue;
    best_distance = distance;
    best = {.node = node, .place = place};
  }
  return best;
}

}  // namespace

size_t NodeSet::size() const {
  size_t count = 0;
  for (uint64_t word : words_) count += static_cast<size_t>(std::popcount(word));
  return count;
}

Found FindAny(const Question& question, const cluster::Snapshot& snapshot,
              const SearchOptions& options) {
  const auto order = snapshot.nodes();
  if (order.empty() || question.rejected()) return {};
  const size_t start = options.start % order.size();
  if (question.only()) return FindNamed(question, order, start, options.among);
  const Found found = FindIn(question, order, start, order.size(), options.among);
  return found ? found : FindIn(question, order, 0, start, options.among);
}

NodeSet FindAll(const Question& question, const cluster::Snapshot& snapshot, const NodeSet* among) {
  NodeSet all(snapshot.node_bound());
  if (question.rejected()) return all;
  if (question.only()) {
    for (NodeIndex node : question.only_nodes()) {
      if ((!among || among->Has(node)) && question.Fits(node)) all.Add(node);
    }
    return all;
  }
  const auto order = snapshot.nodes();
  for (size_t at = 0; at < order.size(); at += 64) {
    const auto block = order.subspan(at, std::min<size_t>(64, order.size() - at));
    uint64_t alive = Among(block, among);
    if (alive != 0) alive = question.Narrow(block, alive);
    for (; alive != 0; alive &= alive - 1)
      all.Add(block[static_cast<size_t>(std::countr_zero(alive))]);
  }
  return all;
}

int64_t HowMany(const Chain& chain, cluster::Snapshot& snapshot, cluster::PodIndex pod,
                NodeIndex node, int64_t limit) {
  if (const auto room = chain.Ask(snapshot, pod).Room(node)) return std::min(*room, limit);
  const auto fork = snapshot.Fork();
  int64_t count = 0;
  cluster::PodIndex next = pod;
  if (snapshot.node_of(pod) != cluster::kNone) next = snapshot.CopyPod(pod);
  while (count < limit) {
    const Question question = chain.Ask(snapshot, next);
    if (!question.Check(node).yes()) break;
    snapshot.Place(next, node);
    ++count;
    next = snapshot.CopyPod(pod);
  }
  return count;
}

bool Placer::Hopeless(const cluster::PodView& pod) {
  if (loosened_ != snapshot_.loosened() || facts_version_ != snapshot_.facts().version()) {
    loosened_ = snapshot_.loosened();
    facts_version_ = snapshot_.facts().version();
    nowhere_.clear();
    return false;
  }
  if (pod.spec_id >= nowhere_.size()) return false;
  const Nowhere& nowhere = nowhere_[pod.spec_id];
  return nowhere.all || std::ranges::binary_search(nowhere.labels, pod.label_set_id);
}

Found Placer::Find(cluster::PodIndex index) {
  const cluster::PodView pod = snapshot_.pod(index);
  // A pod with volumes or a node of its own in mind is not like others of its shape.
  const bool like_others = pod.volume_set_id == 0 && pod.wanted_node.empty();
  if (Hopeless(pod) && like_others) return {};
  ++searches_;
  const Question question = chain_.Ask(snapshot_, index);
  const Found found = FindAny(question, snapshot_, {.start = next_, .among = among_});
  if (!found && like_others && question.OnlyTightens()) {
    if (pod.spec_id >= nowhere_.size()) nowhere_.resize(pod.spec_id + 1);
    Nowhere& nowhere = nowhere_[pod.spec_id];
    nowhere.all = question.SameForWholeSpec();
    const auto place = std::ranges::lower_bound(nowhere.labels, pod.label_set_id);
    if (!nowhere.all) nowhere.labels.insert(place, pod.label_set_id);
  }
  return found;
}

NodeIndex Placer::Place(cluster::PodIndex pod) {
  const Found found = Find(pod);
  if (!found) return cluster::kNone;
  snapshot_.Place(pod, found.node);
  // Not yet reduced to the number of nodes: after the last place, a node that is added next comes
  // first.
  next_ = found.place + 1;
  return found.node;
}

}  // namespace coppice::fit
