// Search, placer, estimator, limiter and equivalence with filters made of lambdas; the whole chain
// is tried in test/pack.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/fake_clock.h"
#include "fit/fake_filters.h"
#include "pack/estimator.h"
#include "pack/placer.h"
#include "test/support/must.h"

namespace coppice::pack {
namespace {

using cluster::kNone;
using cluster::NodeIndex;
using testing::ElementsAre;

model::Pod Owned(const std::string& name, const std::string& owner = "") {
  model::Pod pod;
  pod.metadata.name = name;
  pod.metadata.uid = name;
  pod.metadata.namespace_ = "default";
  if (!owner.empty()) {
    pod.metadata.owner_references = {
        {.kind = "ReplicaSet", .name = owner, .uid = owner, .controller = true}};
  }
  return pod;
}

cluster::PodPtr Shared(model::Pod pod) {
  return std::make_shared<const model::Pod>(std::move(pod));
}

model::Node Named(const std::string& name) {
  model::Node node;
  node.metadata.name = name;
  return node;
}

// Nodes n0, n1, ... that take `room` pods each, whatever the pods are.
class PackTest : public testing::Test {
 protected:
  PackTest() {
    fit::FilterRegistry registry("filter");
    fit::AddFake<fit::FakeStateFilter>(
        registry, "Room", [this](const cluster::PodView&, const cluster::Snapshot& s) {
          return fit::Preparation::Ask(
              std::make_unique<fit::FakeNodeCheck>([this, &s](NodeIndex n) {
                ++asked;
                return static_cast<int>(s.pods_on(n).size()) < room
                           ? model::Verdict::Yes()
                           : model::Verdict::No("Room", model::VerdictCode::kUnschedulable, "full");
              }));
        });
    chain_ = std::make_unique<fit::Chain>(
        MUST(fit::Chain::Create(registry, {.chain = {{.name = "Room"}}})));
    search = std::make_unique<Search>(snapshot, *chain_);
  }
  void AddNodes(int count) {
    for (int i = 0; i < count; ++i) MUST(snapshot.AddNode(Named("n" + std::to_string(i))));
  }
  PendingPod Add(model::Pod pod) {
    const cluster::PodPtr object = Shared(std::move(pod));
    return {object, snapshot.AddPod(*object)};
  }
  PodKind Kind(int count) {
    PodKind kind;
    for (int i = 0; i < count; ++i) kind.push_back(Add(Owned("p" + std::to_string(i), "rs")));
    return kind;
  }

