#include "batch/volumes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <optional>

#include "base/fake_clock.h"
#include "batch/scripted_writer.h"
#include "fit/volume_claims.h"
#include "test/support/must.h"

namespace coppice::batch {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class VolumesTest : public testing::Test {
 protected:
  VolumesTest() {
    auto node = std::make_shared<model::Node>();
    node->metadata.name = "n";
    world_.UpsertNode(node);
    model::StorageClass waits;
    waits.metadata.name = "waits";
    waits.volume_binding_mode = std::string(fit::kWaitForFirstConsumer);
    world_.Upsert(std::make_shared<const model::StorageClass>(waits));
    model::StorageClass eager;
    eager.metadata.name = "eager";
    eager.volume_binding_mode = "Immediate";
    world_.Upsert(std::make_shared<const model::StorageClass>(eager));
  }
  ~VolumesTest() override {
    std::destroy_at(&executor_);  // its tasks work on what goes now
    std::construct_at(&executor_, clock_);
  }

  void PutClaim(const std::string& storage_class, bool bound = false) {
    model::PersistentVolumeClaim claim;
    claim.metadata.namespace_ = "default";
    claim.metadata.name = "data";
    claim.metadata.uid = "uid-of-data";
    claim.spec.storage_class_name = storage_class;
    claim.spec.resources.requests["storage"] = model::Quantity::FromUnits(100);
    if (bound) {
      claim.spec.volume_name = "pv";
      claim.metadata.annotations["pv.kubernetes.io/bind-completed"] = "yes";
    }
    world_.Upsert(std::make_shared<const model::PersistentVolumeClaim>(claim));
  }
  void PutVolume(const std::string& name, int64_t size) {
    model::PersistentVolume volume;
    volume.metadata.name = name;
    volume.spec.storage_class_name = "waits";
    volume.spec.capacity["storage"] = model::Quantity::FromUnits(size);
    volume.status.phase = "Available";
    world_.Upsert(std::make_shared<const model::PersistentVolume>(volume));
  }
  static cluster::PodPtr PodWithClaim() {
    auto pod = std::make_shared<model::Pod>();
    pod->metadata.namespace_ = "default";
    pod->metadata.name = "p";
    model::Volume volume;
    volume.name = "v";
    volume.claim_name = "data";
    pod->spec.volumes.push_back(volume);
    return pod;
  }
  // Begins, and runs for so long; the answer if there is one by then.
  void Begin() { executor_.Spawn(Bind()); }
  coppice::Task<void> Bind() { answer_ = co_await volumes_.Bind(PodWithClaim(), "n"); }

  FakeClock clock_;
  cluster::World world_;
  ScriptedWriter writer_;
  std::optional<Status> answer_;
  Executor executor_{clock_};
  Volumes volumes_{{world_, writer_, executor_}};
};

TEST_F(VolumesTest, APodWhoseClaimsAreBoundWaitsForNothing) {
  PutClaim("waits", true);
  Begin();
  executor_.RunUntilIdle();
  ASSERT_TRUE(answer_);
  EXPECT_OK(*answer_);
  EXPECT_THAT(writer_.asked, IsEmpty());
}

TEST_F(VolumesTest, AClaimThatIsNotThereIsARefusal) {
  Begin();
  executor_.RunUntilIdle();
  EXPECT_THAT(answer_->message(), HasSubstr("\"data\" not found"));
}

TEST_F(VolumesTest, TheSmallestFreeVolumeThatSuitsIsGivenAndTheClaimWaitedFor) {
  PutClaim("waits");
  PutVolume("too-small", 50);
  PutVolume("large", 500);
  PutVolume("right", 100);
  Begin();
  executor_.RunFor(seconds(5));
  EXPECT_THAT(writer_.asked, ElementsAre("patch persistentvolumes right"));
  EXPECT_THAT(writer_.patches[0], HasSubstr("uid-of-data"));
  EXPECT_FALSE(answer_);
  PutClaim("waits", true);
  executor_.RunFor(seconds(1));
  ASSERT_TRUE(answer_);
  EXPECT_OK(*answer_);
}

TEST_F(VolumesTest, WhereOneHasToBeMadeTheClaimIsToldTheNode) {
  PutClaim("waits");
  Begin();
  executor_.RunFor(seconds(1));
  EXPECT_THAT(writer_.asked, ElementsAre("patch persistentvolumeclaims data"));
  EXPECT_THAT(writer_.patches[0], HasSubstr("volume.kubernetes.io/selected-node"));
}

TEST_F(VolumesTest, AClaimThatDoesNotWaitForAPodIsOnlyWaitedFor) {
  PutClaim("eager");
  Begin();
  executor_.RunFor(seconds(1));
  EXPECT_THAT(writer_.asked, IsEmpty());
  EXPECT_FALSE(answer_);
}

TEST_F(VolumesTest, ItIsNotWaitedForLongerThanKubeSchedulerWaits) {
  PutClaim("waits");
  Begin();
  executor_.RunFor(minutes(11));
  ASSERT_TRUE(answer_);
  EXPECT_THAT(answer_->message(), HasSubstr("got no volume in time"));
}

TEST_F(VolumesTest, AVolumeIsPromisedToOneClaimAtATime) {
  PutClaim("waits");
  PutVolume("only", 100);
  writer_.answers = {Unavailable("away")};
  Begin();
  executor_.RunFor(seconds(1));
  ASSERT_TRUE(answer_);
  EXPECT_FALSE(answer_->ok());
  answer_.reset();
  Begin();  // the promise was taken back with the failure
  executor_.RunFor(seconds(1));
  EXPECT_EQ(writer_.asked.back(), "patch persistentvolumes only");
}

}  // namespace
}  // namespace coppice::batch
