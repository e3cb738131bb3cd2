// Sessions on a network: gangs within racks, close to each other, or not at all.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <set>

#include "test/batch/session_world.h"
#include "test/support/hyper_node_objects.h"

namespace coppice {
namespace {

using batch::HyperNodeObject;
using test::ARack;
using test::ASpine;
using test::SessionWorld;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

constexpr std::string_view kOnNetwork = R"(actions: "allocate"
tiers:
- plugins:
  - name: gang
  - name: predicates
  - name: network-topology-aware
)";

// Nodes n0 to n7 of four cores, four to a rack: r0 and r1, both under s.
class TopologyWorld : public SessionWorld {
 public:
  explicit TopologyWorld(const std::string& cpu = "4") {
    Queue("default");
    for (int i = 0; i < 8; ++i) Node("n" + std::to_string(i), cpu);
    network = {ARack("r0", 1, {"n0", "n1", "n2", "n3"}), ARack("r1", 1, {"n4", "n5", "n6", "n7"}),
               ASpine("s", 2, {"r0", "r1"})};
  }
  model::PodGroup& Gang(const std::string& name, int size, const std::string& mode, int64_t tier,
                        const std::string& cpu = "4") {
    for (int i = 0; i < size; ++i) Add(Pod(name + "-" + std::to_string(i), name, cpu));
    model::PodGroup& group = Group(name, size);
    group.spec.network_topology = {.mode = mode, .highest_tier_allowed = tier};
    return group;
  }
  batch::Outcome RunIt(std::string_view conf = kOnNetwork) {
    std::vector<std::shared_ptr<const model::Node>> nodes;
    for (const auto& node : input.nodes) nodes.push_back(node.object);
    input.hyper_nodes = std::make_shared<const batch::HyperNodeTree>(network, nodes);
    return Run(conf);
  }

