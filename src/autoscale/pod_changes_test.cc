#include "autoscale/pod_changes.h"

#include <gtest/gtest.h>

#include <functional>

namespace coppice::autoscale {
namespace {

using report::Change;
using report::ChangeKind;

model::Pod APod() {
  model::Pod pod;
  model::Container container;
  container.name = "main";
  container.resources.requests["cpu"] = model::Quantity::FromMillis(1500);
  container.ports.push_back({.host_port = 80, .container_port = 80});
  pod.spec.containers.push_back(container);
  pod.spec.node_selector["zone"] = "a";
  pod.spec.topology_spread_constraints.push_back(
      {.max_skew = 1, .topology_key = "zone", .when_unsatisfiable = "DoNotSchedule"});
  model::Affinity affinity;
  affinity.pod_affinity.emplace().required.push_back({.topology_key = "zone"});
  affinity.pod_anti_affinity.emplace().required.push_back({.topology_key = "host"});
  pod.spec.affinity = affinity;
  model::Volume volume;
  volume.name = "data";
  pod.spec.volumes.push_back(volume);
  return pod;
}

struct ProposedChange {
  std::string name;
  Change change;
  bool applies;
  std::function<bool(const model::Pod&)> is_so = nullptr;  // afterwards
};

class PodChangesTest : public testing::TestWithParam<ProposedChange> {};

TEST_P(PodChangesTest, MakesThePodAsProposed) {
  model::Pod pod = APod();
  EXPECT_EQ(Apply(GetParam().change, pod), GetParam().applies);
  if (GetParam().is_so != nullptr) {
    EXPECT_TRUE(GetParam().is_so(pod));
  }
}

INSTANTIATE_TEST_SUITE_P(
    Rows, PodChangesTest,
    testing::ValuesIn(std::vector<ProposedChange>{
        {"ARequestIsLowered",
         {.kind = ChangeKind::kLowerRequest, .subject = "cpu", .amount = 500},
         true,
         [](const model::Pod& pod) { return AskedOf(pod, "cpu") == 1000; }},
        {"NoMoreThanIsAskedFor",
         {.kind = ChangeKind::kLowerRequest, .subject = "cpu", .amount = 1501},
         false},
        {"WhatIsNotAskedForIsNotLowered",
         {.kind = ChangeKind::kLowerRequest, .subject = "memory", .amount = 1},
         false},
        {"ATaintIsTolerated",
         {.kind = ChangeKind::kTolerate, .subject = "gpu", .value = "yes", .effect = "NoSchedule"},
         true,
         [](const model::Pod& pod) { return pod.spec.tolerations.size() == 1; }},
        {"AnotherValueIsAllowed",
         {.kind = ChangeKind::kAllowLabel, .subject = "zone", .value = "b"},
         true,
         [](const model::Pod& pod) { return *pod.spec.node_selector.Find("zone") == "b"; }},
        {"ALabelThatNobodyAsksForIsNothingToAllow",
         {.kind = ChangeKind::kAllowLabel, .subject = "disk", .value = "ssd"},
         false},
        {"ADemandIsDropped",
         {.kind = ChangeKind::kDropLabelDemand, .subject = "zone"},
         true,
         [](const model::Pod& pod) { return !pod.spec.node_selector.contains("zone"); }},
        {"HostPortsAreDropped",
         {.kind = ChangeKind::kDropHostPorts},
         true,
         [](const model::Pod& pod) { return pod.spec.containers[0].ports[0].host_port == 0; }},
        {"ASkewIsRaised",
         {.kind = ChangeKind::kRaiseSkew, .subject = "zone", .amount = 3},
         true,
         [](const model::Pod& pod) {
           return pod.spec.topology_spread_constraints[0].max_skew == 3;
         }},
        {"ASpreadBecomesAWish",
         {.kind = ChangeKind::kDropSpread, .subject = "zone"},
         true,
         [](const model::Pod& pod) {
           return pod.spec.topology_spread_constraints[0].when_unsatisfiable == "ScheduleAnyway";
         }},
        {"ASpreadOverSomethingElseStays",
         {.kind = ChangeKind::kDropSpread, .subject = "host"},
         false},
        {"ItNeedNotBeNear",
         {.kind = ChangeKind::kDropAffinity, .subject = "zone"},
         true,
         [](const model::Pod& pod) { return pod.spec.affinity->pod_affinity->required.empty(); }},
        {"ItMayBeNear",
         {.kind = ChangeKind::kDropAntiAffinity, .subject = "host"},
         true,
         [](const model::Pod& pod) {
           return pod.spec.affinity->pod_anti_affinity->required.empty();
         }},
        {"AVolumeIsDropped",
         {.kind = ChangeKind::kDropVolume, .subject = "data"},
         true,
         [](const model::Pod& pod) { return pod.spec.volumes.empty(); }},
        {"WhatIsTheGroupsIsNoneOfAPod", {.kind = ChangeKind::kRaiseMaxSize, .amount = 3}, false},
        {"ToWaitIsNoneOfAPod", {.kind = ChangeKind::kWait}, false},
    }),
    [](const auto& row) { return row.param.name; });

TEST(PodChangesPlainTest, OfInitContainersTheLargestCounts) {
  model::Pod pod = APod();
  model::Container init;
  init.resources.requests["cpu"] = model::Quantity::FromMillis(2000);
  pod.spec.init_containers.push_back(init);
  ASSERT_EQ(AskedOf(pod, "cpu"), 2000);
  ASSERT_TRUE(Apply({.kind = ChangeKind::kLowerRequest, .subject = "cpu", .amount = 1000}, pod));
  EXPECT_EQ(AskedOf(pod, "cpu"), 1000) << "both sums are brought down";
}

TEST(PodChangesPlainTest, DevicesAreAskedForAndAllowedInOneNumber) {
  model::Pod pod = APod();
  auto& resources = pod.spec.containers[0].resources;
  resources.requests["nvidia.com/gpu"] = model::Quantity::FromUnits(4);
  resources.limits["nvidia.com/gpu"] = model::Quantity::FromUnits(4);
  ASSERT_TRUE(
      Apply({.kind = ChangeKind::kLowerRequest, .subject = "nvidia.com/gpu", .amount = 3}, pod));
  EXPECT_EQ(resources.limits.Find("nvidia.com/gpu")->Value(), 1);
}

}  // namespace
}  // namespace coppice::autoscale
