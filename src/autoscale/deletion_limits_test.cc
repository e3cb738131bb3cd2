#include "autoscale/deletion_limits.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace coppice::autoscale {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::vector<RemovableNode> Nodes(const std::string& group, int count) {
  std::vector<RemovableNode> nodes;
  for (int i = 0; i < count; ++i)
    nodes.push_back({.node = group + std::to_string(i + 1), .group = group});
  return nodes;
}

std::vector<RemovableNode> Both(std::vector<RemovableNode> a, std::vector<RemovableNode> b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

// "a:2" for two nodes of group a, "z:3!" for a group that goes whole with three.
std::vector<std::string> Print(const std::vector<DeletionBatch>& batches) {
  std::vector<std::string> all;
  for (const DeletionBatch& batch : batches) {
    all.push_back(batch.group + ":" + std::to_string(batch.nodes.size()) +
                  (batch.whole_group > 0 ? "!" : ""));
  }
  return all;
}

class DeletionLimitsTest : public testing::Test {
 protected:
  CroppedDeletions Crop(NodesToDelete nodes, DeletionsInProgress deleting = {}) {
    return CropToLimits(nodes, deleting, options, [this](std::string_view group) {
      const auto facts = groups.find(group);
      return facts == groups.end() ? GroupFacts{.target = 100, .registered = 100} : facts->second;
    });
  }

  Options options;  // ten at once, one of them drained
  std::map<std::string, GroupFacts, std::less<>> groups;
};

TEST_F(DeletionLimitsTest, EmptyNodesFillTheLimitGroupByGroup) {
  const auto cropped = Crop({.empty = Both(Nodes("a", 7), Nodes("b", 7)), .drain = {}});
  EXPECT_THAT(Print(cropped.empty), ElementsAre("a:7", "b:3"));
  EXPECT_THAT(cropped.drain, IsEmpty());
}

TEST_F(DeletionLimitsTest, DrainsHaveALimitOfTheirOwnWithinTheWhole) {
  options.max_drain_parallelism = 3;
  EXPECT_THAT(Print(Crop({.empty = Nodes("a", 4), .drain = Nodes("b", 9)}).drain),
              ElementsAre("b:3"));
  EXPECT_THAT(Print(Crop({.empty = Nodes("a", 9), .drain = Nodes("b", 9)}).drain),
              ElementsAre("b:1"));
  EXPECT_THAT(Crop({.empty = Nodes("a", 10), .drain = Nodes("b", 9)}).drain, IsEmpty());
}

TEST_F(DeletionLimitsTest, WhatIsUnderWayIsSpent) {
  DeletionsInProgress deleting;
  deleting.empty = {"x1", "x2", "x3", "x4", "x5", "x6", "x7"};
  deleting.drained = {"y1"};
  const auto cropped = Crop({.empty = Nodes("a", 5), .drain = Nodes("b", 1)}, deleting);
  EXPECT_THAT(Print(cropped.empty), ElementsAre("a:2"));
  EXPECT_THAT(cropped.drain, IsEmpty());
}

TEST_F(DeletionLimitsTest, AnAllOrNothingGroupGoesWholeAndFirst) {
  groups["z"] = {.all_or_nothing = true, .target = 4, .registered = 4};
  const auto cropped = Crop({.empty = Both(Nodes("a", 9), Nodes("z", 4)), .drain = {}});
  EXPECT_THAT(Print(cropped.empty), ElementsAre("z:4!", "a:6"));
}

TEST_F(DeletionLimitsTest, APartOfAnAllOrNothingGroupDoesNotGo) {
  groups["z"] = {.all_or_nothing = true, .target = 4, .registered = 4};
  EXPECT_THAT(Crop({.empty = Nodes("z", 3), .drain = {}}).empty, IsEmpty());
}

TEST_F(DeletionLimitsTest, OneAllOrNothingGroupMayBeLargerThanTheLimit) {
  groups["y"] = {.all_or_nothing = true, .target = 20, .registered = 20};
  groups["z"] = {.all_or_nothing = true, .target = 20, .registered = 20};
  const auto cropped = Crop({.empty = Both(Nodes("y", 20), Nodes("z", 20)), .drain = {}});
  EXPECT_THAT(Print(cropped.empty), ElementsAre("y:20!"));
}

TEST_F(DeletionLimitsTest, ItsEmptyAndItsOccupiedNodesGoTogether) {
  options.max_drain_parallelism = 5;
  groups["z"] = {.all_or_nothing = true, .target = 4, .registered = 4};
  const auto cropped = Crop({.empty = Nodes("z", 2), .drain = Nodes("z", 2)});
  EXPECT_THAT(Print(cropped.empty), ElementsAre("z:2!"));
  EXPECT_THAT(Print(cropped.drain), ElementsAre("z:2!"));
  EXPECT_EQ(cropped.drain[0].whole_group, 4);
}

TEST_F(DeletionLimitsTest, WhatCountsAsWholeIsWhatHasRegisteredOrWhatIsWanted) {
  groups["y"] = {.all_or_nothing = true, .target = 5, .registered = 4};
  const auto registered = Crop({.empty = Nodes("y", 4), .drain = {}});
  ASSERT_THAT(Print(registered.empty), ElementsAre("y:4!"));
  EXPECT_EQ(registered.empty[0].whole_group, 4);
  groups["z"] = {.all_or_nothing = true, .target = 3, .registered = 5};
  const auto wanted = Crop({.empty = Nodes("z", 3), .drain = {}});
  ASSERT_THAT(Print(wanted.empty), ElementsAre("z:3!"));
  EXPECT_EQ(wanted.empty[0].whole_group, 3);
}

TEST_F(DeletionLimitsTest, WholeGroupsFillTheLimitsToTheLast) {
  groups["y"] = {.all_or_nothing = true, .target = 6, .registered = 6};
  groups["z"] = {.all_or_nothing = true, .target = 4, .registered = 4};
  EXPECT_THAT(Print(Crop({.empty = Both(Nodes("y", 6), Nodes("z", 4)), .drain = {}}).empty),
              ElementsAre("y:6!", "z:4!"));
  // One drain is allowed: y takes it, and z needs none.
  EXPECT_THAT(
      Print(Crop({.empty = Both(Nodes("y", 5), Nodes("z", 4)), .drain = Nodes("y", 1)}).empty),
      ElementsAre("y:5!", "z:4!"));
  options.max_drain_parallelism = 2;
  EXPECT_THAT(Print(Crop({.empty = Both(Nodes("y", 5), Nodes("z", 3)),
                          .drain = Both(Nodes("y", 1), Nodes("z", 1))})
                        .empty),
              ElementsAre("y:5!", "z:3!"));
}

TEST_F(DeletionLimitsTest, AGroupLargerThanTheLimitNeedsAtLeastOnePlace) {
  groups["z"] = {.all_or_nothing = true, .target = 4, .registered = 4};
  DeletionsInProgress deleting;
  deleting.empty = {"1", "2", "3", "4", "5", "6", "7", "8", "9"};
  EXPECT_THAT(Print(Crop({.empty = Nodes("z", 4), .drain = {}}, deleting).empty),
              ElementsAre("z:4!"));
  deleting.empty.push_back("10");
  EXPECT_THAT(Crop({.empty = Nodes("z", 4), .drain = {}}, deleting).empty, IsEmpty());
}

TEST_F(DeletionLimitsTest, AGroupWithMoreDrainsThanAllowedNeedsAtLeastOneOfThem) {
  groups["z"] = {.all_or_nothing = true, .target = 4, .registered = 4};
  const NodesToDelete half{.empty = Nodes("z", 2), .drain = Nodes("z", 2)};
  EXPECT_THAT(Print(Crop(half).drain), ElementsAre("z:2!"));
  DeletionsInProgress deleting;
  deleting.drained = {"x"};
  EXPECT_THAT(Crop(half, deleting).empty, IsEmpty());
  EXPECT_THAT(Crop({.empty = Nodes("z", 3), .drain = Nodes("z", 1)}, deleting).empty, IsEmpty());
  // Whoever drains nothing does not ask for one.
  groups["z"] = {.all_or_nothing = true, .target = 20, .registered = 20};
  EXPECT_THAT(Print(Crop({.empty = Nodes("z", 20), .drain = {}}, deleting).empty),
              ElementsAre("z:20!"));
}

TEST_F(DeletionLimitsTest, AGroupWithoutEmptyNodesIsDrainedWhole) {
  options.max_drain_parallelism = 4;
  groups["y"] = {.all_or_nothing = true, .target = 2, .registered = 2};
  groups["z"] = {.all_or_nothing = true, .target = 2, .registered = 2};
  EXPECT_THAT(Print(Crop({.empty = {}, .drain = Both(Nodes("y", 2), Nodes("z", 2))}).drain),
              ElementsAre("y:2!", "z:2!"));
  EXPECT_THAT(Crop({.empty = {}, .drain = Nodes("z", 1)}).drain, IsEmpty());
}

TEST_F(DeletionLimitsTest, OneDrainedGroupMayBeLargerThanTheLimitIfThereIsAny) {
  options.max_drain_parallelism = 2;
  groups["y"] = {.all_or_nothing = true, .target = 5, .registered = 5};
  groups["z"] = {.all_or_nothing = true, .target = 5, .registered = 5};
  const NodesToDelete both{.empty = {}, .drain = Both(Nodes("y", 5), Nodes("z", 5))};
  EXPECT_THAT(Print(Crop(both).drain), ElementsAre("y:5!"));
  DeletionsInProgress deleting;
  deleting.drained = {"x"};
  EXPECT_THAT(Print(Crop(both, deleting).drain), ElementsAre("y:5!"));
  deleting.drained.push_back("w");
  EXPECT_THAT(Crop(both, deleting).drain, IsEmpty());
}

}  // namespace
}  // namespace coppice::autoscale