  std::vector<HyperNodeObject> network;
};

std::set<std::string> BoundTo(const batch::Outcome& outcome, const std::string& prefix = "") {
  std::set<std::string> nodes;
  for (const auto& bind : outcome.binds) {
    if (bind.pod.name.starts_with(prefix)) nodes.insert(bind.node);
  }
  return nodes;
}
std::string WhyUnschedulable(const batch::Outcome& outcome, const std::string& group = "gang") {
  for (const auto& event : outcome.events) {
    if (event.reason == "Unschedulable" && event.name == group) return event.message;
  }
  return "";
}
const batch::Outcome::GroupStatus& GroupStatusOf(const batch::Outcome& outcome,
                                                 const std::string& group) {
  return *std::ranges::find(outcome.groups, group, &batch::Outcome::GroupStatus::name);
}

TEST(Topology, AGangThatFitsIntoARackIsPutIntoOne) {
  TopologyWorld world;
  world.Gang("gang", 4, "hard", 1);
  const auto outcome = world.RunIt();
  EXPECT_THAT(BoundTo(outcome), ElementsAre("n0", "n1", "n2", "n3"));
  EXPECT_EQ(GroupStatusOf(outcome, "gang").hyper_node, "r0");
}

TEST(Topology, AGangOfEightAcrossTwoRacksOfFour) {
  struct Case {
    std::string name;
    std::string mode;
    int64_t tier;
    size_t bound;
    std::optional<std::string> noted;
  };
  for (const Case& c : std::vector<Case>{{"HardInARack", "hard", 1, 0, std::nullopt},
                                         {"HardUnderTheSpine", "hard", 2, 8, "s"},
                                         {"HardAnywhere", "hard", 3, 8, "s"},
                                         {"Soft", "soft", 1, 8, "s"}}) {
    TopologyWorld world;
    world.Gang("gang", 8, c.mode, c.tier);
    const auto outcome = world.RunIt();
    EXPECT_THAT(outcome.binds, SizeIs(c.bound)) << c.name;
    EXPECT_EQ(GroupStatusOf(outcome, "gang").hyper_node, c.noted) << c.name;
  }
}

// Tier by tier what could hold it: r0 is taken in part.
TEST(Topology, TheLowestTierWithRoomIsTaken) {
  TopologyWorld world;
  world.Add(world.Pod("other", "", "4", "n1"));
  world.Gang("gang", 4, "hard", 2);
  EXPECT_THAT(BoundTo(world.RunIt()), ElementsAre("n4", "n5", "n6", "n7"));
}

TEST(Topology, ASoftWishIsFollowedWhereItCanBe) {
  TopologyWorld world;
  world.Add(world.Pod("other", "", "4", "n1"));
  world.Gang("gang", 4, "soft", 1);
  EXPECT_THAT(BoundTo(world.RunIt()), ElementsAre("n4", "n5", "n6", "n7"));
}

TEST(Topology, AmongRacksWithRoomTheFullerIsTaken) {
  TopologyWorld world;
  world.Add(world.Pod("other", "", "2", "n4"));
  world.Gang("gang", 2, "hard", 1, "2");
  for (const std::string& node : BoundTo(world.RunIt())) EXPECT_GE(node, "n4");
}

// Six of eight cores are free in each rack: by the sums either would do for three of four, by the
// nodes only the one where they are together.
TEST(Topology, WhatFitsInSumAndNotInFactIsTriedAndTakenBack) {
  TopologyWorld world;
  for (int i = 0; i < 4; ++i)
    world.Add(world.Pod("half-" + std::to_string(i), "", "2", "n" + std::to_string(i)));
  world.Gang("gang", 2, "hard", 1);
  EXPECT_THAT(BoundTo(world.RunIt()), ElementsAre("n4", "n5"));
}

// Six would like to run, four have to: a rack takes four.
TEST(Topology, AGangThatCanStartInPartDoes) {
  TopologyWorld world;
  world.Gang("gang", 6, "hard", 1).spec.min_member = 4;
  const auto outcome = world.RunIt();
  EXPECT_THAT(outcome.binds, SizeIs(4));
  EXPECT_EQ(GroupStatusOf(outcome, "gang").hyper_node, "r0");
}

TEST(Topology, TwoGangsDoNotShareWhatIsThereOnce) {
  TopologyWorld world;
  world.Gang("a", 3, "hard", 1);
  world.Gang("b", 3, "hard", 1);
  world.Gang("c", 3, "hard", 1);
  const auto outcome = world.RunIt();
  EXPECT_THAT(outcome.binds, SizeIs(6));
  EXPECT_NE(GroupStatusOf(outcome, "a").hyper_node, GroupStatusOf(outcome, "b").hyper_node);
  EXPECT_EQ(GroupStatusOf(outcome, "c").hyper_node, std::nullopt);
  EXPECT_THAT(WhyUnschedulable(outcome, "c"),
              HasSubstr("no HyperNode of tier 1 or below has room"));
}

// A gang that grows stays where it is, whatever other place would do.
TEST(Topology, WhatRunsKeepsTheRestWithIt) {
  TopologyWorld world;
  world.Group("gang", 2).spec.network_topology = {.mode = "hard", .highest_tier_allowed = 1};
  world.Add(world.Pod("gang-0", "gang", "4", "n6"));
  world.Add(world.Pod("gang-1", "gang", "4", "n7"));
  for (int i = 2; i < 5; ++i) world.Add(world.Pod("gang-" + std::to_string(i), "gang", "4"));
  const auto outcome = world.RunIt();
  EXPECT_THAT(BoundTo(outcome), ElementsAre("n4", "n5")) << "there is no third one in that rack";
  EXPECT_EQ(GroupStatusOf(outcome, "gang").hyper_node, "r1");
}

// Four of it fill a rack, a fifth waits. As upstream in all of these.
TEST(Topology, OneMoreOfAGangThatFillsItsRack) {
  struct Case {
    std::string name;
    std::string mode;
    int64_t tier;
    bool spine;
    size_t bound;
  };
  for (const Case& c : std::vector<Case>{{"NotBeyondTheRack", "hard", 1, true, 0},
                                         {"UnderTheSpine", "hard", 2, true, 1},
                                         {"TheClusterIsTheNextTier", "hard", 2, false, 1},
                                         {"NoTierAboveTheRacks", "hard", 1, false, 0},
                                         {"AWish", "soft", 1, true, 1},
                                         {"AWishWithoutASpine", "soft", 1, false, 1}}) {
    for (const bool exact : {false, true}) {
      for (const int32_t min_member : {1, 5}) {
        TopologyWorld world;
        world.options.upstream_exact = exact;
        if (!c.spine) world.network.pop_back();
        world.Group("gang", min_member).spec.network_topology = {.mode = c.mode,
                                                                 .highest_tier_allowed = c.tier};
        for (int i = 0; i < 5; ++i) {
          const std::string number = std::to_string(i);
          world.Add(world.Pod("gang-" + number, "gang", "4", i < 4 ? "n" + number : ""));
        }
        EXPECT_THAT(world.RunIt().binds, SizeIs(c.bound))
            << c.name << (exact ? ", exact, " : ", ") << min_member;
      }
    }
  }
}

TEST(Topology, TasksOfASoftGangGoNextToThoseThatRun) {
  TopologyWorld world("8");
  world.Group("gang", 1).spec.network_topology = {.mode = "soft"};
  world.Add(world.Pod("gang-0", "gang", "8", "n5"));
  world.Add(world.Pod("gang-1", "gang", "8"));
  const auto nodes = BoundTo(world.RunIt());
  ASSERT_THAT(nodes, SizeIs(1));
  EXPECT_GE(*nodes.begin(), "n4");
}

// What is noted on the group counts as long as it holds what runs.
TEST(Topology, TheNoteIsBelievedAsFarAsItIsTrue) {
  struct Case {
    std::string noted;
    std::optional<std::string> written;
  };
  for (const Case& c : std::vector<Case>{{"s", std::nullopt},
                                         {"r1", std::nullopt},
                                         {"r0", "r1"},
                                         {"gone", "r1"},
                                         {"<cluster-top-hypernode>", "r1"}}) {
    TopologyWorld world;
    model::PodGroup& group = world.Group("gang", 1);
    group.spec.network_topology = {.mode = "hard", .highest_tier_allowed = 2};
    group.metadata.annotations["volcano.sh/job-allocated-hypernode"] = c.noted;
    world.Add(world.Pod("gang-0", "gang", "4", "n6"));
    EXPECT_EQ(GroupStatusOf(world.RunIt(), "gang").hyper_node, c.written) << c.noted;
  }
}

TEST(Topology, ANoteOfAGangThatHasGoneIsTakenBack) {
  TopologyWorld world;
  model::PodGroup& group = world.Group("gang", 1);
  group.metadata.annotations["volcano.sh/job-allocated-hypernode"] = "r0";
  EXPECT_EQ(GroupStatusOf(world.RunIt(), "gang").hyper_node, "");
}

TEST(Topology, WhoCannotBeHelpedIsToldWhy) {
  struct Case {
    std::string name;
    std::function<void(TopologyWorld&)> change;
    std::string_view conf;
    std::string why;
  };
  constexpr std::string_view kBare =
      "actions: \"allocate\"\ntiers:\n- plugins:\n  - name: gang\n  - name: predicates\n";
  const auto nothing = [](TopologyWorld&) {};
  const auto named = [](TopologyWorld& world) {
    world.input.groups.front().spec.network_topology = {.mode = "hard",
                                                        .highest_tier_name = "hall"};
  };
  const auto bare = [](TopologyWorld& world) { world.network.clear(); };
  for (const Case& c : std::vector<Case>{
           {"NoNetwork", bare, kOnNetwork, "there are no HyperNodes"},
           {"NobodyKnows", nothing, kBare, "network-topology-aware does"},
           {"NoSuchTier", named, kOnNetwork, "no tier of the network is called hall"}}) {
    TopologyWorld world;
    world.Gang("gang", 2, "hard", 1);
    c.change(world);
    const auto outcome = world.RunIt(c.conf);
    EXPECT_THAT(outcome.binds, IsEmpty()) << c.name;
    EXPECT_THAT(WhyUnschedulable(outcome), HasSubstr(c.why)) << c.name;
  }
}

TEST(Topology, AWishWithoutANetworkIsNoHindrance) {
  TopologyWorld world;
  world.Gang("gang", 8, "soft", 1);
  world.network.clear();
  EXPECT_THAT(world.RunIt().binds, SizeIs(8));
}

TEST(Topology, AsUpstreamAGangIsPlacedThoughNobodyKnowsTheNetwork) {
  TopologyWorld world;
  world.Gang("gang", 8, "hard", 1);
  world.network.clear();
  world.options.upstream_exact = true;
  EXPECT_THAT(world.RunIt().binds, SizeIs(8));
}

TEST(Topology, TierNamesDoAsWellAsNumbers) {
  TopologyWorld world;
  for (auto& object : world.network) {
    auto named = std::make_shared<model::HyperNode>(*object);
    named->spec.tier_name = named->spec.tier == 1 ? "rack" : "row";
    object = named;
  }
  world.Gang("gang", 4, "hard", 1);
  world.input.groups.back().spec.network_topology = {.mode = "hard", .highest_tier_name = "rack"};
  EXPECT_EQ(GroupStatusOf(world.RunIt(), "gang").hyper_node, "r0");
}

// ---- Sub-groups: each within a rack, the job within the spine.

class PartsTest : public testing::Test {
 protected:
  void Parts(int parts, int size, int64_t tier_of_job, std::optional<model::NetworkTopology> own) {
    model::PodGroup& group = world_.Group("gang", parts * size);
    if (tier_of_job > 0)
      group.spec.network_topology = {.mode = "hard", .highest_tier_allowed = tier_of_job};
    group.spec.sub_group_policy.push_back({.name = "w",
                                           .network_topology = std::move(own),
                                           .sub_group_size = size,
                                           .min_sub_groups = parts,
                                           .match_label_keys = {"part"}});
    for (int part = 0; part < parts; ++part) {
      for (int i = 0; i < size; ++i) {
        auto pod = world_.Pod("p" + std::to_string(part) + "-" + std::to_string(i), "gang", "4");
        pod.metadata.labels["part"] = std::to_string(part);
        world_.Add(std::move(pod));
      }
    }
  }
  static model::NetworkTopology Hard(int64_t tier) {
    return {.mode = "hard", .highest_tier_allowed = tier};
  }
  // Of each part, the racks that it is in.
  static std::map<std::string, std::set<char>> Racks(const batch::Outcome& outcome) {
    std::map<std::string, std::set<char>> racks;
    for (const auto& bind : outcome.binds)
      racks[bind.pod.name.substr(0, 2)].insert(bind.node < "n4" ? '0' : '1');
    return racks;
  }

