#include "autoscale/deletion_limits.h"

#include <algorithm>

namespace coppice::autoscale {

namespace {

// By group, in the order in which groups first appear.
std::vector<DeletionBatch> ByGroup(std::vector<RemovableNode> nodes) {
  std::vector<DeletionBatch> batches;
  for (RemovableNode& node : nodes) {
    auto batch = std::ranges::find(batches, node.group, &DeletionBatch::group);
    if (batch == batches.end())
      batch = batches.insert(batches.end(), DeletionBatch{node.group, {}, 0});
    batch->nodes.push_back(std::move(node));
  }
  return batches;
}

int SizeOf(const DeletionBatch& batch) { return static_cast<int>(batch.nodes.size()); }

struct Limits {
  int parallel;
  int drain;
  bool may_overflow =
      true;  // one all-or-nothing group may be larger than the limit, or it would never go
};

// As many as the limit lets, group by group.
int CropIndividually(std::vector<DeletionBatch>& to, std::vector<DeletionBatch> batches, int most) {
  int left = most;
  for (DeletionBatch& batch : batches) {
    if (left < 1) break;
    if (left < SizeOf(batch)) batch.nodes.resize(static_cast<size_t>(left));
    left -= SizeOf(batch);
    to.push_back(std::move(batch));
  }
  return most - left;
}

}  // namespace

CroppedDeletions CropToLimits(NodesToDelete nodes, const DeletionsInProgress& deleting,
                              const DeletionLimitOptions& options,
                              const std::function<GroupFacts(std::string_view group)>& facts_of) {
  const int in_progress = static_cast<int>(deleting.empty.size() + deleting.drained.size());
  Limits left{options.max_scale_down_parallelism - in_progress,
              options.max_drain_parallelism - static_cast<int>(deleting.drained.size())};
  std::vector<DeletionBatch> empty_single;
  std::vector<DeletionBatch> empty_whole;
  std::vector<DeletionBatch> drain_single;
  std::vector<DeletionBatch> drain_whole;
  for (DeletionBatch& batch : ByGroup(std::move(nodes.empty))) {
    (facts_of(batch.group).all_or_nothing ? empty_whole : empty_single).push_back(std::move(batch));
  }
  for (DeletionBatch& batch : ByGroup(std::move(nodes.drain))) {
    (facts_of(batch.group).all_or_nothing ? drain_whole : drain_single).push_back(std::move(batch));
  }

  CroppedDeletions result;
  const auto whole_size = [&](const DeletionBatch& batch) {
    const GroupFacts facts = facts_of(batch.group);
    return SizeOf(batch) == facts.registered ? facts.registered : facts.target;
  };
  const auto is_whole = [&](const std::string& group, int count) {
    const GroupFacts facts = facts_of(group);
    return count == facts.target || count == facts.registered;
  };

  for (DeletionBatch& batch : empty_whole) {
    const auto partner = std::ranges::find(drain_whole, batch.group, &DeletionBatch::group);
    const int drained = partner == drain_whole.end() ? 0 : SizeOf(*partner);
    const int count = SizeOf(batch) + drained;
    if (left.parallel < count || left.drain < drained) {
      if (left.parallel == 0 || (drained > 0 && left.drain == 0) || !left.may_overflow) break;
    }
    if (!is_whole(batch.group, count)) continue;
    batch.whole_group = whole_size(batch);
    left.parallel -= count;
    left.drain -= drained;
    left.may_overflow = false;
    if (partner != drain_whole.end()) {
      partner->whole_group = batch.whole_group;
      result.drain.push_back(*partner);
    }
    result.empty.push_back(batch);
  }

  left.drain = std::min(left.parallel, left.drain);
  for (DeletionBatch& batch : drain_whole) {
    if (std::ranges::find(empty_whole, batch.group, &DeletionBatch::group) != empty_whole.end())
      continue;
    const int count = SizeOf(batch);
    if (left.drain < count && (left.drain == 0 || !left.may_overflow)) break;
    if (!is_whole(batch.group, count)) continue;
    batch.whole_group = whole_size(batch);
    left.parallel -= count;
    left.drain -= count;
    left.may_overflow = false;
    result.drain.push_back(std::move(batch));
  }

  left.parallel -= CropIndividually(result.empty, std::move(empty_single), left.parallel);
  left.drain = std::min(left.parallel, left.drain);
  CropIndividually(result.drain, std::move(drain_single), left.drain);
  return result;
}

}  // namespace coppice::autoscale
