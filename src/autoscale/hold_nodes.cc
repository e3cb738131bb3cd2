#include "autoscale/hold_nodes.h"

#include <set>
#include <string>

namespace coppice::autoscale {

void ReleaseNodes(cluster::HeldNodes& held, const std::vector<DeletionBatch>& batches) {
  for (const DeletionBatch& batch : batches) {
    for (const RemovableNode& node : batch.nodes) held.Release(node.node, kHolder);
  }
}

std::vector<report::DeletionOutcome> HoldNodes(cluster::HeldNodes& held,
                                               CroppedDeletions& deletions) {
  std::vector<report::DeletionOutcome> left_out;
  std::set<std::string> incomplete;  // all-or-nothing groups of which a node is somebody else's
  for (std::vector<DeletionBatch>* batches : {&deletions.empty, &deletions.drain}) {
    for (DeletionBatch& batch : *batches) {
      std::erase_if(batch.nodes, [&](const RemovableNode& node) {
        const Status ours = held.Hold(node.node, node.uid, kHolder);
        if (ours.ok()) return false;
        left_out.push_back({node.node, "HeldByAnother", ours.message()});
        if (batch.whole_group > 0) incomplete.insert(batch.group);
        return true;
      });
    }
  }
  for (std::vector<DeletionBatch>* batches : {&deletions.empty, &deletions.drain}) {
    std::erase_if(*batches, [&](const DeletionBatch& batch) {
      if (batch.whole_group == 0 || !incomplete.contains(batch.group)) return batch.nodes.empty();
      ReleaseNodes(held, {batch});
      for (const RemovableNode& node : batch.nodes) {
        left_out.push_back({node.node, "HeldByAnother",
                            "a node of its group, which goes as a whole or not at all, is held by "
                            "another engine"});
      }
      return true;
    });
  }
  return left_out;
}

}  // namespace coppice::autoscale
