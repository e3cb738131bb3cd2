// What an engine hands to whoever drains nodes for it: numbers, switches, and its own words.

#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/clock.h"

namespace coppice::drain {

// Which of the rules apply, and their numbers.
struct RuleOptions {
  // Before "safe-to-evict" and "safe-to-evict-local-volumes", by which a pod speaks for itself;
  // "": no annotation is heeded.
  std::string annotation_prefix = "";
  bool skip_nodes_with_system_pods = true;
  bool skip_nodes_with_local_storage = true;
  bool skip_nodes_with_custom_controller_pods = true;
  int min_replica_count = 0;
  Duration blocking_system_pod_timeout = std::chrono::hours(1);
};

// Pods of at least this priority get this long to end.
struct PriorityTier {
  int32_t priority = 0;
  int64_t shutdown_grace_period_seconds = 0;
  friend bool operator==(const PriorityTier&, const PriorityTier&) = default;
};

struct EvictionOptions {
  // Before "enable-ds-eviction", by which a DaemonSet's pod asks for it; "": it cannot ask.
  std::string annotation_prefix = "";
  int64_t max_graceful_termination_seconds = 600;
  std::vector<PriorityTier> tiers = {};  // empty: one of max_graceful_termination_seconds
  Duration max_pod_eviction_time = std::chrono::minutes(2);
  bool daemon_sets_of_empty_nodes = false;
  bool daemon_sets_of_occupied_nodes = true;
  // Events about the pod: that it is evicted, and that it could not be. A reason is one word.
  std::string evicting_reason = "Evicting";
  std::string evicting_text = "evicting pod for the removal of its node";
  std::string failed_reason = "EvictionFailed";
  std::string failed_text = "failed to evict pod for the removal of its node";
};

}  // namespace coppice::drain
