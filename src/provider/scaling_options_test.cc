#include "provider/scaling_options.h"

#include <gmock/gmock.h>

#include <chrono>
#include <string>

#include "test/support/must.h"

namespace coppice::provider {
namespace {

using testing::HasSubstr;

struct Read {
  cloud::GroupScalingOptions options;
  Status status;
};

Read From(const std::string& text) {
  Read read;
  yaml::Problems problems;
  const yaml::Node root = MUST(yaml::Parse(text, "groups.yaml"));
  yaml::MapReader group(root, problems);
  ReadScalingOptions(group, read.options, problems);
  read.status = problems.ToStatus(true);
  return read;
}

TEST(ScalingOptionsTest, WhatIsNotSaidIsTheAutoscalers) {
  const Read none = From("name: web");
  EXPECT_OK(none.status);
  EXPECT_EQ(none.options, cloud::GroupScalingOptions{});
}

TEST(ScalingOptionsTest, EveryOptionIsRead) {
  const Read all = From(R"(options:
  scaleDownUtilizationThreshold: 0.4
  scaleDownGpuUtilizationThreshold: 1
  scaleDownUnneededTime: 3m
  scaleDownUnreadyTime: 4m
  maxNodeProvisionTime: 5m
  maxNodeStartupTime: 6m
  zeroOrMaxNodeScaling: true
  allowNonAtomicScaleUpToMax: true
  ignoreDaemonSetsUtilization: true
)");
  EXPECT_OK(all.status);
  using std::chrono::minutes;
  cloud::GroupScalingOptions wanted;
  wanted.scale_down_utilization_threshold = 0.4;
  wanted.scale_down_gpu_utilization_threshold = 1;
  wanted.scale_down_unneeded_time = minutes(3);
  wanted.scale_down_unready_time = minutes(4);
  wanted.max_node_provision_time = minutes(5);
  wanted.max_node_startup_time = minutes(6);
  wanted.zero_or_max_node_scaling = true;
  wanted.allow_non_atomic_scale_up_to_max = true;
  wanted.ignore_daemon_sets_utilization = true;
  EXPECT_EQ(all.options, wanted);
}

TEST(ScalingOptionsTest, WhatIsOutOfRangeIsNamed) {
  EXPECT_THAT(From("options: {scaleDownUtilizationThreshold: 1.1}").status.message(),
              HasSubstr("must be between 0 and 1"));
  EXPECT_THAT(From("options: {scaleDownUnneededTime: -1s}").status.message(),
              HasSubstr("must not be negative"));
  EXPECT_THAT(From("options: {scaleDownUnneeded: 1s}").status.message(),
              HasSubstr("scaleDownUnneeded"));
}

}  // namespace
}  // namespace coppice::provider
