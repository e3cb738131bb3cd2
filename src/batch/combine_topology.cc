// Combine: where in the network a job may be, and where it is best.

#include "batch/combine.h"

namespace coppice::batch {

HyperNodeGradients Combine::GradientsOf(const Job& job, const HyperNode& within,
                                        SearchPurpose purpose) const {
  if (hyper_node_gradient_.empty()) return {{&within}};
  return hyper_node_gradient_.front().role->GradientsOf(job, within, purpose);
}

HyperNodeGradients Combine::GradientsOf(const SubJob& sub_job, const HyperNode& within,
                                        SearchPurpose purpose) const {
  if (hyper_node_gradient_.empty()) return {{&within}};
  return hyper_node_gradient_.front().role->GradientsOf(sub_job, within, purpose);
}

std::optional<std::vector<double>> Combine::ScoreHyperNodes(
    const SubJob& sub_job, std::span<const HyperNode* const> hyper_nodes) const {
  std::vector<double> scores(hyper_nodes.size());
  for (const auto& player : hyper_node_order_) {
    if (!player.role->ScoreHyperNodes(sub_job, hyper_nodes, scores).ok()) return std::nullopt;
  }
  return scores;
}

}  // namespace coppice::batch
