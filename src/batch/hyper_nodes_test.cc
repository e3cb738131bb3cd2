#include "batch/hyper_nodes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "batch/hyper_node_keeper.h"
#include "batch/job.h"
#include "test/support/hyper_node_objects.h"

namespace coppice::batch {
namespace {

using test::AHyperNode;
using test::ARack;
using test::ASpine;
using test::ByLabel;
using test::ByPattern;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

using Objects = std::vector<HyperNodeObject>;

// n0 to n7, labelled rack=0 to rack=3, two in each.
std::vector<std::shared_ptr<const model::Node>> EightNodes() {
  std::vector<std::shared_ptr<const model::Node>> nodes;
  for (int i = 0; i < 8; ++i) {
    auto node = std::make_shared<model::Node>();
    node->metadata.name = "n" + std::to_string(i);
    node->metadata.labels["rack"] = std::to_string(i / 2);
    nodes.push_back(std::move(node));
  }
  return nodes;
}

// Two in a rack, two racks under a spine, two spines: three tiers, and the cluster above them.
Objects ThreeTiers() {
  return {ARack("s0", 1, {"n0", "n1"}),  ARack("s1", 1, {"n2", "n3"}),
          ARack("s2", 1, {"n4", "n5"}),  ARack("s3", 1, {"n6", "n7"}),
          ASpine("s4", 2, {"s0", "s1"}), ASpine("s5", 2, {"s2", "s3"}),
          ASpine("s6", 3, {"s4", "s5"})};
}

std::string Names(const std::vector<const HyperNode*>& all) {
  std::string text;
  for (const HyperNode* one : all) text += one->name + " ";
  return text;
}

TEST(HyperNodeTreeTest, WithoutObjectsThereIsTheClusterOnly) {
  const HyperNodeTree tree(3);
  EXPECT_TRUE(tree.empty());
  EXPECT_EQ(tree.top().tier, 1);
  EXPECT_TRUE(tree.top().Has(2));
  EXPECT_EQ(Names(tree.Of(1)), "<cluster-top-hypernode> ");
  EXPECT_EQ(tree.Find(kTopHyperNode), &tree.top());
}

TEST(HyperNodeTreeTest, NodesComeUpFromTheLowestTier) {
  const HyperNodeTree tree(ThreeTiers(), EightNodes());
  EXPECT_THAT(tree.Find("s1")->nodes, ElementsAre(2, 3));
  EXPECT_THAT(tree.Find("s4")->nodes, ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(tree.Find("s6")->nodes, ElementsAre(0, 1, 2, 3, 4, 5, 6, 7));
  EXPECT_EQ(tree.top().tier, 4);
  EXPECT_THAT(tree.tiers(), ElementsAre(1, 2, 3, 4));
  EXPECT_EQ(Names(tree.Of(5)), "s2 s5 s6 <cluster-top-hypernode> ");
  EXPECT_EQ(Names(tree.top().children), "s6 ");
  EXPECT_EQ(Names(tree.Find("s5")->children), "s2 s3 ");
  EXPECT_THAT(tree.complaints(), IsEmpty());
  EXPECT_EQ(tree.Find("s9"), nullptr);
}

TEST(HyperNodeTreeTest, TheLowestCommonOneIsFound) {
  const HyperNodeTree tree(ThreeTiers(), EightNodes());
  struct Case {
    std::string a, b, common;
  };
  for (const Case& c : std::vector<Case>{{"s0", "s0", "s0"},
                                         {"s0", "s1", "s4"},
                                         {"s1", "s2", "s6"},
                                         {"s0", "s4", "s4"},
                                         {"s4", "s0", "s4"},
                                         {"s5", "s1", "s6"},
                                         {"", "s1", "s1"},
                                         {"s1", "", "s1"}}) {
    EXPECT_EQ(HyperNodeTree::LowestCommon(tree.Find(c.a), tree.Find(c.b)), tree.Find(c.common))
        << c.a << " and " << c.b;
  }
  EXPECT_EQ(HyperNodeTree::LowestCommon(nullptr, nullptr), nullptr);
}

TEST(HyperNodeTreeTest, TheSmallestWithAllNodesIsFound) {
  const HyperNodeTree tree(ThreeTiers(), EightNodes());
  const auto smallest = [&](std::vector<uint32_t> nodes) { return tree.Smallest(nodes)->name; };
  EXPECT_EQ(smallest({4}), "s2");
  EXPECT_EQ(smallest({4, 5}), "s2");
  EXPECT_EQ(smallest({4, 6}), "s5");
  EXPECT_EQ(smallest({0, 7}), "s6");
  EXPECT_EQ(tree.Smallest({}), nullptr);
  const HyperNodeTree apart({ARack("a", 1, {"n0"}), ARack("b", 1, {"n1"})}, EightNodes());
  EXPECT_EQ(apart.Smallest(std::vector<uint32_t>{0, 1}), &apart.top());
}

TEST(HyperNodeTreeTest, MembersGoByNameByPatternAndByLabel) {
  const HyperNodeTree tree({ARack("named", 1, {"n0", "ghost"}), ByPattern("pattern", 1, "n[45]$"),
                            ByLabel("label", 1, "rack", "3"), ByPattern("none", 1, "^m")},
                           EightNodes());
  EXPECT_THAT(tree.Find("named")->nodes, ElementsAre(0));
  EXPECT_THAT(tree.Find("pattern")->nodes, ElementsAre(4, 5));
  EXPECT_THAT(tree.Find("label")->nodes, ElementsAre(6, 7));
  EXPECT_THAT(tree.Find("none")->nodes, IsEmpty());
  EXPECT_THAT(tree.complaints(), IsEmpty());
}

TEST(HyperNodeTreeTest, WhereANewNodeWouldBeIsKnownByItsLabelOnly) {
  auto two = ByLabel("two", 1, "rack", "1");
  model::LabelSelector in;
  in.match_expressions.push_back({.key = "rack", .operator_ = "In", .values = {"2", "1"}});
  two->spec.members.push_back({.type = "Node", .selector = {.label_match = in}});
  auto mixed = ByLabel("mixed", 1, "rack", "0");
  mixed->spec.members.push_back(ByLabel("", 1, "row", "0")->spec.members.front());
  const HyperNodeTree tree(
      {two, mixed, ByPattern("pattern", 1, "n"), ByLabel("three", 1, "rack", "3"),
       ASpine("above", 2, {"two", "three", "pattern"})},
      EightNodes());
  EXPECT_EQ(tree.Find("two")->label_key, "rack");
  EXPECT_THAT(tree.Find("two")->label_values, ElementsAre("1", "2"));
  EXPECT_EQ(tree.Find("mixed")->label_key, "");
  EXPECT_EQ(tree.Find("pattern")->label_key, "");
  EXPECT_THAT(tree.Find("above")->label_values, ElementsAre("1", "2", "3"));
}

TEST(HyperNodeTreeTest, TiersHaveNames) {
  const HyperNodeTree tree(
      {AHyperNode("a", 1, "rack"), AHyperNode("b", 2, "row"), AHyperNode("c", 3, "rack")},
      EightNodes());
  EXPECT_EQ(tree.TierCalled("rack"), 1);
  EXPECT_EQ(tree.TierCalled("row"), 2);
  EXPECT_EQ(tree.TierCalled("hall"), std::nullopt);
  EXPECT_THAT(tree.complaints(), ElementsAre(HasSubstr("calls its tier 3 rack")));
}

// What cannot be right, and what is left of the rest.
TEST(HyperNodeTreeTest, WhatCannotBeRightIsLeftOutWithASentence) {
  struct Case {
    std::string name;
    HyperNodeObject bad;
    std::string sentence;
    bool stays = false;  // it goes without the member
  };
  const auto with = [](model::HyperNodeMember member) {
    auto object = AHyperNode("bad", 2);
    object->spec.members.push_back(std::move(member));
    return object;
  };
  auto unreadable = AHyperNode("bad", 1);
  unreadable->metadata.unreadable = model::Unreadable{};
  model::HyperNodeSelector both;
  both.exact_match = model::HyperNodeName{"n0"};
  both.regex_match = model::HyperNodePattern{"n0"};
  model::HyperNodeSelector labels;
  labels.label_match.emplace().match_expressions.push_back({.key = "a", .operator_ = "Near"});
  const std::vector<Case> cases{
      {"Unreadable", unreadable, "cannot be read"},
      {"OurName", AHyperNode(std::string(kTopHyperNode), 1), "that name is taken"},
      {"Negative", AHyperNode("bad", -1), "below 0"},
      {"NoSelector", with({.type = "Node"}), "exactly one of"},
      {"TwoSelectors", with({.type = "Node", .selector = both}), "exactly one of"},
      {"Pattern", ByPattern("bad", 1, "(["), "its pattern is none"},
      {"Labels", with({.type = "Node", .selector = labels}), "its labelMatch is none"},
      {"Kind", with({.type = "Rack", .selector = {.exact_match = model::HyperNodeName{"r"}}}),
       "neither a Node nor a HyperNode"},
      {"PartByPattern",
       with({.type = "HyperNode", .selector = {.regex_match = model::HyperNodePattern{"s"}}}),
       "not chosen by exactMatch"},
      {"NoSuchPart", ASpine("bad", 2, {"ghost"}), "no such HyperNode", true},
      {"Itself", ASpine("bad", 2, {"bad"}), "its tier is not below its own", true},
      {"PartOfNoLowerTier", ASpine("bad", 1, {"s0"}), "its tier is not below its own", true},
      {"SecondParent", ASpine("t", 3, {"s0"}), "that is a member of s4", true},
  };
  for (const Case& c : cases) {
    Objects objects{ARack("s0", 1, {"n0", "n1"}), ASpine("s4", 2, {"s0"}), c.bad};
    const HyperNodeTree tree(objects, EightNodes());
    EXPECT_THAT(tree.complaints(), ElementsAre(HasSubstr(c.sentence))) << c.name;
    EXPECT_THAT(tree.Find("s4")->nodes, ElementsAre(0, 1)) << c.name;
    EXPECT_EQ(tree.all().size(), c.stays ? 4u : 3u) << c.name;
  }
}

TEST(HyperNodeKeeperTest, TheTreeIsKeptUntilSomethingThatCountsChanges) {
  cluster::ObjectStore<model::HyperNode> objects;
  objects.Upsert(ByLabel("rack", 1, "rack", "0"));
  auto nodes = EightNodes();
  HyperNodeKeeper keeper;
  EXPECT_TRUE(keeper.Refresh(objects, nodes));
  EXPECT_FALSE(keeper.Refresh(objects, nodes));
  auto other = std::make_shared<model::Node>(*nodes[5]);
  other->metadata.resource_version = "2";
  nodes[5] = other;
  EXPECT_FALSE(keeper.Refresh(objects, nodes)) << "nothing that members go by";
  other = std::make_shared<model::Node>(*nodes[5]);
  other->metadata.labels["rack"] = "0";
  nodes[5] = other;
  EXPECT_TRUE(keeper.Refresh(objects, nodes));
  EXPECT_THAT(keeper.tree()->Find("rack")->nodes, ElementsAre(0, 1, 5));
  nodes.pop_back();
  EXPECT_TRUE(keeper.Refresh(objects, nodes));
  objects.Upsert(ARack("named", 1, {"n3"}));
  EXPECT_TRUE(keeper.Refresh(objects, nodes));
}

// ---- What a job asks for.

class JobTopologyTest : public testing::Test {
 protected:
  static model::NetworkTopology Asking(const std::string& mode, std::optional<int64_t> tier,
                                       const std::string& tier_name = "") {
    return {.mode = mode, .highest_tier_allowed = tier, .highest_tier_name = tier_name};
  }
  // A job with one pod of its own and one of a sub-group.
  std::unique_ptr<Job> AJob(std::optional<model::NetworkTopology> of_job,
                            std::optional<model::NetworkTopology> of_group) {
    model::PodGroup group;
    group.metadata.name = "job";
    group.metadata.namespace_ = "ns";
    group.spec.network_topology = std::move(of_job);
    group.spec.sub_group_policy.push_back(
        {.name = "part", .network_topology = std::move(of_group), .match_label_keys = {"id"}});
    auto job = std::make_unique<Job>(group);
    for (const char* id : {"", "0"}) {
      auto pod = std::make_shared<model::Pod>();
      pod->metadata.name = pod->metadata.uid = std::string("pod") + id;
      pod->metadata.namespace_ = "ns";
      if (*id != '\0') pod->metadata.labels["id"] = id;
      tasks_.push_back(std::make_unique<Task>(MakeTask(std::move(pod))));
      tasks_.back()->request = std::make_shared<const Resource>();
      job->AddTask(*tasks_.back());
    }
    job->Finish();
    return job;
  }
  static std::optional<int64_t> TierOf(const Job& job, const std::string& sub_job) {
    for (const auto& one : job.sub_jobs) {
      if (one->id == sub_job) return HardTier(one->network_topology);
    }
    return -1;
  }

  std::vector<std::unique_ptr<Task>> tasks_;
  HyperNodeTree tree_{ThreeTiers(), EightNodes()};
};

TEST_F(JobTopologyTest, WishesBecomeRulesWithinTheJobsOwn) {
  struct Case {
    std::string name;
    std::optional<model::NetworkTopology> job, group;
    std::optional<int64_t> of_job, of_group;
  };
  const std::vector<Case> cases{
      {"Nothing", std::nullopt, std::nullopt, std::nullopt, std::nullopt},
      {"HardIsWhatItSays", Asking("hard", 2), Asking("hard", 1), 2, 1},
      {"SoftIsHardForTheTop", Asking("soft", std::nullopt), std::nullopt, 4, std::nullopt},
      {"SoftForgetsItsTier", Asking("soft", 1), std::nullopt, 4, std::nullopt},
      {"ASoftPartStaysInTheJobsTier", Asking("hard", 2), Asking("soft", std::nullopt), 2, 2},
      {"ASoftPartOfNobody", std::nullopt, Asking("soft", std::nullopt), std::nullopt, 4},
      {"WithoutATierThereIsNoRule", Asking("hard", std::nullopt), std::nullopt, std::nullopt,
       std::nullopt},
      {"WithoutAModeItIsHard", Asking("", 1), std::nullopt, 1, std::nullopt},
  };
  for (const Case& c : cases) {
    const auto job = AJob(c.job, c.group);
    job->SettleTopology(tree_, false);
    EXPECT_EQ(HardTier(job->network_topology), c.of_job) << c.name;
    EXPECT_EQ(TierOf(*job, "ns/job/part-0"), c.of_group) << c.name;
    EXPECT_EQ(TierOf(*job, "ns/job"), c.of_job) << c.name << ": those of no part are as the job";
    EXPECT_EQ(job->HasNetworkTopology(), c.job || c.group) << c.name;
  }
}

TEST_F(JobTopologyTest, TierNamesAreTranslatedAndUnknownOnesStay) {
  const HyperNodeTree named({AHyperNode("a", 1, "rack"), AHyperNode("b", 2, "row")}, EightNodes());
  auto job = AJob(Asking("hard", std::nullopt, "row"), Asking("hard", std::nullopt, "rack"));
  job->SettleTopology(named, false);
  EXPECT_EQ(HardTier(job->network_topology), 2);
  EXPECT_EQ(TierOf(*job, "ns/job/part-0"), 1);
  job = AJob(Asking("hard", std::nullopt, "hall"), std::nullopt);
  job->SettleTopology(named, false);
  EXPECT_EQ(HardTier(job->network_topology), std::nullopt);
  EXPECT_EQ(job->network_topology->highest_tier_name, "hall");
}

}  // namespace
}  // namespace coppice::batch
