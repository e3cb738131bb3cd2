#include "drain/keeps_node.h"

#include <algorithm>

#include "model/pod_kinds.h"

namespace coppice::drain {

cluster::LivePod KeepsNode(const std::vector<cluster::LivePod>& pods, int32_t priority_cutoff) {
  const auto keeps = std::ranges::find_if(pods, [&](const cluster::LivePod& pod) {
    if (pod->metadata.unreadable) return true;  // whatever it is
    return !pod->metadata.deletion_timestamp && pod->status.phase != "Succeeded" &&
           pod->status.phase != "Failed" && !model::IsMirrorPod(*pod) &&
           !model::IsDaemonSetPod(*pod) && !model::IsExpendable(*pod, priority_cutoff);
  });
  return keeps == pods.end() ? nullptr : *keeps;
}

}  // namespace coppice::drain
