#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "test/support/filter_world.h"

namespace coppice::filters::volume_limits {
void Register(fit::FilterRegistry&);

namespace {

using model::Volume;
using test::Answers;
using testing::ElementsAre;

constexpr const char* kFull = "node(s) exceed max volume count";
constexpr const char* kDriver = "csi.example.com";

model::Pod PodWith(std::string name, std::vector<std::string> claims) {
  model::Pod pod;
  pod.metadata.name = std::move(name);
  pod.metadata.namespace_ = "default";
  for (std::string& claim : claims)
    pod.spec.volumes.push_back({.name = "v", .claim_name = std::move(claim)});
  return pod;
}

// Two nodes: "limited" attaches two volumes of the driver, "free" has no CSINode.
class VolumeLimitsTest : public testing::Test {
 protected:
  VolumeLimitsTest() : world(Register, "NodeVolumeLimits") {
    world.AddNode("free");
    world.AddNode("limited");
    SetLimit(2);
    world.facts().storage_classes.Upsert({.metadata = {.name = "dyn"},
                                          .provisioner = kDriver,
                                          .volume_binding_mode = "WaitForFirstConsumer"});
    for (const char* name : {"a", "b", "c"}) AddBound(name, "handle-" + std::string(name));
  }

  void SetLimit(std::optional<int32_t> count) {
    model::CsiNode node{.metadata = {.name = "limited"}};
    node.spec.drivers.push_back({.name = kDriver});
    if (count) node.spec.drivers[0].allocatable = {.count = *count};
    world.facts().csi_nodes.Upsert(node);
  }
  void AddClaim(std::string name, std::string volume, std::optional<std::string> class_name = {}) {
    model::PersistentVolumeClaim claim{
        .metadata = {.name = std::move(name), .namespace_ = "default"}};
    claim.spec.volume_name = std::move(volume);
    claim.spec.storage_class_name = std::move(class_name);
    world.facts().claims.Upsert(claim);
  }
  void AddBound(const std::string& name, std::string handle) {
    AddClaim(name, "pv-" + name);
    model::PersistentVolume volume{.metadata = {.name = "pv-" + name}};
    volume.spec.csi = {.driver = kDriver, .volume_handle = std::move(handle)};
    world.facts().volumes.Upsert(volume);
  }
  static Answers Limited(const std::string& answer) { return {{"free", ""}, {"limited", answer}}; }

