// The taints that the autoscaler sets, and those that it looks past when it imagines a fresh node.

#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "autoscale/options.h"
#include "cluster/shapes.h"
#include "model/node.h"

namespace coppice::autoscale {

// Hard: the node is going. Value: unix seconds.
inline constexpr std::string_view kToBeDeletedTaint = "ToBeDeletedByClusterAutoscaler";
// Soft (PreferNoSchedule): unneeded, and may go. Value: unix seconds.
inline constexpr std::string_view kDeletionCandidateTaint = "DeletionCandidateOfClusterAutoscaler";

bool HasTaint(const model::Node& node, std::string_view key);
inline bool HasToBeDeletedTaint(const model::Node& node) {
  return HasTaint(node, kToBeDeletedTaint);
}
// When a taint of ours was set, if it is there and its value is a time.
std::optional<TimePoint> TaintTime(const model::Node& node, std::string_view key);

// Which taints mean what, from the options.
class TaintConfig {
 public:
  explicit TaintConfig(const StartupTaintOptions& options);

  // Set at boot and taken away when the node is really ready (a network plug-in, a GPU driver).
  bool IsStartupTaint(std::string_view key) const;
  // Says something about one machine's present state, not about machines of its kind.
  bool IsStatusTaint(std::string_view key) const;

  // A node that carries a startup taint is not ready yet, whatever its conditions say.
  bool HasStartupTaint(const model::Node& node) const;

  // What remains of `taints` on a fresh node of the same kind: ours, those of conditions, startup
  // and status taints are gone. Order kept.
  std::vector<model::Taint> Sanitize(const std::vector<model::Taint>& taints) const;

 private:
  std::vector<std::string> startup_keys_;
  std::vector<std::string> startup_prefixes_;
  std::vector<std::string> status_keys_;
};

}  // namespace coppice::autoscale
