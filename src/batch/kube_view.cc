#include "batch/kube_view.h"

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

void KubeView::Remove(const Task& task, const NodeInfo& node) {
  if (!IsPlaced(task)) return;
  snapshot_.Unplace(task.pod_index);
  Add(task, node, -1);
}

}  // namespace coppice::batch