  TopologyWorld world_;
};

TEST_F(PartsTest, EachIsInARackOfItsOwn) {
  Parts(2, 4, 2, Hard(1));
  const auto outcome = world_.RunIt();
  EXPECT_THAT(outcome.binds, SizeIs(8));
  for (const auto& [part, racks] : Racks(outcome)) EXPECT_THAT(racks, SizeIs(1)) << part;
  EXPECT_EQ(GroupStatusOf(outcome, "gang").hyper_node, "s");
}

TEST_F(PartsTest, OneThatFitsIntoNoRackKeepsTheJobOut) {
  Parts(1, 5, 2, Hard(1));
  EXPECT_THAT(world_.RunIt().binds, IsEmpty());
}

TEST_F(PartsTest, WithoutAWordOfItsOwnItIsWithinTheJobs) {
  Parts(1, 5, 2, std::nullopt);
  EXPECT_THAT(world_.RunIt().binds, SizeIs(5));
}

TEST_F(PartsTest, ThreePartsOfTwoGoWhereThereIsRoomForEach) {
  world_.Add(world_.Pod("other", "", "4", "n0"));
  Parts(3, 2, 0, Hard(1));
  const auto outcome = world_.RunIt();
  EXPECT_THAT(outcome.binds, SizeIs(6));
  for (const auto& [part, racks] : Racks(outcome)) EXPECT_THAT(racks, SizeIs(1)) << part;
}

TEST_F(PartsTest, AJobThatMustBeInARackHasAllItsPartsThere) {
  Parts(2, 2, 1, Hard(1));
  const auto outcome = world_.RunIt();
  ASSERT_THAT(outcome.binds, SizeIs(4));
  const auto racks = Racks(outcome);
  EXPECT_EQ(racks.at("p0"), racks.at("p1"));
}

// ---- Pods that ask for nothing of the network.

TEST(Topology, OthersFillWhatIsBegun) {
  TopologyWorld world;
  world.Add(world.Pod("other", "", "3", "n6"));
  world.Group("single", 1);
  world.Add(world.Pod("single-0", "single", "2"));
  EXPECT_GE(*BoundTo(world.RunIt()).begin(), "n4");
}

// ---- Evictions for a whole gang.

constexpr std::string_view kEvicting = R"(actions: "gangpreempt"
tiers:
- plugins:
  - name: priority
  - name: gang
  - name: predicates
  - name: network-topology-aware
)";

