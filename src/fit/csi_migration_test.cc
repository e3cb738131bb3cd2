#include "fit/csi_migration.h"

#include <gtest/gtest.h>

#include "test/support/must.h"

namespace coppice::fit {
namespace {

constexpr const char* kZone = "topology.kubernetes.io/zone";
constexpr const char* kBetaZone = "failure-domain.beta.kubernetes.io/zone";

struct HandleCase {
  std::string name;
  model::PersistentVolume volume;
  std::string handle;  // "": cannot be translated
};

model::PersistentVolume Ebs(std::string id) {
  model::PersistentVolume volume;
  volume.spec.aws_elastic_block_store = {.volume_id = std::move(id)};
  return volume;
}
model::PersistentVolume Gce(model::Labels labels) {
  model::PersistentVolume volume;
  volume.metadata.labels = std::move(labels);
  volume.spec.gce_persistent_disk = {.pd_name = "disk"};
  return volume;
}
model::PersistentVolume Azure(std::optional<std::string> kind) {
  model::PersistentVolume volume;
  volume.spec.azure_disk = {.disk_name = "d", .disk_uri = "/uri", .kind = std::move(kind)};
  return volume;
}

class CsiHandleTest : public testing::TestWithParam<HandleCase> {};

TEST_P(CsiHandleTest, Translates) {
  const auto csi = ToCsi(GetParam().volume);

  EXPECT_EQ(csi.ok() ? csi->handle : "", GetParam().handle);
}

INSTANTIATE_TEST_SUITE_P(Rows, CsiHandleTest,
                         testing::ValuesIn(std::vector<HandleCase>{
                             {"BareEbsId", Ebs("vol-1"), "vol-1"},
                             {"AnythingWithoutSchemeIsAnEbsId", Ebs("disk/1"), "disk/1"},
                             {"EbsUrl", Ebs("aws://eu-west-1a/vol-1"), "vol-1"},
                             {"EbsUrlWithoutZone", Ebs("aws:///vol-1/"), "vol-1"},
                             {"EbsUrlWithoutVolume", Ebs("aws://vol-1"), ""},
                             {"EbsUrlWithTooMuch", Ebs("aws://z/vol-1/x"), ""},
                             {"GceWithoutZone", Gce({}),
                              "projects/UNSPECIFIED/zones/UNSPECIFIED/disks/disk"},
                             {"GceInOneZone", Gce({{kZone, "eu-west1-a"}}),
                              "projects/UNSPECIFIED/zones/eu-west1-a/disks/disk"},
                             {"GceOldLabelComesFirst", Gce({{kZone, "x"}, {kBetaZone, "y"}}),
                              "projects/UNSPECIFIED/zones/y/disks/disk"},
                             {"GceRegional", Gce({{kZone, "eu-west1-a__eu-west1-b"}}),
                              "projects/UNSPECIFIED/regions/eu-west1/disks/disk"},
                             {"GceInTwoRegions", Gce({{kZone, "eu-west1-a__eu-west2-b"}}), ""},
                             {"GceWithOddZones", Gce({{kZone, "a__b"}}), ""},
                             {"AzureDisk", Azure(std::nullopt), "/uri"},
                             {"AzureManagedDisk", Azure("managed"), "/uri"},
                             {"AzureDedicatedDisk", Azure("Dedicated"), ""},
                         }),
                         [](const auto& row) { return row.param.name; });

TEST(CsiMigrationTest, KnowsWhichDriversTookOver) {
  EXPECT_EQ(MigratedDriver("kubernetes.io/cinder"), "cinder.csi.openstack.org");
  EXPECT_TRUE(IsInTree("kubernetes.io/vsphere-volume"));
  EXPECT_EQ(MigratedDriver("kubernetes.io/vsphere-volume"), "");
  EXPECT_FALSE(IsInTree("kubernetes.io/no-provisioner"));
}

struct AffinityCase {
  std::string name;
  std::optional<model::NodeSelector> affinity;
  model::Labels labels;
  std::optional<model::NodeSelector> migrated;
};

model::NodeSelector In(std::vector<std::pair<std::string, std::vector<std::string>>> conditions) {
  model::NodeSelectorTerm term;
  for (auto& [key, values] : conditions) {
    term.match_expressions.push_back({.key = key, .operator_ = "In", .values = values});
  }
  return {{term}};
}

class MigratedAffinityTest : public testing::TestWithParam<AffinityCase> {};

TEST_P(MigratedAffinityTest, UsesTheDriversZoneLabel) {
  model::PersistentVolume volume = Ebs("vol-1");
  volume.spec.node_affinity = GetParam().affinity;
  volume.metadata.labels = GetParam().labels;

  EXPECT_EQ(MigratedAffinity(volume), GetParam().migrated);
}

constexpr const char* kEbsZone = "topology.ebs.csi.aws.com/zone";

INSTANTIATE_TEST_SUITE_P(
    Rows, MigratedAffinityTest,
    testing::ValuesIn(std::vector<AffinityCase>{
        {"NothingToTranslate", std::nullopt, {}, std::nullopt},
        {"AffinityIsRenamed",
         In({{kZone, {"a"}}, {"rack", {"1"}}}),
         {{kZone, "b"}},
         In({{kEbsZone, {"a"}}, {"rack", {"1"}}})},
        {"LabelBecomesAffinity", std::nullopt, {{kZone, " b __a"}}, In({{kEbsZone, {"a", "b"}}})},
        {"LabelIsAddedToTheAffinity",
         In({{"rack", {"1"}}}),
         {{kBetaZone, "a"}},
         In({{"rack", {"1"}}, {kEbsZone, {"a"}}})},
        {"OldRegionBecomesTheNewOne",
         In({{kBetaZone, {"a"}}, {"failure-domain.beta.kubernetes.io/region", {"r"}}}),
         {},
         In({{kEbsZone, {"a"}}, {"topology.kubernetes.io/region", {"r"}}})},
    }),
    [](const auto& row) { return row.param.name; });

}  // namespace
}  // namespace coppice::fit
