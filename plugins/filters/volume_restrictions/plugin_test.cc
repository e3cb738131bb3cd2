#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "test/support/filter_world.h"

namespace coppice::filters::volume_restrictions {
void Register(fit::FilterRegistry&);

namespace {

using model::Volume;
using test::Answers;

constexpr const char* kDiskTaken = "node(s) had no available disk";

model::Pod PodWith(std::string name, std::vector<Volume> volumes) {
  model::Pod pod;
  pod.metadata.name = std::move(name);
  pod.metadata.namespace_ = "default";
  pod.spec.volumes = std::move(volumes);
  return pod;
}

Volume Gce(std::string disk, bool read_only) {
  return {.name = "v", .gce_persistent_disk = {{std::move(disk), read_only}}};
}
Volume Ebs(std::string id, bool read_only) {
  return {.name = "v", .aws_elastic_block_store = {{std::move(id), read_only}}};
}
Volume Iscsi(std::string iqn, int32_t lun, bool read_only) {
  return {.name = "v", .iscsi = {{"portal", std::move(iqn), lun, read_only}}};
}
Volume Rbd(std::vector<std::string> monitors, std::string pool, bool read_only) {
  return {.name = "v", .rbd = {{std::move(monitors), "image", std::move(pool), read_only}}};
}
Volume Claim(std::string name) { return {.name = "v", .claim_name = std::move(name)}; }

struct Case {
  std::string name;
  Volume theirs;
  Volume ours;
  bool fits;
};

class ExclusiveDiskTest : public testing::TestWithParam<Case> {};

TEST_P(ExclusiveDiskTest, DecidesOnTheNodeOfTheOtherPodOnly) {
  test::FilterWorld world(Register, "VolumeRestrictions");
  world.AddNode("n-0");
  world.AddNode("n-1");
  world.Place(PodWith("other", {GetParam().theirs}), "n-0");

  const Answers expected = {{"n-0", GetParam().fits ? "" : kDiskTaken}, {"n-1", ""}};

  EXPECT_EQ(world.Ask(PodWith("asking", {GetParam().ours})), expected);
}

INSTANTIATE_TEST_SUITE_P(
    Rows, ExclusiveDiskTest,
    testing::ValuesIn(std::vector<Case>{
        {"TwoReadersShareAGceDisk", Gce("d", true), Gce("d", true), true},
        {"AWriterDoesNotShareAGceDisk", Gce("d", true), Gce("d", false), false},
        {"OtherGceDisksDoNotMatter", Gce("d", false), Gce("e", false), true},
        {"AnEbsDiskIsNeverShared", Ebs("vol-1", true), Ebs("vol-1", true), false},
        {"EbsIdsAreComparedAsWritten", Ebs("vol-1", false), Ebs("aws://z/vol-1", false), true},
        {"TheLunDoesNotTellIscsiDisksApart", Iscsi("iqn", 0, true), Iscsi("iqn", 1, false), false},
        {"TwoReadersShareAnIscsiDisk", Iscsi("iqn", 0, true), Iscsi("iqn", 0, true), true},
        {"OneCommonMonitorIsTheSameCeph", Rbd({"a", "b"}, "p", false), Rbd({"b", "c"}, "p", false),
         false},
        {"NoCommonMonitorIsAnotherCeph", Rbd({"a"}, "p", false), Rbd({"b"}, "p", false), true},
        {"AnotherPoolIsAnotherImage", Rbd({"a"}, "p", false), Rbd({"a"}, "q", false), true},
        {"DifferentKindsDoNotClash", Gce("vol-1", false), Ebs("vol-1", false), true},
    }),
    [](const auto& row) { return row.param.name; });

TEST(VolumeRestrictionsTest, PodsWithoutDisksAndClaimsAreNotChecked) {
  test::FilterWorld world(Register, "VolumeRestrictions");
  world.AddNode("n-0");

  EXPECT_EQ(world.Ask(PodWith("asking", {Volume{.name = "v", .host_path = "/x"}})), Answers());
}

TEST(VolumeRestrictionsTest, AMissingClaimRejectsThePodEverywhere) {
  test::FilterWorld world(Register, "VolumeRestrictions");
  world.AddNode("n-0");

  EXPECT_EQ(world.Ask(PodWith("asking", {Claim("nope")})),
            (Answers{{"*", "persistentvolumeclaim \"nope\" not found"}}));
  EXPECT_EQ(world.last_refusal.code(), model::VerdictCode::kUnschedulableAndUnresolvable);
}

TEST(VolumeRestrictionsTest, AReadWriteOncePodClaimInUseRejectsEveryNodeUntilItIsFree) {
  test::FilterWorld world(Register, "VolumeRestrictions");
  world.AddNode("n-0");
  world.AddNode("n-1");
  model::PersistentVolumeClaim claim;
  claim.metadata.name = "mine";
  claim.metadata.namespace_ = "default";
  claim.spec.access_modes = {"ReadWriteOnce", "ReadWriteOncePod"};
  world.facts().claims.Upsert(claim);
  EXPECT_EQ(world.Ask(PodWith("asking", {Claim("mine")})), Answers()) << "nobody uses it yet";

  {
    const auto fork = world.snapshot.Fork();
    world.Place(PodWith("other", {Claim("mine")}), "n-0");
    const std::string taken =
        "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode "
        "already in-use "
        "by another pod";
    EXPECT_EQ(world.Ask(PodWith("asking", {Claim("mine")})),
              (Answers{{"n-0", taken}, {"n-1", taken}}));
    EXPECT_EQ(world.last_refusal.code(), model::VerdictCode::kUnschedulable);
  }
  EXPECT_EQ(world.Ask(PodWith("asking", {Claim("mine")})), Answers()) << "the fork is gone";
}

}  // namespace
}  // namespace coppice::filters::volume_restrictions