class GangEvictionTest : public testing::Test {
 protected:
  GangEvictionTest() {
    model::PriorityClass high;
    high.metadata.name = "high";
    high.value = 100;
    world_.input.priority_classes.push_back(high);
    // Every node is taken, each by a job that may go.
    for (int i = 0; i < 8; ++i) {
      const std::string name = "low" + std::to_string(i);
      model::PodGroup& group = world_.Group(name, 1);
      group.metadata.annotations["volcano.sh/preemptable"] = "true";
      group.status.phase = "Running";
      world_.Add(world_.Pod(name + "-0", name, "4", "n" + std::to_string(i)));
    }
  }
  std::set<std::string> Evicted(const batch::Outcome& outcome) {
    std::set<std::string> nodes;
    for (const auto& eviction : outcome.evictions)
      nodes.insert("n" + eviction.pod.name.substr(3, 1));
    return nodes;
  }
  TopologyWorld world_;
};

TEST_F(GangEvictionTest, RoomIsMadeWithinOneRack) {
  world_.Gang("gang", 3, "hard", 1).spec.priority_class_name = "high";
  const auto nodes = Evicted(world_.RunIt(kEvicting));
  EXPECT_THAT(nodes, SizeIs(3));
  EXPECT_TRUE(*nodes.begin() >= "n4" || *nodes.rbegin() < "n4");
}

TEST_F(GangEvictionTest, ForMoreThanARackHoldsNobodyGoes) {
  world_.Gang("gang", 5, "hard", 1).spec.priority_class_name = "high";
  EXPECT_THAT(world_.RunIt(kEvicting).evictions, IsEmpty());
}

TEST_F(GangEvictionTest, UnderTheSpineFiveMayGo) {
  world_.Gang("gang", 5, "hard", 2).spec.priority_class_name = "high";
  EXPECT_THAT(world_.RunIt(kEvicting).evictions, SizeIs(5));
}

TEST_F(GangEvictionTest, NobodyGoesForWhoCouldNotBePlacedAnyway) {
  world_.Gang("gang", 2, "hard", 1).spec.priority_class_name = "high";
  world_.network.clear();
  EXPECT_THAT(world_.RunIt(kEvicting).evictions, IsEmpty());
}

}  // namespace
}  // namespace coppice
