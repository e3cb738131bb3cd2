#include "fit/volume_claims.h"

#include <gtest/gtest.h>

#include "test/support/must.h"

namespace coppice::fit {
namespace {

TEST(VolumeClaimsTest, AVolumeStandsForTheClaimThatItNamesOrForOneOfItsPod) {
  EXPECT_EQ(ClaimName({.name = "data", .claim_name = "shared"}, "web-1"), "shared");
  EXPECT_EQ(ClaimName({.name = "scratch", .ephemeral = true}, "web-1"), "web-1-scratch");
  EXPECT_FALSE(ClaimName({.name = "host", .host_path = "/var"}, "web-1").has_value());
}

// A pod in a snapshot, and a claim with that owner.
class MadeForTest : public testing::Test {
 protected:
  cluster::PodView PodOf(const std::string& uid) {
    auto pod = std::make_shared<model::Pod>();
    pod->metadata.name = "web-1";
    pod->metadata.namespace_ = "ns";
    pod->metadata.uid = uid;
    return snapshot_.pod(snapshot_.AddPod(std::move(pod), cluster::kNone));
  }
  static model::PersistentVolumeClaim ClaimOf(const std::string& owner, bool controls = true) {
    model::PersistentVolumeClaim claim;
    claim.metadata.name = "web-1-scratch";
    claim.metadata.namespace_ = "ns";
    claim.metadata.owner_references.push_back({.api_version = "v1",
                                               .kind = "Pod",
                                               .name = "web-1",
                                               .uid = owner,
                                               .controller = controls});
    return claim;
  }

  cluster::Facts facts_;
  cluster::Snapshot snapshot_{facts_};
};

TEST_F(MadeForTest, OnlyAClaimThatThisVeryPodControlsIsItsOwn) {
  EXPECT_TRUE(IsMadeFor(ClaimOf("u1"), PodOf("u1")));
  EXPECT_FALSE(IsMadeFor(ClaimOf("u0"), PodOf("u1"))) << "of a pod before it, of the same name";
  EXPECT_FALSE(IsMadeFor(ClaimOf("u1", false), PodOf("u1"))) << "an owner, and no controller";
  EXPECT_FALSE(IsMadeFor({}, PodOf("u1"))) << "nobody's";
}

TEST_F(MadeForTest, APodThatWasNeverStoredHasNone) {
  EXPECT_FALSE(IsMadeFor(ClaimOf(""), PodOf("")));
}

TEST_F(MadeForTest, TheRefusalNamesBoth) {
  EXPECT_EQ(NotMadeForText(ClaimOf("u0"), PodOf("u1")),
            "PVC ns/web-1-scratch was not created for pod ns/web-1 (pod is not owner)");
}

template <class Object>
void ExpectTheAnnotationBeforeTheField(Object object) {
  EXPECT_EQ(ClassOf(object), "field");
  object.metadata.annotations["volume.beta.kubernetes.io/storage-class"] = "annotation";
  EXPECT_EQ(ClassOf(object), "annotation");
  // It is there, so it counts: no class.
  object.metadata.annotations["volume.beta.kubernetes.io/storage-class"] = "";
  EXPECT_EQ(ClassOf(object), "");
}

TEST(VolumeClaimsTest, TheAnnotationOfOldStillNamesTheClass) {
  model::PersistentVolumeClaim claim;
  EXPECT_EQ(ClassOf(claim), "") << "says nothing of a class";
  claim.spec.storage_class_name = "field";
  ExpectTheAnnotationBeforeTheField(claim);
  model::PersistentVolume volume;
  EXPECT_EQ(ClassOf(volume), "");
  volume.spec.storage_class_name = "field";
  ExpectTheAnnotationBeforeTheField(volume);
}

TEST(VolumeClaimsTest, WhatIsMissingIsNamedAsTheApiMachineryDoes) {
  EXPECT_EQ(ClaimNotFound("data"), "persistentvolumeclaim \"data\" not found");
  EXPECT_EQ(VolumeNotFound("pv-1"), "persistentvolume \"pv-1\" not found");
  EXPECT_EQ(ClassNotFound("ssd"), "storageclass.storage.k8s.io \"ssd\" not found");
  EXPECT_EQ(BindingModeNotSet("ssd"), "VolumeBindingMode not set for StorageClass \"ssd\"");
  EXPECT_EQ(ClaimNotFound("a\"b\\c"), "persistentvolumeclaim \"a\\\"b\\\\c\" not found");
}

}  // namespace
}  // namespace coppice::fit
