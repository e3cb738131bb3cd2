#include "autoscale/removal_fuse.h"

#include <algorithm>

#include "drain/keeps_node.h"

namespace coppice::autoscale {
namespace {

std::map<std::string, size_t> SizesOfWholeGroups(const CroppedDeletions& deletions) {
  std::map<std::string, size_t> sizes;
  for (const auto* batches : {&deletions.empty, &deletions.drain}) {
    for (const DeletionBatch& batch : *batches) {
      if (batch.whole_group > 0) sizes[batch.group] += batch.nodes.size();
    }
  }
  return sizes;
}

}  // namespace

// All of the group or none of it, also where some of its nodes are empty and others are not.
size_t RemovalFuse::KeepPartial(const Moment& moment, CroppedDeletions& deletions,
                                const std::map<std::string, size_t>& before) {
  const std::map<std::string, size_t> now = SizesOfWholeGroups(deletions);
  size_t held = 0;
  for (auto* batches : {&deletions.empty, &deletions.drain}) {
    for (DeletionBatch& batch : *batches) {
      if (batch.whole_group == 0 || now.at(batch.group) == before.at(batch.group)) continue;
      for (const RemovableNode& node : batch.nodes)
        moment.stays(node.node, "its group goes as a whole, and another node of it stays");
      held += batch.nodes.size();
      batch.nodes.clear();
    }
  }
  return held;
}

void RemovalFuse::Removed(std::string_view node, TimePoint now) {
  if (empty_.erase(std::string(node)) != 0) return;
  ForgetOld(now);  // here, too: without fuses nobody asks
  removals_.push_back(now);
}

void RemovalFuse::ForgetOld(TimePoint now) {
  const Duration window = deviations_.fuse_window;
  std::erase_if(removals_, [&](TimePoint at) { return at + window < now; });
}

void RemovalFuse::NoteDue(Wakeups& wake) const {
  if (!holds_) return;
  for (const TimePoint at : removals_)
    wake.After(at + deviations_.fuse_window, "a fuse lets nodes go again");
}

int RemovalFuse::Allowed(const Moment& moment) {
  const Deviations& fuses = deviations_;
  ForgetOld(moment.now);
  std::set<std::string> still;
  int counted = static_cast<int>(removals_.size());
  for (const auto* nodes : {&moment.deleting.empty, &moment.deleting.drained}) {
    for (const std::string& node : *nodes) {
      if (empty_.contains(node)) {
        still.insert(node);
      } else {
        ++counted;
      }
    }
  }
  empty_ = std::move(still);  // what was given up counts again when it is tried again
  const double share = fuses.fuse_max_removed_share * static_cast<double>(moment.nodes);
  return std::max(fuses.fuse_min_nodes, static_cast<int>(share)) - counted;
}

Task<std::set<std::string>> RemovalFuse::AskWhoIsEmpty(const Moment& moment,
                                                       std::vector<DeletionBatch>& batches) {
  std::vector<std::string> names;
  std::vector<Task<Result<std::vector<cluster::LivePod>>>> questions;
  for (const DeletionBatch& batch : batches) {
    for (const RemovableNode& node : batch.nodes) {
      names.push_back(node.node);
      questions.push_back(writer_.PodsOn(node.node));
    }
  }
  const auto answers = co_await WhenAll(std::move(questions));
  std::set<std::string> empty;
  std::set<std::string> full;
  for (size_t i = 0; i < names.size(); ++i) {
    if (!answers[i].ok()) continue;  // nobody to ask: the node counts as any other
    const cluster::LivePod kept =
        drain::KeepsNode(*answers[i], options_.expendable_pods_priority_cutoff);
    if (kept == nullptr) {
      empty.insert(names[i]);
    } else {
      full.insert(names[i]);
      moment.stays(names[i], "the view shows it as empty, the API server has the pod " +
                                 kept->metadata.namespace_ + "/" + kept->metadata.name);
    }
  }
  for (DeletionBatch& batch : batches)
    std::erase_if(batch.nodes, [&](const RemovableNode& n) { return full.contains(n.node); });
  co_return empty;
}

Task<void> RemovalFuse::Crop(Moment moment, CroppedDeletions& deletions) {
  if (!deviations_.fuses || (deletions.empty.empty() && deletions.drain.empty())) co_return;
  const std::map<std::string, size_t> whole_groups = SizesOfWholeGroups(deletions);
  std::set<std::string> empty;
  if (!moment.stale) empty = co_await AskWhoIsEmpty(moment, deletions.empty);
  size_t held = KeepPartial(moment, deletions, whole_groups);
  int allowed = Allowed(moment);
  const std::string why = moment.stale ? "the view of the cluster is too old"
                                       : "enough nodes were removed in the last " +
                                             FormatGoDuration(deviations_.fuse_window);
  const auto crop = [&](std::vector<DeletionBatch>& batches) {
    for (DeletionBatch& batch : batches) {
      const auto counts = [&](const RemovableNode& n) { return !empty.contains(n.node); };
      const auto counted = static_cast<int>(std::ranges::count_if(batch.nodes, counts));
      const bool whole = batch.whole_group > 0;
      int left = moment.stale || (whole && counted > allowed) ? 0 : std::max(0, allowed);
      // Before any of them is taken off: what comes after nodes that count must not be asked again
      // whether these fit, or a group that fits stays for ever.
      const bool empty_ones_go = !whole || counted <= left;
      std::erase_if(batch.nodes, [&](const RemovableNode& node) {
        if (empty_ones_go && empty.contains(node.node)) return false;
        if (left > 0 && counts(node)) {
          --left;
          --allowed;
          return false;
        }
        moment.stays(node.node, why);
        ++held;
        return true;
      });
    }
  };
  crop(deletions.empty);
  crop(deletions.drain);
  held += KeepPartial(moment, deletions, whole_groups);
  for (auto* batches : {&deletions.empty, &deletions.drain})
    std::erase_if(*batches, [](const DeletionBatch& batch) { return batch.nodes.empty(); });
  for (const DeletionBatch& batch : deletions.empty) {
    for (const RemovableNode& node : batch.nodes) {
      if (empty.contains(node.node)) empty_.insert(node.node);
    }
  }
  // Once each time that it begins: passes are many.
  if (held > 0 && !holds_)
    log_.Warning("a fuse holds removals back", {{"nodes", held}, {"why", why}});
  holds_ = held > 0;
}

}  // namespace coppice::autoscale
