#include "fit/placer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fit/room_rig.h"

namespace coppice::fit {
namespace {

using cluster::NodeIndex;
using testing::ElementsAre;

using PlacerTest = RoomRig;

TEST_F(PlacerTest, ThePlacerFollowsHintsAndForgetsThemAfterTwoRuns) {
  room = 9;
  AddNodes(4);
  Placer placer(*search);
  const PendingPod pod = Add(Owned("p", "rs"));
  const auto run = [&] {
    const auto fork = snapshot.Fork();
    EXPECT_TRUE(placer.Place({pod}, {}).all());
    const NodeIndex node = snapshot.node_of(pod.index);
    placer.NextRun();
    return node;
  };
  EXPECT_EQ(run(), 1u);
  EXPECT_EQ(run(), 1u);  // by its hint
  placer.NextRun();      // used by nobody for a whole run
  EXPECT_EQ(run(), 2u);
}

TEST_F(PlacerTest, APodEqualToOneThatFailedIsNotSearchedFor) {
  room = 0;
  AddNodes(3);
  Placer placer(*search);
  const Placement placement = placer.Place(Kind(5), {});
  EXPECT_THAT(placement.placed, ElementsAre(0, 0, 0, 0, 0));
  EXPECT_EQ(asked, 3);  // one search
}

TEST_F(PlacerTest, StoppingAtTheFirstFailureLeavesLowerPrioritiesTheirChance) {
  room = 1;
  AddNodes(1);
  std::vector<PendingPod> pods;
  for (const int priority : {5, 5, 5, 1}) {
    model::Pod pod = Owned("p" + std::to_string(pods.size()));
    pod.spec.priority = priority;
    pods.push_back(Add(pod));
  }
  Placer placer(*search);
  EXPECT_THAT(placer.Place(pods, {.stop_at_first_failure = true}).placed, ElementsAre(1, 0, 0, 0));
  int questions = 0;
  const Placement late =
      placer.Place({pods[1], pods[3]}, {.out_of_time = [&] { return ++questions > 0; }});
  EXPECT_THAT(late.unprocessed, ElementsAre(1, 1));
}

}  // namespace
}  // namespace coppice::fit
