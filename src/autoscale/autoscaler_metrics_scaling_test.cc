// What was bought, failed and went, as numbers: from reports made by hand. That a real pass fills
// them, and that the families are upstream's, is in autoscaler_metrics_full_test.

#include <gmock/gmock.h>

#include <utility>

#include "autoscale/autoscaler_metrics.h"
#include "autoscale/plain_engine_rig.h"

namespace coppice::autoscale {
namespace {

using testing::HasSubstr;
using testing::Not;

const std::string kOfNoGpu = "dra_drivers=\"\",gpu_name=\"\",gpu_resource_name=\"\"";
const std::string kOfA100 =
    "dra_drivers=\"\",gpu_name=\"a100\",gpu_resource_name=\"nvidia.com/gpu\"";

class ScalingMetricsTest : public PlainEngineRig {
 protected:
  void SetUp() override {
    groups_.SetGpu("accelerator", {"a100"});
    AddGroup("web", 5);
    AddGpuGroup("gpu", "a100", "nvidia.com/gpu");
  }
  void AddGpuGroup(const std::string& id, const std::string& label, const std::string& resource) {
    AddGroup(id, 5);
    groups_.Change(id, [&](cloud::FakeNodeGroups::Group& group) {
      model::Node node = *group.node_template;
      node.metadata.labels["accelerator"] = label;
      if (!resource.empty()) node.status.allocatable[resource] = model::Quantity::FromUnits(1);
      group.node_template = std::make_shared<const model::Node>(std::move(node));
    });
  }
  // The page after one more pass with this report.
  std::string After(const report::PassReport& report) {
    if (engine_ == nullptr) {
      Assemble({}, inline_, writer_);
      Pass();
    }
    numbers_.PassEnded(report, {world_, groups_, engine_->templates()}, clock_.Now(), clock_.Now());
    return metrics_.Render();
  }
  static testing::Matcher<std::string> HasLine(const std::string& series) {
    return HasSubstr("\ncluster_autoscaler_" + series + "\n");
  }
  void AddUnreadyNode(const std::string& name) {
    model::Node node = ANode(name, "zone-web", clock_.Now());
    node.status.conditions.back().status = "False";
    world_.UpsertNode(std::make_shared<const model::Node>(std::move(node)));
  }

