// One node group as its operator describes it. Read from the configuration file by app/config; the
// keys are those of the Go provider for cloudscale.ch, to which ours only add.

#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "cloud/types.h"

namespace coppice::cloud {

struct GroupTaint {
  std::string key;
  std::string value;
  std::string effect;
  friend bool operator==(const GroupTaint&, const GroupTaint&) = default;
};

// An amount as the kubelet takes it: "100m", "500Mi", or "10%" of capacity. Kept as text;
// template.cc reads it.
using ReservedResources =
    std::map<std::string, std::string>;  // cpu, memory, ephemeral-storage, pid

// Overrides of the autoscaler's options for this group; unset means the autoscaler's default.
struct GroupScalingOptions {
  std::optional<double> scale_down_utilization_threshold;
  std::optional<double> scale_down_gpu_utilization_threshold;
  std::optional<Duration> scale_down_unneeded_time;
  std::optional<Duration> scale_down_unready_time;
  std::optional<Duration> max_node_provision_time;
  std::optional<Duration> max_node_startup_time;
  std::optional<bool> zero_or_max_node_scaling;
  std::optional<bool> allow_non_atomic_scale_up_to_max;
  std::optional<bool> ignore_daemon_sets_utilization;
  friend bool operator==(const GroupScalingOptions&, const GroupScalingOptions&) = default;
};

struct GroupConfig {
  std::string name;  // id, tag value and prefix of machine names
  int min_size = 0;
  int max_size = 0;
  std::string flavor;
  std::string image;
  std::string zone;
  int64_t volume_size_gb = 0;
  std::vector<std::string> ssh_keys;
  std::string user_data;  // bytes; "@file" has been read already
  Tags tags;
  std::map<std::string, std::string> labels;
  std::vector<GroupTaint> taints;

  // cloudscale's own; other clouds use `extra`.
  std::vector<std::string> server_group_uuids;
  bool use_public_network = false;
  bool use_private_network = false;
  std::string network_uuid;
  std::string subnet_uuid;
  std::map<std::string, std::string> extra;

  // What the kubelet keeps for itself; unset means the kubelet's own defaults.
  std::optional<int64_t> max_pods;  // 110
  std::optional<ReservedResources> kube_reserved;
  std::optional<ReservedResources> system_reserved;
  std::optional<ReservedResources> eviction_hard;

  GroupScalingOptions options;
  std::optional<double> price_per_hour;  // overrides the flavor's

  friend bool operator==(const GroupConfig&, const GroupConfig&) = default;
};

}  // namespace coppice::cloud
