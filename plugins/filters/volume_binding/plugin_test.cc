#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "test/support/filter_world.h"

namespace coppice::filters::volume_binding {
void Register(fit::FilterRegistry&);

namespace {

using model::PersistentVolume;
using model::PersistentVolumeClaim;
using model::Quantity;
using test::Answers;

constexpr const char* kZone = "topology.kubernetes.io/zone";
constexpr const char* kAffinity = "node(s) didn't match PersistentVolume's node affinity";
constexpr const char* kNoVolume = "node(s) didn't find available persistent volumes to bind";
constexpr const char* kNoRoom = "node(s) did not have enough free storage";
constexpr const char* kGone =
    "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)";

model::Pod PodWith(std::vector<std::string> claims) {
  model::Pod pod;
  pod.metadata.name = "asking";
  pod.metadata.namespace_ = "default";
  for (std::string& claim : claims)
    pod.spec.volumes.push_back({.name = "v", .claim_name = std::move(claim)});
  return pod;
}

// Nodes n-a and n-b in zones a and b; classes "dyn" (made on demand), "local" (never made), "now"
// (bound at once).
class VolumeBindingTest : public testing::Test {
 protected:
  VolumeBindingTest() : world(Register, "VolumeBinding") {
    world.AddNode("n-a", {{kZone, "a"}, {"kubernetes.io/hostname", "n-a"}});
    world.AddNode("n-b", {{kZone, "b"}, {"kubernetes.io/hostname", "n-b"}});
    AddClass("dyn", "csi.example.com", "WaitForFirstConsumer");
    AddClass("local", "kubernetes.io/no-provisioner", "WaitForFirstConsumer");
    AddClass("now", "csi.example.com", "Immediate");
  }

  void AddClass(std::string name, std::string provisioner, std::optional<std::string> mode,
                std::vector<model::TopologySelectorTerm> topologies = {}) {
    world.facts().storage_classes.Upsert({.metadata = {.name = std::move(name)},
                                          .provisioner = std::move(provisioner),
                                          .volume_binding_mode = std::move(mode),
                                          .allowed_topologies = std::move(topologies)});
  }
  static PersistentVolumeClaim Claim(std::string name, std::string class_name,
                                     std::string_view size = "1Gi") {
    PersistentVolumeClaim claim{.metadata = {.name = std::move(name), .namespace_ = "default"}};
    claim.metadata.uid = "uid-" + claim.metadata.name;
    claim.spec.storage_class_name = std::move(class_name);
    claim.spec.access_modes = {"ReadWriteOnce"};
    claim.spec.resources.requests["storage"] = MUST(Quantity::Parse(size));
    return claim;
  }
  static PersistentVolume Volume(std::string name, std::string class_name, std::string_view size,
                                 std::string zone) {
    PersistentVolume volume{.metadata = {.name = std::move(name)},
                            .status = {.phase = "Available"}};
    volume.spec.storage_class_name = std::move(class_name);
    volume.spec.access_modes = {"ReadWriteOnce"};
    volume.spec.capacity["storage"] = MUST(Quantity::Parse(size));
    if (!zone.empty()) {
      volume.spec.node_affinity = model::NodeSelector{
          {{.match_expressions = {
                {.key = kZone, .operator_ = "In", .values = {std::move(zone)}}}}}};
    }
    return volume;
  }
  void Add(PersistentVolumeClaim claim) { world.facts().claims.Upsert(std::move(claim)); }
  void Add(PersistentVolume volume) { world.facts().volumes.Upsert(std::move(volume)); }
  void AddBound(const std::string& name, const std::string& zone) {
    PersistentVolumeClaim claim = Claim(name, "now");
    claim.spec.volume_name = "pv-" + name;
    claim.metadata.annotations["pv.kubernetes.io/bind-completed"] = "yes";
    Add(std::move(claim));
    Add(Volume("pv-" + name, "now", "1Gi", zone));
  }
  static Answers Both(const std::string& a, const std::string& b) {
    return {{"n-a", a}, {"n-b", b}};
  }
  Answers Ask(std::vector<std::string> claims) { return world.Ask(PodWith(std::move(claims))); }