  AutoscalerMetrics numbers_{metrics_, {}};
};

TEST_F(ScalingMetricsTest, NodesThatWereBoughtAreCountedByTheirDevices) {
  AddGpuGroup("odd", "a100", "");
  AddGpuGroup("unnamed", "", "amd.com/gpu");
  report::PassReport pass;
  pass.scale_up.result = report::ScaleUpResult::kSuccessful;
  pass.scale_up.resizes = {{"web", 1, 3, 5},
                           {"gpu", 0, 4, 5},
                           {"odd", 0, 1, 5},
                           {"unnamed", 2, 3, 5},
                           {"gone", 0, 1, 5}};
  pass.earlier_rounds.emplace_back().result = report::ScaleUpResult::kSuccessful;
  pass.earlier_rounds[0].resizes = {{"web", 0, 1, 5}};
  const std::string page = After(pass);
  EXPECT_THAT(page, HasLine("scaled_up_nodes_total{" + kOfNoGpu + "} 4"));
  EXPECT_THAT(page, HasLine("scaled_up_nodes_total{" + kOfA100 + "} 4"));
  EXPECT_THAT(page, HasLine("scaled_up_nodes_total{dra_drivers=\"\",gpu_name=\"missing-gpu\","
                            "gpu_resource_name=\"\"} 1"));
  EXPECT_THAT(page, HasLine("scaled_up_nodes_total{dra_drivers=\"\",gpu_name=\"generic\","
                            "gpu_resource_name=\"amd.com/gpu\"} 1"));
  EXPECT_THAT(page, HasLine("scaled_up_gpu_nodes_total{gpu_name=\"a100\","
                            "gpu_resource_name=\"nvidia.com/gpu\"} 4"));
  EXPECT_THAT(page, Not(HasSubstr("scaled_up_gpu_nodes_total{gpu_name=\"\"")));
}

TEST_F(ScalingMetricsTest, WhatWasNotBoughtIsNotCounted) {
  report::PassReport pass;
  pass.scale_up.result = report::ScaleUpResult::kError;
  pass.scale_up.resizes = {{"web", 1, 3, 5}};
  EXPECT_THAT(After(pass), HasLine("scaled_up_nodes_total{" + kOfNoGpu + "} 0"));
}

TEST_F(ScalingMetricsTest, APackingIsObservedUnderHowManyNamespacesItMixes) {
  report::PassReport pass;
  pass.scale_up.packings = {
      {"m", "4", 5, 1}, {"m", "4", 6, 3}, {"m", "4", 10, 5}, {"m", "4", 11, 40}};
  const std::string page = After(pass);
  const auto count = [](const std::string& namespaces) {
    return "binpacking_heterogeneity_count{cpu_count=\"4\",instance_type=\"m\",namespace_count=\"" +
           namespaces + "\"} ";
  };
  EXPECT_THAT(page, HasLine(count("5") + "1"));
  EXPECT_THAT(page, HasLine(count("6-10") + "2"));
  EXPECT_THAT(page, HasLine(count("11+") + "1"));
}

TEST_F(ScalingMetricsTest, SkipsForTheSakeOfALimitAreCountedByResourceAndOncePerGroup) {
  const auto skipped = std::make_shared<const std::map<std::string, std::vector<std::string>>>(
      std::map<std::string, std::vector<std::string>>{
          {"a", {"exceeded quota: cpu", "exceeded quota: memory"}},
          {"b", {"exceeded quota: cpu"}},
          {"c", {"max node group size reached", "cpu"}}});
  const auto series = [](const std::string& reason) {
    return "skipped_scale_events_count{direction=\"up\",reason=\"" + reason + "ResourceLimit\"} ";
  };
  report::PassReport pass;
  for (int kinds = 0; kinds < 3; ++kinds) pass.scale_up.unhelped.push_back({.skipped = skipped});
  std::string page = After(pass);
  EXPECT_THAT(page, HasLine(series("Cpu") + "2"));
  EXPECT_THAT(page, HasLine(series("Memory") + "1"));
  pass.scale_up.unserved = std::exchange(pass.scale_up.unhelped, {});
  page = After(pass);
  EXPECT_THAT(page, HasLine(series("Cpu") + "4")) << "also where a limit is all that is in the way";
}

TEST_F(ScalingMetricsTest, OrdersThatFailedAreCountedByReasonAndDevices) {
  report::PassReport pass;
  pass.failed_additions = {{"gpu", "timeout", 3}, {"web", "timeout", 1}};
  const std::string page = After(pass);
  EXPECT_THAT(page, HasLine("failed_scale_ups_total{" + kOfA100 + ",reason=\"timeout\"} 1"));
  EXPECT_THAT(page, HasLine("failed_scale_ups_total{" + kOfNoGpu + ",reason=\"timeout\"} 1"));
  EXPECT_THAT(page, HasLine("failed_node_creations_total{reason=\"timeout\"} 4"));
  EXPECT_THAT(page, HasLine("failed_gpu_scale_ups_total{gpu_name=\"a100\","
                            "gpu_resource_name=\"nvidia.com/gpu\",reason=\"timeout\"} 1"));
}

TEST_F(ScalingMetricsTest, ANodeIsCountedWhenItsDeletionHasEndedWellAndByWhyItWent) {
  AddNode("empty", "web");
  AddNode("kept", "web");
  AddUnreadyNode("broken");
  report::PassReport begun;
  const auto pod = std::make_shared<const model::Pod>();
  begun.scale_down.removed = {{.node = "empty", .group = "web"},
                              {.node = "used", .group = "gpu", .evicted = {pod}},
                              {.node = "kept", .group = "web"},
                              {.node = "broken", .group = "web", .evicted = {pod}}};
  const auto gone = [](const std::string& devices, const std::string& reason) {
    return "scaled_down_nodes_total{" + devices + ",reason=\"" + reason + "\"} ";
  };
  std::string page = After(begun);
  EXPECT_THAT(page, HasLine(gone(kOfNoGpu, "empty") + "0"));
  report::PassReport ended;
  ended.scale_down.outcomes = {{"empty", "Ok", ""},
                               {"used", "Ok", ""},
                               {"kept", "FailedToDelete", "the cloud said no"},
                               {"broken", "Ok", ""},
                               {"unknown", "Ok", ""}};
  After(ended);
  page = After(ended);  // told twice, and counted once
  EXPECT_THAT(page, HasLine(gone(kOfNoGpu, "empty") + "1"));
  EXPECT_THAT(page, HasLine(gone(kOfNoGpu, "unready") + "1"));
  EXPECT_THAT(page, HasLine(gone(kOfA100, "underutilized") + "1"));
  EXPECT_THAT(page, HasLine("scaled_down_gpu_nodes_total{gpu_name=\"a100\",gpu_resource_name="
                            "\"nvidia.com/gpu\",reason=\"underutilized\"} 1"));
}

TEST_F(ScalingMetricsTest, AReasonToStayThatIsGoneFallsToZero) {
  report::PassReport pass;
  pass.scale_down.staying = {{.node = "a", .reason = report::StayReason::kBlockedByPod},
                             {.node = "b", .reason = report::StayReason::kBlockedByPod}};
  EXPECT_THAT(After(pass), HasLine("unremovable_nodes_count{reason=\"BlockedByPod\"} 2"));
  EXPECT_THAT(After({}), HasLine("unremovable_nodes_count{reason=\"BlockedByPod\"} 0"));
}

TEST_F(ScalingMetricsTest, InACooldownNothingIsGoingOn) {
  report::PassReport pass;
  pass.scale_down.result = report::ScaleDownResult::kInCooldown;
  pass.scale_down.unneeded = {"a", "b"};
  std::string page = After(pass);
  EXPECT_THAT(page, HasLine("scale_down_in_cooldown 1"));
  EXPECT_THAT(page, HasLine("unneeded_nodes_count 2"));
  EXPECT_THAT(page, Not(HasSubstr("last_activity{activity=\"scaleDown\"}")));
  pass.scale_down.result = report::ScaleDownResult::kNoNodeDeleted;
  page = After(pass);
  EXPECT_THAT(page, HasLine("scale_down_in_cooldown 0"));
  EXPECT_THAT(page, HasSubstr("last_activity{activity=\"scaleDown\"}"));
}

}  // namespace
}  // namespace coppice::autoscale
