#include "autoscale/removal_fuse.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/executor.h"
#include "base/fake_clock.h"
#include "cluster/fake_writer.h"

namespace coppice::autoscale {
namespace {

using std::chrono::minutes;
using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;
using testing::SizeIs;

class RemovalFuseTest : public testing::Test {
 protected:
  static DeletionBatch Batch(const std::string& prefix, int count, int whole_group = 0) {
    DeletionBatch batch;
    batch.group = "a";
    batch.whole_group = whole_group;
    for (int i = 0; i < count; ++i) {
      RemovableNode node;
      node.node = prefix + std::to_string(i);
      node.group = "a";
      batch.nodes.push_back(std::move(node));
    }
    return batch;
  }
  static cluster::LivePod Pod(const std::string& owner) {
    model::Pod pod;
    pod.metadata.name = "p";
    pod.metadata.namespace_ = "default";
    pod.metadata.owner_references = {
        {.api_version = "apps/v1", .kind = owner, .name = "owner", .controller = true}};
    return std::make_shared<const model::Pod>(std::move(pod));
  }
  // How many of them go; they are gone at once.
  size_t Go(CroppedDeletions deletions, bool stale = false) {
    RemovalFuse::Moment moment;
    moment.now = clock.Now();
    moment.nodes = 40;
    moment.stale = stale;
    moment.stays = [this](const std::string& node, std::string why) { stays[node] = why; };
    executor.BlockOn(fuse.Crop(std::move(moment), deletions));
    size_t count = 0;
    for (const auto* batches : {&deletions.empty, &deletions.drain}) {
      for (const DeletionBatch& batch : *batches) {
        for (const RemovableNode& node : batch.nodes) {
          fuse.Removed(node.node, clock.Now());
          ++count;
        }
      }
    }
    return count;
  }
  size_t GoEmpty(int count, int whole_group = 0) {
    return Go({.empty = {Batch("e", count, whole_group)}, .drain = {}});
  }
  size_t Drain(int count) { return Go({.empty = {}, .drain = {Batch("d", count)}}); }

