#include "batch/kube_view.h"

namespace coppice::batch {

const model::NonZeroRequests& KubeView::ScoringOf(const Task& task) const {
  if (task.index >= of_task_.size()) of_task_.resize(task.index + 1);
  auto& requests = of_task_[task.index];
  if (!requests) requests = model::ScoringRequests(*task.pod);
  return *requests;
}

void KubeView::Add(const Task& task, const NodeInfo& node, int64_t sign) {
  const model::NonZeroRequests& requests = ScoringOf(task);
  scoring_[node.index].cpu_millis += sign * requests.cpu_millis;
  scoring_[node.index].memory_bytes += sign * requests.memory_bytes;
}

void KubeView::Count(const Task& task, const NodeInfo& node) { Add(task, node, 1); }

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