  test::FilterWorld world;
};

TEST_F(VolumeLimitsTest, CountsTheVolumesOfPodsOnTheNode) {
  world.Place(PodWith("p", {"a"}), "limited");
  EXPECT_EQ(world.Ask(PodWith("asking", {"b"})), Limited(""));

  EXPECT_EQ(world.Ask(PodWith("asking", {"b", "c"})), Limited(kFull));
  EXPECT_THAT(world.last_refusal.shortfalls(),
              ElementsAre(model::Shortfall{"volumes of csi.example.com", 2, 1, 2}));
  EXPECT_EQ(world.last_refusal.code(), model::VerdictCode::kUnschedulable);
}

TEST_F(VolumeLimitsTest, AVolumeSharedByPodsCountsOnce) {
  world.Place(PodWith("p", {"a"}), "limited");
  world.Place(PodWith("q", {"a"}), "limited");
  AddBound("alias", "handle-a");

  EXPECT_EQ(world.Ask(PodWith("asking", {"alias", "b"})), Limited(""));
}

TEST_F(VolumeLimitsTest, AClaimWithoutVolumeCountsForItsClass) {
  AddClaim("new", "", "dyn");
  AddClaim("lost", "gone", "dyn");
  SetLimit(1);

  EXPECT_EQ(world.Ask(PodWith("asking", {"new"})), Limited(""));
  EXPECT_EQ(world.Ask(PodWith("asking", {"new", "lost"})), Limited(kFull));
  world.Place(PodWith("p", {"new"}), "limited");
  EXPECT_EQ(world.Ask(PodWith("asking", {"new"})), Limited(""))
      << "the same claim is the same volume";
}

TEST_F(VolumeLimitsTest, AttachmentsCountBesideThePods) {
  model::VolumeAttachment attachment{.metadata = {.name = "va"}};
  attachment.spec = {
      .attacher = kDriver, .source = {.persistent_volume_name = "pv-a"}, .node_name = "limited"};
  world.facts().volume_attachments.Upsert(attachment);
  EXPECT_EQ(world.Ask(PodWith("asking", {"b", "c"})), Limited(kFull));
  // The attached volume itself counts twice for a pod that wants it, until a pod of the node uses
  // it.
  EXPECT_EQ(world.Ask(PodWith("asking", {"a", "b"})), Limited(kFull));

  world.Place(PodWith("p", {"a"}), "limited");

  EXPECT_EQ(world.Ask(PodWith("asking", {"a", "b"})), Limited(""));
}

TEST_F(VolumeLimitsTest, WithoutALimitEverythingFits) {
  SetLimit(std::nullopt);

  EXPECT_EQ(world.Ask(PodWith("asking", {"a", "b", "c"})), Limited(""));
}

TEST_F(VolumeLimitsTest, ALimitOfZeroTakesNone) {
  SetLimit(0);

  EXPECT_EQ(world.Ask(PodWith("asking", {"a"})), Limited(kFull));
}

TEST_F(VolumeLimitsTest, PodsWithoutVolumesAreNotChecked) {
  EXPECT_EQ(world.Ask(PodWith("asking", {})), Answers());
}

TEST_F(VolumeLimitsTest, AMissingClaimMattersForTheAskingPodOnly) {
  world.Place(PodWith("p", {"nope"}), "limited");

  EXPECT_EQ(world.Ask(PodWith("asking", {"a"})), Limited(""));
  const std::string missing =
      "looking up PVC default/nope: persistentvolumeclaim \"nope\" not found";
  EXPECT_EQ(world.Ask(PodWith("asking", {"nope"})),
            (Answers{{"free", missing}, {"limited", missing}}));
}

TEST_F(VolumeLimitsTest, InTreeDisksCountForTheDriverThatTookOver) {
  model::CsiNode node{.metadata = {.name = "limited"}};
  node.spec.drivers.push_back({.name = "ebs.csi.aws.com", .allocatable = {{.count = 1}}});
  world.facts().csi_nodes.Upsert(node);
  AddClaim("ebs", "pv-ebs");
  model::PersistentVolume volume{.metadata = {.name = "pv-ebs"}};
  volume.spec.aws_elastic_block_store = {.volume_id = "aws://z/vol-1"};
  world.facts().volumes.Upsert(volume);
  const auto inline_disk = [](std::string id) {
    model::Pod pod = PodWith("inline", {});
    pod.spec.volumes.push_back(
        {.name = "d", .aws_elastic_block_store = {{.volume_id = std::move(id)}}});
    return pod;
  };
  world.Place(PodWith("p", {"ebs"}), "limited");

  EXPECT_EQ(world.Ask(inline_disk("vol-1")), Limited("")) << "the same disk in another spelling";
  EXPECT_EQ(world.Ask(inline_disk("vol-2")), Limited(kFull));
  EXPECT_EQ(world.Ask(inline_disk("aws://z/nonsense")), Limited("error"));
}

TEST_F(VolumeLimitsTest, AnEphemeralClaimHasToBeMadeForThePod) {
  model::Pod pod = PodWith("eph", {});
  pod.metadata.uid = "uid-1";
  pod.spec.volumes.push_back({.name = "scratch", .ephemeral = true});
  model::PersistentVolumeClaim claim{.metadata = {.name = "eph-scratch", .namespace_ = "default"}};
  claim.spec.storage_class_name = "dyn";
  claim.metadata.owner_references.push_back(
      {.kind = "Pod", .name = "eph", .uid = "uid-1", .controller = true});
  world.facts().claims.Upsert(claim);
  SetLimit(0);

  EXPECT_EQ(world.Ask(pod), Limited(kFull));
  pod.metadata.uid = "uid-2";
  EXPECT_EQ(world.Ask(pod), (Answers{{"free", "error"}, {"limited", "error"}}));
}

}  // namespace
}  // namespace coppice::filters::volume_limits
