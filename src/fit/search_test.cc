#include "fit/search.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/rng.h"
#include "fit/room_rig.h"

namespace coppice::fit {
namespace {

using cluster::kNone;
using cluster::NodeIndex;
using cluster::PodIndex;
using testing::ElementsAre;

class SearchTest : public RoomRig {
 protected:
  // One filter, which takes pods where `takes` says so; refusals that are of the node's own account
  // are remembered.
  Chain Taking(std::function<bool(NodeIndex)> takes, bool own_node_only) {
    FilterRegistry registry("filter");
    AddFake<FakeStateFilter>(registry, "Fake", [=](const auto&, const auto&) {
      return Preparation::Ask(std::make_unique<FakeNodeCheck>(
          [takes](NodeIndex node) {
            return takes(node)
                       ? model::Verdict::Yes()
                       : model::Verdict::No("Fake", model::VerdictCode::kUnschedulable, "no");
          },
          own_node_only));
    });
    SchedulerConfig config;
    config.chain = {{.name = "Fake"}};
    return MUST(Chain::Create(registry, config));
  }
  void AddOrRemoveNodes(Rng& rng) {
    for (size_t more = rng.Below(20); more > 0; --more) {
      model::Node node = Named("m" + std::to_string(++made_));
      node.spec.unschedulable = rng.Chance(0.1);
      MUST(snapshot.AddNode(node));
    }
    for (size_t removals = rng.Below(8); removals > 0 && !snapshot.nodes().empty(); --removals) {
      snapshot.RemoveNode(snapshot.nodes()[rng.Below(snapshot.nodes().size())]);
    }
  }

 private:
  int made_ = 0;
};

TEST_F(SearchTest, TheSearchGoesOnBehindTheNodeThatWasFoundLast) {
  room = 5;
  AddNodes(3);
  std::vector<NodeIndex> found;
  for (int i = 0; i < 4; ++i) found.push_back(search->Find(Add(Owned("p")).index));
  EXPECT_THAT(found, ElementsAre(1, 2, 0, 1));
}

TEST_F(SearchTest, NodesThatAreNotAcceptedKeepTheirPlaceInTheRotation) {
  room = 5;
  AddNodes(4);
  const std::vector<uint8_t> allowed = {1, 0, 1, 1};
  EXPECT_EQ(search->Find(Add(Owned("p")).index, {.allowed = &allowed}), 2u);
  EXPECT_EQ(search->Find(Add(Owned("p")).index, {.except = 3}), 0u);
  EXPECT_EQ(search->Find(Add(Owned("p")).index, {.from_position = 2}), 2u);
  EXPECT_EQ(search->Find(Add(Owned("p")).index, {.from_position = 4}), kNone);
}

TEST_F(SearchTest, CordonedNodesArePassedOverThoughACheckSaysYes) {
  model::Node cordoned = Named("cordoned");
  cordoned.spec.unschedulable = true;
  const NodeIndex node = MUST(snapshot.AddNode(cordoned));
  const PendingPod pod = Add(Owned("p"));
  EXPECT_EQ(search->Find(pod.index), kNone);
  EXPECT_TRUE(search->Check(pod.index, node).yes());
}

TEST_F(SearchTest, CordonedNodesAreTakenIfAskedForAndPassedOverAgainByTheNextWhoDoesNot) {
  model::Node cordoned = Named("cordoned");
  cordoned.spec.unschedulable = true;
  const NodeIndex node = MUST(snapshot.AddNode(cordoned));
  const PodIndex pod = Add(Owned("p")).index;
  EXPECT_EQ(search->Find(pod), kNone);
  EXPECT_EQ(search->Find(pod, {.cordoned = true}), node);
  EXPECT_TRUE(search->FindAll(pod, {.cordoned = true}).Has(node));
  EXPECT_EQ(search->FindAll(pod).size(), 0u);
}

TEST_F(SearchTest, ANodeThatIsAddedWhenTheRotationIsAtItsEndComesFirst) {
  room = 5;
  AddNodes(2);
  search->Find(Add(Owned("a")).index);
  MUST(snapshot.AddNode(Named("late")));
  EXPECT_EQ(search->Find(Add(Owned("b")).index), 2u);
}

// What asking node by node finds, from every start, with holes in the indexes and in the order.
TEST_F(SearchTest, AnyAndAllAreWhatAskingOneByOneFinds) {
  SeededRng rng(5);
  for (int round = 0; round < 60; ++round) {
    AddOrRemoveNodes(rng);
    const auto nodes = snapshot.nodes();
    std::vector<uint8_t> takes(snapshot.node_bound());
    std::vector<uint8_t> allowed(snapshot.node_bound());
    for (NodeIndex n = 0; n < snapshot.node_bound(); ++n) {
      takes[n] = rng.Chance(0.1);
      allowed[n] = rng.Chance(0.5);
    }
    const Chain chain = Taking([&](NodeIndex n) { return takes[n] != 0; }, round % 2 == 0);
    const PodIndex pod = Add(Owned("p" + std::to_string(round))).index;
    for (const Accept& accept :
         {Accept{}, Accept{.allowed = &allowed}, Accept{.allowed = &allowed, .cordoned = true},
          Accept{.from_position = nodes.size() / 2, .cordoned = true}}) {
      const auto wanted = [&](size_t at) {
        return at >= accept.from_position && Accepts(accept, nodes[at]) && takes[nodes[at]] != 0 &&
               (accept.cordoned || !snapshot.node_shape(nodes[at]).unschedulable);
      };
      Search tried(snapshot, chain);  // remembers from start to start
      for (size_t start = accept.from_position; start < nodes.size(); ++start) {
        NodeIndex expected = kNone;
        for (size_t i = 0; i < nodes.size() && expected == kNone; ++i) {
          const size_t at = (start + i) % nodes.size();
          if (wanted(at)) expected = nodes[at];
        }
        tried.MoveTo(start + nodes.size() - 1);
        ASSERT_EQ(tried.Find(pod, accept), expected) << "round " << round << " start " << start;
      }
      const NodeSet all = tried.FindAll(pod, accept);
      for (size_t at = 0; at < nodes.size(); ++at)
        ASSERT_EQ(all.Has(nodes[at]), wanted(at)) << "round " << round;
    }
  }
}

}  // namespace
}  // namespace coppice::fit