  int room = 1;
  int asked = 0;
  cluster::Snapshot snapshot;
  std::unique_ptr<fit::Chain> chain_;
  std::unique_ptr<Search> search;
  FakeClock clock;
};

TEST_F(PackTest, TheSearchGoesOnBehindTheNodeThatWasFoundLast) {
  room = 5;
  AddNodes(3);
  std::vector<NodeIndex> found;
  for (int i = 0; i < 4; ++i) found.push_back(search->Find(Add(Owned("p")).index));
  EXPECT_THAT(found, ElementsAre(1, 2, 0, 1));
}

TEST_F(PackTest, NodesThatAreNotAcceptedKeepTheirPlaceInTheRotation) {
  room = 5;
  AddNodes(4);
  const std::vector<uint8_t> allowed = {1, 0, 1, 1};
  EXPECT_EQ(search->Find(Add(Owned("p")).index, {.allowed = &allowed}), 2u);
  EXPECT_EQ(search->Find(Add(Owned("p")).index, {.except = 3}), 0u);
  EXPECT_EQ(search->Find(Add(Owned("p")).index, {.from_position = 2}), 2u);
  EXPECT_EQ(search->Find(Add(Owned("p")).index, {.from_position = 4}), kNone);
}

TEST_F(PackTest, CordonedNodesArePassedOverThoughACheckSaysYes) {
  model::Node cordoned = Named("cordoned");
  cordoned.spec.unschedulable = true;
  const NodeIndex node = MUST(snapshot.AddNode(cordoned));
  const PendingPod pod = Add(Owned("p"));
  EXPECT_EQ(search->Find(pod.index), kNone);
  EXPECT_TRUE(search->Check(pod.index, node).yes());
}

TEST_F(PackTest, ThePlacerFollowsHintsAndForgetsThemAfterTwoRuns) {
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

TEST_F(PackTest, APodEqualToOneThatFailedIsNotSearchedFor) {
  room = 0;
  AddNodes(3);
  Placer placer(*search);
  const Placement placement = placer.Place(Kind(5), {});
  EXPECT_THAT(placement.placed, ElementsAre(0, 0, 0, 0, 0));
  EXPECT_EQ(asked, 3);  // one search
}

TEST_F(PackTest, StoppingAtTheFirstFailureLeavesLowerPrioritiesTheirChance) {
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

TEST_F(PackTest, AnEstimateFillsOneNodeAfterTheOtherAndLeavesNoTrace) {
  room = 4;
  AddNodes(2);
  const PodKind kind = Kind(10);
  Estimator estimator(*search, clock);
  const Estimate estimate = estimator.Run({&kind}, {Named("template"), {}}, {.group_free = 100});
  EXPECT_EQ(estimate.nodes, 3);
  EXPECT_EQ(estimate.pods.size(), 10u);
  EXPECT_THAT(estimate.pods_per_node, testing::UnorderedElementsAre(4, 4, 2));
  EXPECT_EQ(snapshot.nodes().size(), 2u);
}

TEST_F(PackTest, AnEstimateStopsAtItsLimit) {
  room = 4;
  const PodKind kind = Kind(10);
  Estimator estimator(*search, clock);
  const NodeTemplate node_template{Named("template"), {}};
  EXPECT_EQ(estimator.Run({&kind}, node_template, {.max_nodes = 2, .group_free = 9}).nodes, 2);
  EXPECT_EQ(estimator.Run({&kind}, node_template, {.group_free = 0}).nodes, 0);
  room = 0;  // a fresh node takes nobody: one is tried, none is counted
  EXPECT_EQ(estimator.Run({&kind}, node_template, {.group_free = 9}).nodes, 0);
}

TEST(LimiterTest, TheTightestLimitHoldsAndNoneBeatsAll) {
  FakeClock clock;
  const auto allowed = [&](EstimateLimits limits) {
    Limiter limiter(limits, clock);
    int nodes = 0;
    while (nodes < 50 && limiter.MayAddNode()) ++nodes;
    return nodes;
  };
  EXPECT_EQ(allowed({.group_free = 7}), 7);
  EXPECT_EQ(allowed({.max_nodes = 3, .group_free = 7}), 3);
  EXPECT_EQ(allowed({.group_free = 7, .max_nodes_total = 10, .current_nodes = 8}), 2);
  EXPECT_EQ(allowed({.group_free = 7, .max_nodes_total = 10, .current_nodes = 10}), 0);
  EXPECT_EQ(allowed({.max_nodes = 3, .group_free = 0}), 0);
}

TEST(LimiterTest, TimeEndsAnEstimate) {
  FakeClock clock;
  Limiter limiter({.max_duration = std::chrono::seconds(1), .group_free = 9}, clock);
  EXPECT_TRUE(limiter.MayAddNode());
  clock.Advance(std::chrono::seconds(2));
  EXPECT_FALSE(limiter.MayAddNode());
}

std::vector<size_t> Sizes(const std::vector<cluster::PodPtr>& pods) {
  std::vector<PendingPod> pending;
  for (const auto& pod : pods) pending.push_back({pod, 0});
  std::vector<size_t> sizes;
  for (const auto& group : GroupEquivalent(pending)) sizes.push_back(group.size());
  return sizes;
}

TEST(EquivalenceTest, OnlyPodsOfOneControllerAreGrouped) {
  EXPECT_THAT(Sizes({Shared(Owned("a", "x")), Shared(Owned("b", "y")), Shared(Owned("c", "x")),
                     Shared(Owned("d")), Shared(Owned("e"))}),
              ElementsAre(2, 1, 1, 1));
}

TEST(EquivalenceTest, OnlyTheFirstTenKindsOfAControllerAreCompared) {
  std::vector<cluster::PodPtr> pods;
  for (int i = 0; i < 12; ++i) {
    for (int k = 0; k < 2; ++k) {
      model::Pod pod = Owned("p", "rs");
      pod.metadata.labels["kind"] = std::to_string(i);
      pods.push_back(Shared(pod));
    }
  }
  EXPECT_THAT(Sizes(pods), ElementsAre(2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 1, 1, 1, 1));
}

TEST(EquivalenceTest, ProjectedVolumesDoNotMatterOthersDo) {
  model::Pod a = Owned("a", "rs");
  model::Pod b = Owned("b", "rs");
  model::Volume token;
  token.name = "token-a";
  token.projected = true;
  a.spec.volumes.push_back(token);
  token.name = "token-b";
  b.spec.volumes.push_back(token);
  EXPECT_TRUE(SameForScheduling(a, b));
  model::Volume data;
  data.name = "data";
  data.claim_name = "claim-b";
  b.spec.volumes.push_back(data);
  EXPECT_FALSE(SameForScheduling(a, b));
}

}  // namespace
}  // namespace coppice::pack
