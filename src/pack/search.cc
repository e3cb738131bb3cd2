#include "pack/search.h"

#include <algorithm>
#include <bit>

namespace coppice::pack {

namespace {

constexpr size_t kBatch = 64;

bool Accepts(const Accept& accept, cluster::NodeIndex node) {
  if (node == accept.except) return false;
  return accept.allowed == nullptr ||
         (node < accept.allowed->size() && (*accept.allowed)[node] != 0);
}

}  // namespace

model::Verdict Search::Check(cluster::PodIndex pod, cluster::NodeIndex node) {
  const fit::Question question = chain_.Ask(snapshot_, pod);
  return question.rejected() ? question.rejection() : question.Check(node);
}

// Positions [begin, end) of the visiting order: the first that is accepted and takes the pod, or
// end.
size_t Search::Scan(const fit::Question& question, const Accept& accept, size_t begin,
                    size_t end) const {
  const auto nodes = snapshot_.nodes();
  for (size_t at = begin; at < end; at += kBatch) {
    const auto batch = nodes.subspan(at, std::min(kBatch, end - at));
    uint64_t alive = 0;
    for (size_t i = 0; i < batch.size(); ++i) {
      if (Accepts(accept, batch[i])) alive |= uint64_t{1} << i;
    }
    if (question.only()) {
      const auto& only = question.only_nodes();
      for (size_t i = 0; i < batch.size(); ++i) {
        if (std::ranges::find(only, batch[i]) == only.end()) alive &= ~(uint64_t{1} << i);
      }
    }
    if (alive != 0) alive = question.Narrow(batch, alive);
    for (; alive != 0; alive &= alive - 1) {
      const auto i = static_cast<size_t>(std::countr_zero(alive));
      if (!snapshot_.node_shape(batch[i]).unschedulable) return at + i;
    }
  }
  return end;
}

cluster::NodeIndex Search::Find(cluster::PodIndex pod, const Accept& accept) {
  const size_t count = snapshot_.nodes().size();
  if (accept.from_position >= count) return cluster::kNone;
  const fit::Question question = chain_.Ask(snapshot_, pod);
  if (question.rejected()) return cluster::kNone;
  const size_t start = std::max((last_ + 1) % count, accept.from_position);
  size_t found = Scan(question, accept, start, count);
  if (found == count) {
    found = Scan(question, accept, accept.from_position, start);
    if (found == start) return cluster::kNone;
  }
  last_ = found;
  return snapshot_.nodes()[found];
}

}  // namespace coppice::pack
