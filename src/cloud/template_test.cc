#include "cloud/template.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "test/support/must.h"

namespace coppice::cloud {
namespace {

const Flavor kFlavor = {.name = "flex-16-8", .cpu_millis = 8'000, .memory_bytes = 16LL << 30};
const Flavor kGpuFlavor = {.name = "gpu2-128-16-1-200",
                           .cpu_millis = 16'000,
                           .memory_bytes = 128LL << 30,
                           .disk_bytes = 200LL << 30,
                           .gpu_type = "NVIDIA L40S",
                           .gpu_count = 1};

GroupConfig Group() {
  return {.name = "workers",
          .max_size = 5,
          .flavor = "flex-16-8",
          .zone = "rma1",
          .volume_size_gb = 100};
}

std::string Allocatable(const model::Node& node, std::string_view resource) {
  const auto* quantity = node.status.allocatable.Find(resource);
  return quantity == nullptr ? "absent" : quantity->Canonical();
}
std::string Capacity(const model::Node& node, std::string_view resource) {
  const auto* quantity = node.status.capacity.Find(resource);
  return quantity == nullptr ? "absent" : quantity->Canonical();
}

struct Case {
  std::string name;
  std::optional<ReservedResources> kube, system, eviction;
  std::string cpu, memory, storage;
};

class ReservedTest : public testing::TestWithParam<Case> {};

TEST_P(ReservedTest, LeavesTheRestForPods) {
  GroupConfig group = Group();
  group.kube_reserved = GetParam().kube;
  group.system_reserved = GetParam().system;
  group.eviction_hard = GetParam().eviction;

  const auto node = MUST(MakeTemplate(group, kFlavor, ""));

  EXPECT_OK(CheckReserved(group));
  EXPECT_EQ(Allocatable(node, "cpu"), GetParam().cpu);
  EXPECT_EQ(Allocatable(node, "memory"), GetParam().memory);
  EXPECT_EQ(Allocatable(node, "ephemeral-storage"), GetParam().storage);
  EXPECT_EQ(Capacity(node, "cpu"), "8");
  EXPECT_EQ(Capacity(node, "memory"), "16Gi");
  EXPECT_EQ(Capacity(node, "ephemeral-storage"), "100Gi");
}

INSTANTIATE_TEST_SUITE_P(
    Rows, ReservedTest,
    testing::ValuesIn(std::vector<Case>{
        {"KubeletDefaults", {}, {}, {}, "8", "16284Mi", "90Gi"},
        {"AbsoluteAmounts",
         ReservedResources{{"cpu", "100m"}, {"memory", "256Mi"}},
         ReservedResources{{"cpu", "0.05"}, {"memory", "128Mi"}, {"ephemeral-storage", "1Gi"}},
         {},
         "7850m",
         "15900Mi",
         "89Gi"},
        {"Percentages",
         ReservedResources{{"cpu", "5%"}, {"memory", "10%"}},
         {},
         ReservedResources{{"memory.available", "0"}, {"nodefs.available", "50%"}},
         "7600m",
         "15461882266",
         "50Gi"},
        {"AGivenEvictionMapReplacesTheDefaultsAsAWhole",
         {},
         {},
         ReservedResources{{"memory.available", "1Gi"}},
         "8",
         "15Gi",
         "100Gi"},
        {"AnEmptyEvictionMapSwitchesItOff", {}, {}, ReservedResources{}, "8", "16Gi", "100Gi"},
        {"MoreThanAnyNumberOfOurs",
         ReservedResources{{"memory", "140044444444444444444444444M"}, {"cpu", "9e18"}},
         ReservedResources{{"memory", "9E"}, {"cpu", "9e18"}}, ReservedResources{}, "0", "0",
         "100Gi"},
        {"NeverBelowZero",
         ReservedResources{{"memory", "20Gi"}, {"cpu", "9"}},
         {},
         {},
         "0",
         "0",
         "90Gi"},
        {"SignalsThatTakeNothing",
         {},
         {},
         ReservedResources{{"nodefs.inodesFree", "5%"}, {"imagefs.available", "15%"}},
         "8",
         "16Gi",
         "100Gi"},
    }),
    [](const auto& row) { return row.param.name; });

TEST(TemplateTest, LabelsAreThoseOfKubeletAndCloudControllerManager) {
  const auto node = MUST(MakeTemplate(Group(), kFlavor, "cloud.example/gpu"));
  const model::Labels expected = {
      {"beta.kubernetes.io/arch", "amd64"},
      {"beta.kubernetes.io/instance-type", "flex-16-8"},
      {"beta.kubernetes.io/os", "linux"},
      {"failure-domain.beta.kubernetes.io/region", "rma"},
      {"failure-domain.beta.kubernetes.io/zone", "rma1"},
      {"kubernetes.io/arch", "amd64"},
      {"kubernetes.io/hostname", "template-workers"},
      {"kubernetes.io/os", "linux"},
      {"node.kubernetes.io/instance-type", "flex-16-8"},
      {"topology.kubernetes.io/region", "rma"},
      {"topology.kubernetes.io/zone", "rma1"},
  };
  EXPECT_EQ(node.metadata.labels, expected);
  EXPECT_EQ(node.metadata.name, "template-workers");
}

TEST(TemplateTest, GroupLabelsOverrideAndTaintsArePassedOn) {
  GroupConfig group = Group();
  group.labels = {{"tier", "web"}, {"topology.kubernetes.io/region", "switzerland"}};
  group.taints = {{"dedicated", "web", "NoSchedule"}};
  const auto node = MUST(MakeTemplate(group, kFlavor, ""));
  EXPECT_EQ(*node.metadata.labels.Find("tier"), "web");
  EXPECT_EQ(*node.metadata.labels.Find("topology.kubernetes.io/region"), "switzerland");
  ASSERT_EQ(node.spec.taints.size(), 1u);
  EXPECT_EQ(node.spec.taints[0].key, "dedicated");
  EXPECT_EQ(node.spec.taints[0].effect, "NoSchedule");
}

TEST(TemplateTest, IsReadyAndSaysHowManyPods) {
  GroupConfig group = Group();
  EXPECT_EQ(Allocatable(MUST(MakeTemplate(group, kFlavor, "")), "pods"), "110");
  group.max_pods = 60;
  const auto node = MUST(MakeTemplate(group, kFlavor, ""));
  EXPECT_EQ(Allocatable(node, "pods"), "60");
  EXPECT_EQ(Capacity(node, "pods"), "60");
  ASSERT_EQ(node.status.conditions.size(), 1u);
  EXPECT_EQ(node.status.conditions[0].type, "Ready");
  EXPECT_EQ(node.status.conditions[0].status, "True");
}

TEST(TemplateTest, GpusAreAResourceAndALabel) {
  const auto node = MUST(MakeTemplate(Group(), kGpuFlavor, "cloud.example/gpu"));
  EXPECT_EQ(Allocatable(node, "nvidia.com/gpu"), "1");
  EXPECT_EQ(Capacity(node, "nvidia.com/gpu"), "1");
  EXPECT_EQ(*node.metadata.labels.Find("cloud.example/gpu"), "NVIDIA-L40S");
  EXPECT_EQ(Allocatable(MUST(MakeTemplate(Group(), kFlavor, "x")), "nvidia.com/gpu"), "absent");
}

TEST(TemplateTest, WithoutAVolumeTheDiskIsTheFlavors) {
  GroupConfig group = Group();
  group.volume_size_gb = 0;
  EXPECT_EQ(Capacity(MUST(MakeTemplate(group, kGpuFlavor, "")), "ephemeral-storage"), "200Gi");
}

TEST(TemplateTest, BadAmountsNameGroupAndKey) {
  GroupConfig group = Group();
  group.kube_reserved = ReservedResources{{"memory", "lots"}};
  const Status status = MakeTemplate(group, kFlavor, "").status();
  EXPECT_EQ(status.code(), Code::kInvalidArgument);
  EXPECT_THAT(status.message(), testing::HasSubstr("group 'workers': kubeReserved.memory"));
  for (const char* bad : {"101%", "-1%", "%", "x%", "-5Mi", "", "nan%"}) {
    group.kube_reserved = ReservedResources{{"memory", bad}};
    EXPECT_FALSE(CheckReserved(group).ok()) << bad;
  }
  group.kube_reserved = ReservedResources{{"memroy", "1Gi"}};
  EXPECT_THAT(CheckReserved(group).message(), testing::HasSubstr("has no 'memroy'"));
}

TEST(TemplateTest, RegionIsTheZoneWithoutItsNumber) {
  EXPECT_EQ(RegionOf("rma1"), "rma");
  EXPECT_EQ(RegionOf("eu-west-12"), "eu-west-");
  EXPECT_EQ(RegionOf("lpg"), "lpg");
  EXPECT_EQ(RegionOf(""), "");
}

TEST(TemplateTest, LabelValuesStartAndEndWithALetterOrDigit) {
  EXPECT_EQ(AsLabelValue("NVIDIA L40S"), "NVIDIA-L40S");
  EXPECT_EQ(AsLabelValue("(A100)"), "A100");
  EXPECT_EQ(AsLabelValue(std::string(80, 'a')).size(), 63u);
  EXPECT_EQ(AsLabelValue("--"), "");
}

}  // namespace
}  // namespace coppice::cloud
