#include "model/resources.h"

#include <gtest/gtest.h>

#include <initializer_list>
#include <utility>

#include "test/support/must.h"

namespace coppice::model {
namespace {

ResourceList List(std::initializer_list<std::pair<std::string_view, std::string_view>> amounts) {
  ResourceList list;
  for (const auto& [name, amount] : amounts) list[name] = MUST(Quantity::Parse(amount));
  return list;
}

Container Asking(std::string name, ResourceList requests, ResourceList limits = {}) {
  return {.name = std::move(name),
          .resources = {.limits = std::move(limits), .requests = std::move(requests)}};
}

Container Sidecar(std::string name, ResourceList requests) {
  Container container = Asking(std::move(name), std::move(requests));
  container.restart_policy = "Always";
  return container;
}

TEST(ResourcesTest, SumsAreExactAndOnlyTheTotalIsRounded) {
  Pod pod;
  for (int i = 0; i < 3; ++i)
    pod.spec.containers.push_back(Asking("c", List({{"cpu", "0.4m"}, {"memory", "0.4"}})));
  EXPECT_EQ(IncomingRequests(pod).cpu_millis, 2);
  EXPECT_EQ(IncomingRequests(pod).memory_bytes, 2);
}

TEST(ResourcesTest, PeakOfInitContainersCountsWithTheSidecarsBeforeIt) {
  Pod pod;
  pod.spec.containers = {Asking("main", List({{"cpu", "1"}}))};
  pod.spec.init_containers = {Asking("first", List({{"cpu", "2500m"}})),
                              Sidecar("side", List({{"cpu", "1"}})),
                              Asking("second", List({{"cpu", "2"}}))};
  EXPECT_EQ(IncomingRequests(pod).cpu_millis,
            3000);  // side + second, more than main + side, more than first
}

TEST(ResourcesTest, OverheadIsAddedToRequestsAndToLimitsThatExist) {
  Pod pod;
  pod.spec.containers = {Asking("main", List({{"cpu", "1"}}), List({{"memory", "1Gi"}}))};
  pod.spec.overhead = List({{"cpu", "250m"}, {"memory", "120Mi"}});
  EXPECT_EQ(RequestList(pod), List({{"cpu", "1250m"}, {"memory", "120Mi"}}));
  EXPECT_EQ(LimitList(pod), List({{"memory", "1144Mi"}}));
}

TEST(ResourcesTest, PodLevelReplacesTheSumOfTheContainers) {
  Pod pod;
  pod.spec.containers = {
      Asking("main", List({{"cpu", "1"}, {"memory", "1Gi"}, {"nvidia.com/gpu", "1"}}))};
  pod.spec.resources =
      ResourceRequirements{.requests = List({{"cpu", "3"}, {"nvidia.com/gpu", "9"}})};
  EXPECT_EQ(RequestList(pod), List({{"cpu", "3"}, {"memory", "1Gi"}, {"nvidia.com/gpu", "1"}}));
}

TEST(ResourcesTest, ResizeCountsAtItsMostWhilePendingAndAsItIsWhenInfeasible) {
  Pod pod;
  pod.spec.containers = {Asking("main", List({{"cpu", "4"}}))};
  pod.status.container_statuses = {
      {.name = "main",
       .allocated_resources = List({{"cpu", "2"}}),
       .resources = ResourceRequirements{.requests = List({{"cpu", "1"}})}}};
  EXPECT_EQ(IncomingRequests(pod).cpu_millis, 4000);
  EXPECT_EQ(PlacedRequests(pod).cpu_millis, 4000);
  pod.status.conditions = {{.type = "PodResizePending", .status = "True", .reason = "Infeasible"}};
  EXPECT_EQ(PlacedRequests(pod).cpu_millis, 2000);
  EXPECT_EQ(IncomingRequests(pod).cpu_millis, 4000);
}

TEST(ResourcesTest, NamesWithoutADomainDoNotCount) {
  const PodRequests requests = ToRequests(List({{"oddball", "1"},
                                                {"storage", "1"},
                                                {"hugepages-2Mi", "4Mi"},
                                                {"attachable-volumes-x", "3"},
                                                {"kubernetes.io/batch", "2"},
                                                {"example.com/fuse", "0"},
                                                {"requests.example.com/fuse", "1"},
                                                {"UPPER.com/x", "1"}}));
  const std::vector<std::pair<std::string, int64_t>> expected = {{"attachable-volumes-x", 3},
                                                                 {"example.com/fuse", 0},
                                                                 {"hugepages-2Mi", 4 << 20},
                                                                 {"kubernetes.io/batch", 2}};
  EXPECT_EQ(requests.extended, expected);
  EXPECT_EQ(requests.Extended("kubernetes.io/batch"), 2);
  EXPECT_EQ(requests.Extended("absent"), 0);
}

TEST(ResourcesTest, WrappedRequestAsksForNothingButTakesItsWrappedAmount) {
  Pod pod;
  pod.spec.containers = {Asking("main", List({{"cpu", "1Ei"}}))};
  EXPECT_EQ(IncomingRequests(pod).cpu_millis, 0);
  EXPECT_EQ(PlacedRequests(pod).cpu_millis, INT64_MIN);
}

TEST(ResourcesTest, ScoringCountsContainersWithoutRequests) {
  Pod pod;
  pod.spec.containers = {Asking("a", List({{"cpu", "1"}})), Asking("b", {})};
  const NonZeroRequests expected{.cpu_millis = 1100, .memory_bytes = int64_t{400} << 20};
  EXPECT_EQ(ScoringRequests(pod), expected);
}

TEST(ResourcesTest, ScoringDoesNotCountThePodsLevelBeforeItHasANode) {
  Pod pod;
  pod.spec.containers = {Asking("a", List({{"cpu", "1"}}))};
  pod.spec.resources = ResourceRequirements{.requests = List({{"cpu", "3"}, {"memory", "1Gi"}})};
  const NonZeroRequests incoming{.cpu_millis = 1000, .memory_bytes = int64_t{200} << 20};
  const NonZeroRequests placed{.cpu_millis = 3000, .memory_bytes = int64_t{1} << 30};
  EXPECT_EQ(IncomingScoringRequests(pod), incoming);
  EXPECT_EQ(ScoringRequests(pod), placed);
}

TEST(ResourcesTest, NodeAmountsIncludePods) {
  const NodeAmounts amounts = ToNodeAmounts(List({{"cpu", "3920m"}, {"pods", "110"}}));
  EXPECT_EQ(amounts.cpu_millis, 3920);
  EXPECT_EQ(amounts.pods, 110);
}

TEST(QosTest, NeedsEqualLimitsOnEveryContainerToBeGuaranteed) {
  const ResourceList both = List({{"cpu", "1"}, {"memory", "1Gi"}});
  Pod pod;
  pod.spec.containers = {Asking("a", {})};
  EXPECT_EQ(QosClass(pod), "BestEffort");
  pod.spec.containers = {Asking("a", both, both)};
  EXPECT_EQ(QosClass(pod), "Guaranteed");
  pod.spec.init_containers = {Asking("i", {})};
  EXPECT_EQ(QosClass(pod), "Burstable");
  pod.spec.resources = ResourceRequirements{.limits = both, .requests = both};
  EXPECT_EQ(QosClass(pod), "Guaranteed");
}

}  // namespace
}  // namespace coppice::model
