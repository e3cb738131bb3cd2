#include "provider/scaling_options.h"

#include <optional>

namespace coppice::provider {
namespace {

template <class T>
void ReadIfSaid(yaml::MapReader& map, const char* key, std::optional<T>& out) {
  T value{};
  if (map.Read(key, value)) out = value;
}

}  // namespace

void ReadScalingOptions(yaml::MapReader& group, cloud::GroupScalingOptions& out,
                        yaml::Problems& problems) {
  const yaml::Node node = group.Get("options");
  if (node.kind() == yaml::Node::Kind::kAbsent) return;
  yaml::MapReader options(node, problems);
  const auto fraction = [&options](const char* key, std::optional<double>& value) {
    ReadIfSaid(options, key, value);
    if (value && (*value < 0 || *value > 1)) options.Complain(key, "must be between 0 and 1");
  };
  const auto time = [&options](const char* key, std::optional<Duration>& value) {
    ReadIfSaid(options, key, value);
    if (value && *value < Duration::zero()) options.Complain(key, "must not be negative");
  };
  fraction("scaleDownUtilizationThreshold", out.scale_down_utilization_threshold);
  fraction("scaleDownGpuUtilizationThreshold", out.scale_down_gpu_utilization_threshold);
  time("scaleDownUnneededTime", out.scale_down_unneeded_time);
  time("scaleDownUnreadyTime", out.scale_down_unready_time);
  time("maxNodeProvisionTime", out.max_node_provision_time);
  time("maxNodeStartupTime", out.max_node_startup_time);
  ReadIfSaid(options, "zeroOrMaxNodeScaling", out.zero_or_max_node_scaling);
  ReadIfSaid(options, "allowNonAtomicScaleUpToMax", out.allow_non_atomic_scale_up_to_max);
  ReadIfSaid(options, "ignoreDaemonSetsUtilization", out.ignore_daemon_sets_utilization);
  options.Finish();
}

}  // namespace coppice::provider
