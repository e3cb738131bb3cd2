#include "autoscale/utilization.h"

#include <gtest/gtest.h>

namespace coppice::autoscale {
namespace {

class UtilizationTest : public testing::Test {
 protected:
  UtilizationTest() {
    node_.metadata.name = "n";
    node_.status.allocatable["cpu"] = model::Quantity::FromUnits(4);
    node_.status.allocatable["memory"] = model::Quantity::FromUnits(int64_t{8} << 30);
    node_.status.allocatable["pods"] = model::Quantity::FromUnits(110);
    rules_.now = TimePoint(std::chrono::seconds(10'000));
  }
  model::Pod OnNode(const std::string& name, int64_t millis, int64_t gib) {
    model::Pod pod;
    pod.metadata.name = name;
    pod.metadata.namespace_ = "d";
    pod.metadata.uid = name;
    pod.spec.node_name = "n";
    pod.spec.containers.resize(1);
    pod.spec.containers[0].resources.requests["cpu"] = model::Quantity::FromMillis(millis);
    pod.spec.containers[0].resources.requests["memory"] = model::Quantity::FromUnits(gib << 30);
    return pod;
  }
  static model::Pod OfDaemonSet(model::Pod pod) {
    pod.metadata.owner_references.push_back({.api_version = "apps/v1",
                                             .kind = "DaemonSet",
                                             .name = "ds",
                                             .uid = "u",
                                             .controller = true});
    return pod;
  }
  std::optional<report::Utilization> Of(const std::vector<model::Pod>& pods) {
    cluster::World world;
    world.UpsertNode(std::make_shared<const model::Node>(node_));
    for (const model::Pod& pod : pods) world.UpsertPod(std::make_shared<const model::Pod>(pod));
    return UtilizationOf(world, world.snapshot().FindNode("n"), node_, rules_);
  }

  model::Node node_;
  UtilizationRules rules_;
};

TEST_F(UtilizationTest, TheLargerShareOfCpuAndMemoryCounts) {
  const auto cpu = Of({OnNode("a", 1000, 1), OnNode("b", 1000, 1)});
  EXPECT_EQ(cpu->cpu, 0.5);
  EXPECT_EQ(cpu->memory, 0.25);
  EXPECT_EQ(cpu->value, 0.5);
  EXPECT_EQ(cpu->resource, "cpu");
  const auto equal = Of({OnNode("a", 2000, 4)});
  EXPECT_EQ(equal->resource, "memory") << "of equals the second, as upstream compares";
}

TEST_F(UtilizationTest, IgnoredPodsAreTakenOffBothSides) {
  const std::vector<model::Pod> pods = {OnNode("a", 1500, 1), OfDaemonSet(OnNode("b", 1000, 2))};
  EXPECT_EQ(Of(pods)->cpu, 0.625);
  rules_.ignore_daemon_sets = true;
  EXPECT_EQ(Of(pods)->cpu, 0.5) << "1.5 of 3";
}

TEST_F(UtilizationTest, PodsThatShouldHaveEndedLongAgoDoNotCount) {
  model::Pod ending = OnNode("a", 2000, 4);
  ending.metadata.deletion_timestamp = model::Time{rules_.now - std::chrono::seconds(5)};
  EXPECT_EQ(Of({ending})->cpu, 0.5);
  ending.metadata.deletion_timestamp = model::Time{rules_.now - std::chrono::hours(1)};
  EXPECT_EQ(Of({ending})->cpu, 0);
}

TEST_F(UtilizationTest, ANodeWithTheGpuLabelIsJudgedByItsGpusAlone) {
  rules_.gpu_label = "gpu";
  node_.metadata.labels["gpu"] = "a100";
  model::Pod pod = OnNode("a", 4000, 8);
  EXPECT_EQ(Of({pod})->value, 0) << "they have not appeared, so they are not in use";
  node_.status.allocatable["nvidia.com/gpu"] = model::Quantity::FromUnits(4);
  pod.spec.containers[0].resources.requests["nvidia.com/gpu"] = model::Quantity::FromUnits(1);
  EXPECT_EQ(Of({pod})->value, 0.25);
  EXPECT_EQ(Of({pod})->resource, "nvidia.com/gpu");
}

TEST_F(UtilizationTest, ANodeThatDoesNotSayWhatItOffersHasNone) {
  node_.status.allocatable["memory"] = model::Quantity::FromUnits(0);
  EXPECT_FALSE(Of({}).has_value());
}

}  // namespace
}  // namespace coppice::autoscale
