#include "batch/kube_view.h"

#include <algorithm>

namespace coppice::batch {

void KubeView::Add(const Task& task, const NodeInfo& node, int64_t sign) {
  const model::NonZeroRequests& requests = ScoringOf(task);
  scoring_[node.index].cpu_millis += sign * requests.cpu_millis;
  scoring_[node.index].memory_bytes += sign * requests.memory_bytes;
}

void KubeView::Place(const Task& task, const NodeInfo& node) {
  if (IsPlaced(task)) return;
  snapshot_.Place(task.pod_index, node.snapshot_index);
  Add(task, node, 1);
}

void KubeView::PlaceAgain(const Task& task, const NodeInfo& node) {
  const cluster::PodIndex copy = snapshot_.CopyPod(task.pod_index);
  snapshot_.Place(copy, node.snapshot_index);
  copies_.push_back({.task = task.index, .node = node.index, .pod = copy});
  Add(task, node, 1);
}

void KubeView::Remove(const Task& task, const NodeInfo& node) {
  const auto copy = std::ranges::find_if(copies_, [&](const Copy& other) {
    return other.task == task.index && other.node == node.index;
  });
  if (copy != copies_.end()) {
    snapshot_.RemovePod(copy->pod);
    copies_.erase(copy);
    Add(task, node, -1);
    return;
  }
  if (!IsPlaced(task)) return;
  snapshot_.Unplace(task.pod_index);
  Add(task, node, -1);
}

}  // namespace coppice::batch