  test::FilterWorld world;
};

TEST_F(VolumeBindingTest, PodsWithoutClaimsAreNotChecked) { EXPECT_EQ(Ask({}), Answers()); }

TEST_F(VolumeBindingTest, ABoundVolumeHasToBeWithinReach) {
  AddBound("here", "a");
  AddBound("everywhere", "");

  EXPECT_EQ(Ask({"everywhere"}), Both("", ""));
  EXPECT_EQ(Ask({"everywhere", "here"}), Both("", kAffinity));
}

TEST_F(VolumeBindingTest, ABoundVolumeThatIsGoneRefusesEveryNode) {
  AddBound("x", "a");
  world.facts().volumes.Erase("", "pv-x");

  EXPECT_EQ(Ask({"x"}), Both(kGone, kGone));
}

TEST_F(VolumeBindingTest, SeveralConflictsAreAllNamed) {
  AddBound("here", "a");
  Add(Claim("wanted", "local"));

  EXPECT_EQ(Ask({"here", "wanted"}), Both(kNoVolume, std::string(kAffinity) + ", " + kNoVolume));
}

TEST_F(VolumeBindingTest, AWaitingClaimIsMadeWhereItsClassAllows) {
  AddClass("zonal", "csi.example.com", "WaitForFirstConsumer",
           {{}, {.match_label_expressions = {{.key = kZone, .values = {"b", "c"}}}}});
  Add(Claim("anywhere", "dyn"));
  Add(Claim("zonal", "zonal"));

  EXPECT_EQ(Ask({"anywhere"}), Both("", ""));
  EXPECT_EQ(Ask({"anywhere", "zonal"}), Both(kNoVolume, ""));
}

TEST_F(VolumeBindingTest, ASelectedNodeIsTheOnlyOneLeft) {
  PersistentVolumeClaim claim = Claim("x", "dyn");
  claim.metadata.annotations["volume.kubernetes.io/selected-node"] = "n-b";
  Add(std::move(claim));

  EXPECT_EQ(Ask({"x"}), Both(kNoVolume, ""));
}

TEST_F(VolumeBindingTest, AFreeVolumeHasToMatch) {
  Add(Claim("x", "local", "5Gi"));
  Add(Volume("small", "local", "4Gi", "a"));
  EXPECT_EQ(Ask({"x"}), Both(kNoVolume, kNoVolume)) << "too small";

  struct Row {
    const char* what;
    std::function<void(PersistentVolume&)> spoil;
  };
  const std::vector<Row> rows = {
      {"another class", [](auto& v) { v.spec.storage_class_name = "dyn"; }},
      {"another class by annotation",
       [](auto& v) { v.metadata.annotations["volume.beta.kubernetes.io/storage-class"] = "dyn"; }},
      {"not available", [](auto& v) { v.status.phase = "Released"; }},
      {"a block device", [](auto& v) { v.spec.volume_mode = "Block"; }},
      {"another access mode", [](auto& v) { v.spec.access_modes = {"ReadOnlyMany"}; }},
      {"other attributes", [](auto& v) { v.spec.volume_attributes_class_name = "gold"; }},
      {"being deleted", [](auto& v) { v.metadata.deletion_timestamp = model::Time(); }},
      {"taken", [](auto& v) { v.spec.claim_ref = {.namespace_ = "default", .name = "other"}; }},
      {"taken by a claim of that name before",
       [](auto& v) { v.spec.claim_ref = {.namespace_ = "default", .name = "x", .uid = "old"}; }},
  };
  for (const Row& row : rows) {
    PersistentVolume volume = Volume("large", "local", "10Gi", "a");
    row.spoil(volume);
    Add(volume);
    EXPECT_EQ(Ask({"x"}), Both(kNoVolume, kNoVolume)) << row.what;
  }
  Add(Volume("large", "local", "10Gi", "a"));
  EXPECT_EQ(Ask({"x"}), Both("", kNoVolume));
}

TEST_F(VolumeBindingTest, AVolumeThatNamesTheClaimDecidesAlone) {
  Add(Claim("x", "local"));
  Add(Volume("free", "local", "1Gi", "b"));
  PersistentVolume reserved = Volume("reserved", "local", "9Gi", "a");
  reserved.status.phase = "Pending";  // a reserved one need not be available
  reserved.spec.claim_ref = {.namespace_ = "default", .name = "x"};
  Add(reserved);

  EXPECT_EQ(Ask({"x"}), Both("", kNoVolume));
}

TEST_F(VolumeBindingTest, TheSmallestVolumeIsTakenSoThatTheLargeOneIsLeft) {
  Add(Claim("big", "local", "8Gi"));
  Add(Claim("small", "local", "1Gi"));
  Add(Volume("a-large", "local", "10Gi", "a"));
  Add(Volume("z-small", "local", "2Gi", "a"));
  EXPECT_EQ(Ask({"big", "small"}), Both("", kNoVolume));

  Add(Claim("third", "local", "1Gi"));
  EXPECT_EQ(Ask({"big", "small", "third"}), Both(kNoVolume, kNoVolume))
      << "two volumes, three claims";
}

TEST_F(VolumeBindingTest, ASelectorOfTheClaimIsObeyedAndAMalformedOneIsAnError) {
  PersistentVolume volume = Volume("v", "local", "1Gi", "");
  volume.metadata.labels["tier"] = "fast";
  Add(volume);
  PersistentVolumeClaim claim = Claim("x", "local");
  claim.spec.selector = model::LabelSelector{.match_labels = {{"tier", "slow"}}};
  Add(claim);
  EXPECT_EQ(Ask({"x"}), Both(kNoVolume, kNoVolume));
  claim.spec.selector = model::LabelSelector{.match_labels = {{"tier", "fast"}}};
  Add(claim);
  EXPECT_EQ(Ask({"x"}), Both("", ""));
  claim.spec.selector =
      model::LabelSelector{.match_expressions = {{.key = "tier", .operator_ = "In"}}};
  Add(claim);
  EXPECT_EQ(Ask({"x"}), Both("error", "error"));
}

TEST_F(VolumeBindingTest, TrackedStorageHasToHaveRoomWithinReach) {
  Add(Claim("x", "dyn", "5Gi"));
  world.facts().csi_drivers.Upsert(
      {.metadata = {.name = "csi.example.com"}, .spec = {.storage_capacity = true}});
  EXPECT_EQ(Ask({"x"}), Both(kNoRoom, kNoRoom));

  model::CsiStorageCapacity room{.metadata = {.name = "c", .namespace_ = "k"},
                                 .storage_class_name = "dyn"};
  room.capacity = MUST(Quantity::Parse("5Gi"));
  world.facts().storage_capacities.Upsert(room);
  EXPECT_EQ(Ask({"x"}), Both(kNoRoom, kNoRoom)) << "reachable from nowhere";

  room.node_topology = model::LabelSelector{.match_labels = {{kZone, "a"}}};
  world.facts().storage_capacities.Upsert(room);
  EXPECT_EQ(Ask({"x"}), Both("", kNoRoom));

  room.maximum_volume_size = MUST(Quantity::Parse("4Gi"));
  world.facts().storage_capacities.Upsert(room);
  EXPECT_EQ(Ask({"x"}), Both(kNoRoom, kNoRoom)) << "no single volume may be that large";
}

TEST_F(VolumeBindingTest, ClaimsThatCannotBeUsedYetRejectThePod) {
  const auto rejection = [&](const std::string& claim) {
    const Answers answers = Ask({claim});
    return answers.contains("*") ? answers.at("*") : "none";
  };
  EXPECT_EQ(rejection("nope"), "persistentvolumeclaim \"nope\" not found");

  Add(Claim("now", "now"));
  EXPECT_EQ(rejection("now"), "pod has unbound immediate PersistentVolumeClaims");

  PersistentVolumeClaim named = Claim("named", "dyn");
  named.spec.volume_name = "v";
  Add(named);
  EXPECT_EQ(rejection("named"), "pod has unbound immediate PersistentVolumeClaims");

  PersistentVolumeClaim lost = Claim("lost", "dyn");
  lost.spec.volume_name = "v";
  lost.status.phase = "Lost";
  Add(lost);
  EXPECT_EQ(rejection("lost"),
            "persistentvolumeclaim \"lost\" bound to non-existent persistentvolume \"v\"");

  PersistentVolumeClaim ending = Claim("ending", "dyn");
  ending.metadata.deletion_timestamp = model::Time();
  Add(ending);
  EXPECT_EQ(rejection("ending"), "persistentvolumeclaim \"ending\" is being deleted");

  AddClass("modeless", "p", std::nullopt);
  Add(Claim("modeless", "modeless"));
  EXPECT_EQ(rejection("modeless"), "error");
}

TEST_F(VolumeBindingTest, AnEphemeralClaimHasToBeMadeForThePod) {
  model::Pod pod = PodWith({});
  pod.metadata.uid = "uid-1";
  pod.spec.volumes.push_back({.name = "scratch", .ephemeral = true});
  EXPECT_EQ(world.Ask(pod), (Answers{{"*",
                                      "waiting for ephemeral volume controller to create the "
                                      "persistentvolumeclaim \"asking-scratch\""}}));

  PersistentVolumeClaim claim = Claim("asking-scratch", "dyn");
  Add(claim);
  EXPECT_EQ(world.Ask(pod),
            (Answers{{"*",
                      "PVC default/asking-scratch was not created for pod default/asking "
                      "(pod is not owner)"}}));

  claim.metadata.owner_references.push_back(
      {.kind = "Pod", .name = "asking", .uid = "uid-1", .controller = true});
  Add(claim);
  EXPECT_EQ(world.Ask(pod), Both("", ""));
}

TEST_F(VolumeBindingTest, AMigratedVolumeIsLocatedByTheLabelsOfItsDriver) {
  AddBound("ebs", "a");
  PersistentVolume volume = Volume("pv-ebs", "now", "1Gi", "a");
  volume.spec.aws_elastic_block_store = {.volume_id = "vol-1"};
  Add(volume);
  world.AddNode("n-c", {{kZone, "z"}, {"topology.ebs.csi.aws.com/zone", "a"}});
  model::CsiNode migrated{.metadata = {.name = "n-c"}};
  migrated.metadata.annotations["storage.alpha.kubernetes.io/migrated-plugins"] =
      "kubernetes.io/gce-pd,kubernetes.io/aws-ebs";
  world.facts().csi_nodes.Upsert(migrated);
  EXPECT_EQ(Ask({"ebs"}), (Answers{{"n-a", ""}, {"n-b", kAffinity}, {"n-c", ""}}));

  volume.spec.aws_elastic_block_store = {.volume_id = "aws://a/nonsense"};
  Add(volume);
  EXPECT_EQ(Ask({"ebs"}), (Answers{{"n-a", ""}, {"n-b", kAffinity}, {"n-c", "error"}}));
}

}  // namespace
}  // namespace coppice::filters::volume_binding