  FakeClock clock;
  Executor executor{clock};
  cluster::FakeWriter writer{clock};
  Log log = Log::Null();
  Options options;
  RemovalFuse fuse{options, options.deviations, writer, log};
  std::map<std::string, std::string> stays;
};

TEST_F(RemovalFuseTest, AQuarterOfTheClusterIsDrainedInTenMinutes) {
  EXPECT_EQ(Drain(12), 10u);
  EXPECT_THAT(stays, SizeIs(2));
  EXPECT_THAT(stays, Contains(Pair("d10", HasSubstr("enough nodes were removed"))));
  EXPECT_EQ(Drain(1), 0u);
  clock.Advance(minutes(11));
  EXPECT_EQ(Drain(3), 3u);
}

TEST_F(RemovalFuseTest, NodesThatTheApiServerHasNoPodsOnGoFreely) {
  writer.pods_on = [](const std::string&) {
    return std::vector<cluster::LivePod>{Pod("DaemonSet")};
  };
  EXPECT_EQ(GoEmpty(39), 39u);
  EXPECT_EQ(Drain(12), 10u) << "they were counted";
}

TEST_F(RemovalFuseTest, ANodeThatOnlyTheViewHasNoPodsOnStays) {
  writer.pods_on = [](const std::string& node) {
    return node == "e1" ? std::vector<cluster::LivePod>{Pod("ReplicaSet")}
                        : std::vector<cluster::LivePod>{};
  };
  EXPECT_EQ(GoEmpty(3), 2u);
  EXPECT_THAT(stays["e1"], HasSubstr("the API server has the pod default/p"));
  EXPECT_EQ(GoEmpty(3, 3), 0u) << "all of the group or none";
}

TEST_F(RemovalFuseTest, WhereNobodyCanBeAskedEmptyNodesCountAsAll) {
  EXPECT_EQ(GoEmpty(12), 10u);
  EXPECT_EQ(Drain(1), 0u);
}

TEST_F(RemovalFuseTest, AGroupThatGoesWholeDoesNotGoInPart) {
  EXPECT_EQ(GoEmpty(11, 11), 0u);
  EXPECT_EQ(GoEmpty(10, 10), 10u);
}

TEST_F(RemovalFuseTest, AGroupWhoseEmptyNodeStaysKeepsItsOccupiedOnes) {
  writer.pods_on = [](const std::string&) {
    return std::vector<cluster::LivePod>{Pod("ReplicaSet")};
  };
  EXPECT_EQ(Go({.empty = {Batch("e", 1, 2)}, .drain = {Batch("d", 1, 2)}}), 0u);
  EXPECT_THAT(stays["d0"], HasSubstr("goes as a whole"));
}

TEST_F(RemovalFuseTest, AGroupWhoseOccupiedNodesAreTooManyKeepsItsEmptyOnes) {
  EXPECT_EQ(Go({.empty = {Batch("e", 8, 16)}, .drain = {Batch("d", 8, 16)}}), 0u);
}

TEST_F(RemovalFuseTest, NothingGoesOnAStaleView) {
  writer.pods_on = [](const std::string&) { return std::vector<cluster::LivePod>{}; };
  EXPECT_EQ(Go({.empty = {Batch("e", 2)}, .drain = {Batch("d", 2)}}, true), 0u);
  EXPECT_THAT(stays, Contains(Pair("e0", HasSubstr("too old"))));
}

TEST_F(RemovalFuseTest, TurnedOffItAsksNobody) {
  options.deviations.fuses = false;
  writer.pods_on = [](const std::string&) { return std::vector<cluster::LivePod>{Pod("Job")}; };
  EXPECT_EQ(GoEmpty(40), 40u);
  EXPECT_THAT(stays, IsEmpty());
}

// Nodes e0 to e9 cannot be looked at and count; those after them are known to be empty.
std::function<Result<std::vector<cluster::LivePod>>(const std::string&)> EmptyFromTheTenth() {
  return [](const std::string& node) -> Result<std::vector<cluster::LivePod>> {
    if (node.size() < 3) return Unavailable("no answer");
    return std::vector<cluster::LivePod>{};
  };
}

TEST_F(RemovalFuseTest, AWholeGroupGoesIfThoseOfItThatCountAreAllowed) {
  writer.pods_on = EmptyFromTheTenth();
  EXPECT_EQ(GoEmpty(12, 12), 12u) << "ten count, and two are known to be empty";
  EXPECT_THAT(stays, IsEmpty());
  EXPECT_EQ(GoEmpty(12, 12), 0u) << "the ten are spent";
}

TEST_F(RemovalFuseTest, WhatIsKnownToBeEmptyGoesBesideMoreThanIsAllowed) {
  writer.pods_on = EmptyFromTheTenth();
  EXPECT_EQ(Drain(5), 5u);
  EXPECT_EQ(GoEmpty(12), 7u) << "five of the ten, and the two that are known to be empty";
}

TEST_F(RemovalFuseTest, ARemovalCountsToTheEndOfTheWindowAndThenTheLoopIsCalled) {
  EXPECT_EQ(Drain(10), 10u);
  Wakeups content(clock.Now());
  fuse.NoteDue(content);
  EXPECT_FALSE(content.earliest().has_value()) << "nothing was held back";
  const TimePoint end = clock.Now() + options.deviations.fuse_window;
  EXPECT_EQ(Drain(1), 0u);
  Wakeups held(clock.Now());
  fuse.NoteDue(held);
  ASSERT_TRUE(held.earliest().has_value());
  EXPECT_EQ(held.earliest()->at, end + Duration(1));
  clock.Advance(options.deviations.fuse_window);
  EXPECT_EQ(Drain(1), 0u);
  clock.Advance(Duration(1));
  EXPECT_EQ(Drain(1), 1u);
}

}  // namespace
}  // namespace coppice::autoscale
