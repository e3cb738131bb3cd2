#include "fit/find.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/rng.h"
#include "fit/fake_filters.h"
#include "test/support/must.h"

namespace coppice::fit {
namespace {

using cluster::NodeIndex;
using cluster::PodIndex;
using model::Verdict;

Verdict No() { return Verdict::No("Fake", model::VerdictCode::kUnschedulable, "no"); }

// A world of up to a few hundred nodes, in which `takes` says who takes a pod.
class FindTest : public testing::Test {
 protected:
  void AddNodes(int count) {
    for (int i = 0; i < count; ++i) {
      model::Node node;
      node.metadata.name = "n" + std::to_string(next_++);
      node.status.allocatable["pods"] = model::Quantity::FromUnits(3);
      MUST(snapshot.AddNode(node));
    }
  }

  Chain MakeChain(std::function<bool(NodeIndex)> takes, bool only_tightens = false,
                  bool whole_spec = false) {
    FilterRegistry registry("filter");
    AddFake<FakeStateFilter>(registry, "Fake", [=](const auto&, const auto&) {
      return Preparation::Ask(std::make_unique<FakeNodeCheck>(
          [takes](NodeIndex node) { return takes(node) ? Verdict::Yes() : No(); }, only_tightens,
          whole_spec));
    });
    SchedulerConfig config;
    config.chain = {{.name = "Fake"}};
    return MUST(Chain::Create(registry, config));
  }

  PodIndex AddPod(const std::string& job = "") {
    model::Pod pod;
    if (!job.empty()) pod.metadata.labels["job"] = job;
    pod.metadata.name = "p";
    return snapshot.AddPod(pod);
  }

  cluster::Snapshot snapshot;
  int next_ = 0;
};

TEST_F(FindTest, AnyNodeIsTheOneThatAskingOneByOneFindsFromEveryStart) {
  SeededRng rng(5);
  for (int round = 0; round < 40; ++round) {
    AddNodes(static_cast<int>(rng.Below(20)));
    // Holes in the indexes, and an order that is not that of the indexes.
    for (size_t removals = rng.Below(8); removals > 0 && !snapshot.nodes().empty(); --removals) {
      snapshot.RemoveNode(snapshot.nodes()[rng.Below(snapshot.nodes().size())]);
    }
    std::vector<bool> takes(snapshot.node_bound());
    NodeSet among(snapshot.node_bound());
    for (NodeIndex n = 0; n < snapshot.node_bound(); ++n) {
      takes[n] = rng.Chance(0.1);
      if (rng.Chance(0.5)) among.Add(n);
    }
    const Chain chain = MakeChain([&](NodeIndex n) { return takes[n]; });
    const PodIndex pod = AddPod();
    const Question question = chain.Ask(snapshot, pod);
    const auto nodes = snapshot.nodes();
    for (const NodeSet* subset :
         {static_cast<const NodeSet*>(nullptr), static_cast<const NodeSet*>(&among)}) {
      const NodeSet all = FindAll(question, snapshot, subset);
      for (size_t start = 0; start < nodes.size(); ++start) {
        Found expected;
        for (size_t i = 0; i < nodes.size() && !expected; ++i) {
          const size_t place = (start + i) % nodes.size();
          if (takes[nodes[place]] && (!subset || subset->Has(nodes[place]))) {
            expected = {.node = nodes[place], .place = place};
          }
        }
        const Found found = FindAny(question, snapshot, {.start = start, .among = subset});
        ASSERT_EQ(found.node, expected.node);
        ASSERT_EQ(found.place, expected.place);
        ASSERT_EQ(all.Has(nodes[start]),
                  takes[nodes[start]] && (!subset || subset->Has(nodes[start])));
      }
    }
    snapshot.RemovePod(pod);
  }
}

TEST_F(FindTest, HowManyTriesWhereNobodyCanTellAndLeavesNoTrace) {
  AddNodes(1);
  const Chain chain = MakeChain([&](NodeIndex n) { return snapshot.pods_on(n).size() < 3; });
  const PodIndex pod = AddPod();
  EXPECT_EQ(HowMany(chain, snapshot, pod, 0, 100), 3);
  EXPECT_EQ(HowMany(chain, snapshot, pod, 0, 2), 2);
  EXPECT_TRUE(snapshot.pods_on(0).empty());
  EXPECT_EQ(snapshot.pod_count(), 1u);
}

TEST_F(FindTest, PlacingRotates) {
  AddNodes(3);
  const Chain chain = MakeChain([](NodeIndex) { return true; });
  Placer placer(chain, snapshot);
  std::vector<NodeIndex> went;
  for (int i = 0; i < 4; ++i) went.push_back(placer.Place(AddPod()));
  EXPECT_THAT(went, testing::ElementsAre(0, 1, 2, 0));
}

TEST_F(FindTest, ANodeThatIsAddedWhenTheRotationIsAtItsEndComesFirst) {
  AddNodes(2);
  const Chain chain = MakeChain([](NodeIndex) { return true; });
  Placer placer(chain, snapshot);
  placer.Place(AddPod());
  placer.Place(AddPod());
  AddNodes(1);
  EXPECT_EQ(placer.Place(AddPod()), 2u);
}

TEST_F(FindTest, AKindOfPodThatFitsNowhereIsNotSearchedForAgainUntilSomethingIsFreed) {
  AddNodes(1);
  const Chain chain = MakeChain([&](NodeIndex n) { return snapshot.pods_on(n).empty(); }, true);
  Placer placer(chain, snapshot);
  const PodIndex first = AddPod();
  EXPECT_EQ(placer.Place(first), 0u);
  EXPECT_EQ(placer.Place(AddPod()), cluster::kNone);
  EXPECT_EQ(placer.Place(AddPod()), cluster::kNone);
  EXPECT_EQ(placer.searches(), 2u);
  snapshot.Unplace(first);
  EXPECT_EQ(placer.Place(AddPod()), 0u);
}

TEST_F(FindTest, OtherLabelsAreAnotherKindUnlessNobodyLooksAtThem) {
  AddNodes(1);
  for (const bool whole_spec : {false, true}) {
    const Chain chain = MakeChain([](NodeIndex) { return false; }, true, whole_spec);
    Placer placer(chain, snapshot);
    for (const char* job : {"a", "b", "a"}) placer.Place(AddPod(job));
    EXPECT_EQ(placer.searches(), whole_spec ? 1u : 2u);
  }
}

TEST_F(FindTest, WherePlacingCanOpenADoorEveryPodIsTried) {
  AddNodes(1);
  const Chain chain = MakeChain([](NodeIndex) { return false; }, false);
  Placer placer(chain, snapshot);
  placer.Place(AddPod());
  placer.Place(AddPod());
  EXPECT_EQ(placer.searches(), 2u);
}

}  // namespace
}  // namespace coppice::fit
