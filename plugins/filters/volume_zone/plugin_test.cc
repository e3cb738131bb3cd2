#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "test/support/filter_world.h"

namespace coppice::filters::volume_zone {
void Register(fit::FilterRegistry&);

namespace {

using test::Answers;

constexpr const char* kZone = "topology.kubernetes.io/zone";
constexpr const char* kBetaZone = "failure-domain.beta.kubernetes.io/zone";
constexpr const char* kRegion = "topology.kubernetes.io/region";

model::Pod PodWithClaim(std::string claim) {
  model::Pod pod;
  pod.metadata.name = "asking";
  pod.metadata.namespace_ = "default";
  pod.spec.volumes = {{.name = "v", .claim_name = std::move(claim)}};
  return pod;
}

model::PersistentVolumeClaim BoundClaim(std::string volume) {
  model::PersistentVolumeClaim claim;
  claim.metadata.name = "data";
  claim.metadata.namespace_ = "default";
  claim.spec.volume_name = std::move(volume);
  return claim;
}

struct Case {
  std::string name;
  model::Labels volume_labels;
  model::Labels node_labels;
  bool fits;
};

class ZoneTest : public testing::TestWithParam<Case> {};

TEST_P(ZoneTest, Decides) {
  test::FilterWorld world(Register, "VolumeZone");
  world.AddNode("n", GetParam().node_labels);
  model::PersistentVolume volume;
  volume.metadata.name = "pv";
  volume.metadata.labels = GetParam().volume_labels;
  world.facts().volumes.Upsert(volume);
  world.facts().claims.Upsert(BoundClaim("pv"));

  EXPECT_EQ(world.Ask(PodWithClaim("data")),
            (Answers{{"n", GetParam().fits ? "" : "node(s) had no available volume zone"}}));
}

INSTANTIATE_TEST_SUITE_P(
    Rows, ZoneTest,
    testing::ValuesIn(std::vector<Case>{
        {"SameZone", {{kZone, "a"}}, {{kZone, "a"}}, true},
        {"OtherZone", {{kZone, "a"}}, {{kZone, "b"}}, false},
        {"OneOfSeveralZones", {{kZone, "a__b"}}, {{kZone, "b"}}, true},
        {"SpacesAroundZonesDoNotMatter", {{kZone, " a __ b "}}, {{kZone, "b"}}, true},
        {"ANodeOutsideAllTopologiesPasses", {{kZone, "a"}}, {{"rack", "1"}}, true},
        {"ANodeWithOnlyARegionLacksTheZone", {{kZone, "a"}}, {{kRegion, "r"}}, false},
        {"ZoneAndRegionBothCount",
         {{kZone, "a"}, {kRegion, "r"}},
         {{kZone, "a"}, {kRegion, "s"}},
         false},
        {"AnOldLabelMatchesTheNodesNewOne", {{kBetaZone, "a"}}, {{kZone, "a"}}, true},
        {"TheNodesOldLabelComesFirst", {{kBetaZone, "a"}}, {{kZone, "a"}, {kBetaZone, "b"}}, false},
        {"ANewLabelDoesNotMatchTheNodesOldOne", {{kZone, "a"}}, {{kBetaZone, "a"}}, false},
        {"AMalformedListIsIgnored",
         {{kZone, "a__"}, {kRegion, "r"}},
         {{kZone, "b"}, {kRegion, "r"}},
         true},
    }),
    [](const auto& row) { return row.param.name; });

TEST(VolumeZoneTest, UnlabelledVolumesAreNotChecked) {
  test::FilterWorld world(Register, "VolumeZone");
  model::PersistentVolume volume;
  volume.metadata.name = "pv";
  volume.metadata.labels = {{kZone, "a__"}};
  world.facts().volumes.Upsert(volume);
  world.facts().claims.Upsert(BoundClaim("pv"));

  EXPECT_EQ(world.Ask(PodWithClaim("data")), Answers());
}

struct Rejection {
  std::string name;
  std::string class_name;
  std::optional<std::string> mode;  // of class "c"
  std::string volume_name;
  Answers answers;
};

class RejectionTest : public testing::TestWithParam<Rejection> {};

TEST_P(RejectionTest, SaysWhatIsMissing) {
  test::FilterWorld world(Register, "VolumeZone");
  world.facts().storage_classes.Upsert(
      {.metadata = {.name = "c"}, .provisioner = "p", .volume_binding_mode = GetParam().mode});
  model::PersistentVolumeClaim claim = BoundClaim(GetParam().volume_name);
  if (!GetParam().class_name.empty()) claim.spec.storage_class_name = GetParam().class_name;
  world.facts().claims.Upsert(claim);

  EXPECT_EQ(world.Ask(PodWithClaim("data")), GetParam().answers);
}

INSTANTIATE_TEST_SUITE_P(
    Rows, RejectionTest,
    testing::ValuesIn(std::vector<Rejection>{
        {"VolumeGone", "c", "Immediate", "gone", {{"*", "persistentvolume \"gone\" not found"}}},
        {"NeitherVolumeNorClass",
         "",
         "Immediate",
         "",
         {{"*", "PersistentVolumeClaim had no pv name and storageClass name"}}},
        {"ClassGone", "x", "Immediate", "", {{"*", "storageclass.storage.k8s.io \"x\" not found"}}},
        {"ClassWithoutMode",
         "c",
         std::nullopt,
         "",
         {{"*", "VolumeBindingMode not set for StorageClass \"c\""}}},
        {"UnboundImmediateClaim", "c", "Immediate", "", {{"*", "PersistentVolume had no name"}}},
        {"AClaimThatWaitsIsFine", "c", "WaitForFirstConsumer", "", {}},
    }),
    [](const auto& row) { return row.param.name; });

TEST(VolumeZoneTest, NamesAMissingOrNamelessClaim) {
  test::FilterWorld world(Register, "VolumeZone");

  EXPECT_EQ(world.Ask(PodWithClaim("nope")),
            (Answers{{"*", "persistentvolumeclaim \"nope\" not found"}}));
  EXPECT_EQ(world.Ask(PodWithClaim("")), (Answers{{"*", "PersistentVolumeClaim had no name"}}));
}

}  // namespace
}  // namespace coppice::filters::volume_zone
