#include "test/conformance/batch_suite.h"
#include "test/support/hyper_node_objects.h"

namespace coppice {
namespace batch::network_topology_aware {
void Register(PluginRegistry& registry);
}

namespace conformance {
namespace {

using batch::HyperNode;
using batch::SearchPurpose;
using testing::DoubleNear;
using testing::ElementsAre;
using testing::IsEmpty;

// Node a is in one rack, b and c are in the other.
void AddNetwork(BatchWorld& world) {
  if (world.input.nodes.empty()) return;
  std::vector<std::shared_ptr<const model::Node>> nodes;
  for (const auto& node : world.input.nodes) nodes.push_back(node.object);
  world.input.hyper_nodes = std::make_shared<const batch::HyperNodeTree>(
      std::vector<batch::HyperNodeObject>{test::ARack("r0", 1, {"a"}),
                                          test::ARack("r1", 1, {"b", "c"}),
                                          test::ASpine("s", 2, {"r0", "r1"})},
      nodes);
  for (model::PodGroup& group : world.input.groups) {
    if (group.metadata.name == "big")
      group.spec.network_topology = {.mode = "hard", .highest_tier_allowed = 2};
    if (group.metadata.name == "old") group.spec.network_topology = {.mode = "soft"};
  }
}

void AddIt(batch::PluginRegistry& plugins, fit::FilterRegistry&) {
  batch::network_topology_aware::Register(plugins);
}

INSTANTIATE_TEST_SUITE_P(
    NetworkTopologyAware, BatchPluginSuite,
    testing::Values(BatchPluginUnderTest{.name = "network-topology-aware", .add = AddIt},
                    BatchPluginUnderTest{
                        .name = "network-topology-aware", .add = AddIt, .prepare = AddNetwork}));

// Eight nodes of ten cores, n0 to n7: two to a rack (s0 to s3, tier 1), two racks to a spine (s4, s5,
// tier 2), all under s6 (tier 3).
class TreeTest : public testing::Test {
 protected:
  TreeTest() {
    batch::network_topology_aware::Register(plugins_);
    input_.now = TimePoint(std::chrono::hours(24 * 365));
    model::Queue queue;
    queue.metadata.name = "q";
    queue.status.state = "Open";
    input_.queues.push_back(queue);
    for (int i = 0; i < 8; ++i) {
      auto node = std::make_shared<model::Node>();
      node->metadata.name = "n" + std::to_string(i);
      node->status.allocatable["cpu"] = model::Quantity::FromUnits(10);
      node->status.allocatable["pods"] = model::Quantity::FromUnits(100);
      const auto index = snapshot_.AddNode(*node).value();
      input_.nodes.push_back({.object = std::move(node), .index = index});
    }
  }
  void Pod(const std::string& name, const std::string& group, int cpu, const std::string& node) {
    auto pod = std::make_shared<model::Pod>();
    pod->metadata.name = pod->metadata.uid = name;
    pod->metadata.namespace_ = "ns";
    if (!group.empty()) pod->metadata.annotations["scheduling.k8s.io/group-name"] = group;
    pod->spec.scheduler_name = "volcano";
    pod->spec.node_name = node;
    pod->spec.containers.push_back({.name = "c"});
    pod->spec.containers.back().resources.requests["cpu"] = model::Quantity::FromUnits(cpu);
    pod->status.phase = node.empty() ? "Pending" : "Running";
    const auto index = snapshot_.AddPod(pod, snapshot_.FindNode(node));
    input_.pods.push_back({.object = std::move(pod), .index = index});
  }
  model::PodGroup& Group(int tier, int min_cpu) {
    model::PodGroup& group = input_.groups.emplace_back();
    group.metadata.name = "job";
    group.metadata.namespace_ = "ns";
    group.spec.min_member = 1;
    group.spec.queue = "q";
    group.spec.min_resources.emplace()["cpu"] = model::Quantity::FromUnits(min_cpu);
    if (tier > 0) group.spec.network_topology = {.mode = "hard", .highest_tier_allowed = tier};
    group.status.phase = "Inqueue";
    return group;
  }
  batch::Job& Open(const std::string& arguments = "") {
    using test::ARack;
    using test::ASpine;
    std::vector<std::shared_ptr<const model::Node>> nodes;
    for (const auto& node : input_.nodes) nodes.push_back(node.object);
    input_.hyper_nodes = std::make_shared<const batch::HyperNodeTree>(
        std::vector<batch::HyperNodeObject>{
            ARack("s0", 1, {"n0", "n1"}), ARack("s1", 1, {"n2", "n3"}),
            ARack("s2", 1, {"n4", "n5"}), ARack("s3", 1, {"n6", "n7"}),
            ASpine("s4", 2, {"s0", "s1"}), ASpine("s5", 2, {"s2", "s3"}),
            ASpine("s6", 3, {"s4", "s5"})},
        nodes);
    const auto conf = batch::ParseConf(
        "actions: \"allocate\"\ntiers:\n- plugins:\n  - name: network-topology-aware\n" +
        (arguments.empty() ? "" : "    arguments:\n" + arguments));
    session_.reset();  // its fork ends before the next begins
    session_ =
        std::move(batch::Session::Open(*conf, options_, plugins_, filters_, snapshot_, input_))
            .value();
    return *session_->FindJob("ns/job");
  }
  const HyperNode& At(const std::string& name) { return *session_->hyper_nodes().Find(name); }
  // One row after the other, "s0 s1 | s4".
  std::string Rows(const batch::HyperNodeGradients& gradients) {
    std::string text;
    for (const auto& row : gradients) {
      if (!text.empty()) text += "| ";
      for (const HyperNode* at : row) text += (at->parent == nullptr ? "top" : at->name) + " ";
    }
    return text;
  }
  std::string Gradients(const batch::Job& job, SearchPurpose purpose = SearchPurpose::kAllocate) {
    return Rows(session_->ask().GradientsOf(job, session_->hyper_nodes().top(), purpose));
  }
  std::vector<double> NodeScores(const std::vector<std::string>& names) {
    batch::Task& task = *session_->FindJob("ns/job")->tasks.back();
    std::vector<batch::NodeInfo*> nodes;
    for (const std::string& name : names) nodes.push_back(session_->FindNode(name));
    return *session_->ask().Score(task, nodes);
  }
  std::vector<double> Scores(const std::vector<std::string>& names) {
    std::vector<const HyperNode*> all;
    for (const std::string& name : names) all.push_back(&At(name));
    return *session_->ask().ScoreHyperNodes(*session_->FindJob("ns/job")->sub_jobs.front(), all);
  }

  batch::Options options_;
  batch::SessionInput input_;
  cluster::Facts facts_;
  cluster::Snapshot snapshot_{facts_};
  batch::PluginRegistry plugins_;
  fit::FilterRegistry filters_{"filter"};
  std::unique_ptr<batch::Session> session_;
};

TEST_F(TreeTest, GradientsGoUpTierByTier) {
  struct Case {
    int tier;
    int cpu;
    std::string rows;
  };
  for (const Case& c : std::vector<Case>{{0, 1, "top "},  // asks for nothing
                                         {1, 1, "s0 s1 s2 s3 "},
                                         {2, 1, "s0 s1 s2 s3 | s4 s5 "},
                                         {4, 1, "s0 s1 s2 s3 | s4 s5 | s6 | top "},
                                         {2, 21, "s4 s5 "},  // more than a rack has
                                         {3, 41, "s6 "},
                                         {2, 41, ""},
                                         {3, 81, ""}}) {
    input_.groups.clear();
    Group(c.tier, c.cpu);
    EXPECT_EQ(Gradients(Open()), c.rows) << c.tier << " " << c.cpu;
  }
}

TEST_F(TreeTest, WhatIsTakenIsNoRoom) {
  Group(2, 15);
  Pod("other", "", 8, "n0");
  EXPECT_EQ(Gradients(Open()), "s1 s2 s3 | s4 s5 ");
}

TEST_F(TreeTest, RoomThatASessionMakesCounts) {
  Group(1, 15);
  for (int i = 0; i < 8; ++i) Pod("p" + std::to_string(i), "", 8, "n" + std::to_string(i));
  batch::Job& job = Open();
  EXPECT_EQ(Gradients(job), "");
  batch::NodeInfo& node = *session_->FindNode("n3");
  node.Remove(*node.tasks.front());
  EXPECT_EQ(Gradients(job), "") << "twelve of twenty";
  batch::NodeInfo& other = *session_->FindNode("n2");
  other.Remove(*other.tasks.front());
  EXPECT_EQ(Gradients(job), "s1 ");
}

TEST_F(TreeTest, WhoRunsStaysUnderTheHighestTierThatItMayHave) {
  struct Case {
    int tier;
    std::string node;
    std::string rows;
  };
  for (const Case& c : std::vector<Case>{{1, "n2", "s1 "},
                                         {2, "n2", "s0 s1 | s4 "},
                                         {2, "n6", "s2 s3 | s5 "},
                                         {3, "n6", "s0 s1 s2 s3 | s4 s5 | s6 "}}) {
    input_.groups.clear();
    input_.pods.clear();
    Group(c.tier, 1000);  // nobody asks for room any more
    Pod("runs-" + c.node + std::to_string(c.tier), "job", 1, c.node);
    EXPECT_EQ(Gradients(Open()), c.rows) << c.tier << " " << c.node;
  }
}

TEST_F(TreeTest, APartIsLookedForWithinWhatIsTriedForTheJob) {
  Group(2, 1);
  Pod("p", "job", 1, "");
  batch::Job& job = Open();
  const auto& part = *job.sub_jobs.front();
  const auto rows = [&](const std::string& within) {
    return Rows(session_->ask().GradientsOf(part, At(within), SearchPurpose::kAllocate));
  };
  EXPECT_EQ(rows("s4"), "s0 s1 | s4 ");
  EXPECT_EQ(rows("s3"), "s3 ");
  EXPECT_EQ(rows("s6"), "s0 s1 s2 s3 | s4 s5 ");
}

TEST_F(TreeTest, ForEvictionsTheWidestComesFirstAndNotAllAreLookedAt) {
  Group(3, 15);
  for (int i = 0; i < 8; ++i) Pod("p" + std::to_string(i), "", 10, "n" + std::to_string(i));
  batch::Job& job = Open("      hypernode.gradient.evict.max-hypernodes: 4\n");
  EXPECT_EQ(Gradients(job), "");
  EXPECT_EQ(Gradients(job, SearchPurpose::kEvict), "s6 | s4 s5 | s0 ");
}

TEST_F(TreeTest, TheFullerTheBetterAndTooFullIsNothing) {
  Group(1, 1);
  Pod("p", "job", 5, "");
  Pod("begun", "", 5, "n2");
  Pod("full-1", "", 10, "n4");
  Pod("full-2", "", 8, "n5");
  Open("      weight: 2\n      hypernode.binpack.memory: 0\n");
  EXPECT_THAT(Scores({"s0", "s1", "s2"}),
              ElementsAre(DoubleNear(50, 1e-9), DoubleNear(100, 1e-9), 0));
}

TEST_F(TreeTest, AmongEqualsWhereMoreOfItIsAlready) {
  Group(1, 1);
  Pod("a", "job", 1, "n2");
  Pod("b", "job", 1, "");
  Pod("begun", "", 1, "n4");
  Open();
  const auto scores = Scores({"s0", "s1", "s2"});
  EXPECT_NEAR(scores[0], 5, 1e-9);
  EXPECT_NEAR(scores[1], 10 + 50, 1e-9);
  EXPECT_NEAR(scores[2], 10, 1e-9);
}

TEST_F(TreeTest, NodesScoreByHowCloseTheyAreToTheRest) {
  Group(3, 1);
  Pod("a", "job", 1, "n2");
  Pod("b", "job", 1, "");
  batch::Job& job = Open();
  job.tasks.back()->job_allocated_hyper_node = "s1";
  // Tiers 1 to 4, the cluster's being the highest.
  EXPECT_THAT(
      NodeScores({"n3", "n0", "n6"}),
      ElementsAre(DoubleNear(100, 1e-9), DoubleNear(200.0 / 3, 1e-9), DoubleNear(100.0 / 3, 1e-9)));
  EXPECT_THAT(NodeScores({"n3", "n2"}), ElementsAre(DoubleNear(150, 1e-9), DoubleNear(150, 1e-9)))
      << "of equals, by the company";
}

TEST_F(TreeTest, OthersFillWhatIsBegunSmallThingsFirst) {
  Group(0, 1);
  Pod("p", "job", 1, "");
  Pod("begun", "", 5, "n6");
  Open();
  const auto scores = NodeScores({"n7", "n4", "n0"});
  EXPECT_GT(scores[0], scores[1]);
  EXPECT_GT(scores[1], scores[2]);
  const double weights = 1 + 0.8 + 0.64 + 0.512;
  EXPECT_NEAR(scores[0], 100 * (6.0 / 20 + 0.8 * 6 / 40 + 0.64 * 6 / 80 + 0.512 * 6 / 80) / weights,
              1e-9);
}

TEST_F(TreeTest, OthersMayBeLeftAlone) {
  Group(0, 1);
  Pod("p", "job", 1, "");
  Pod("begun", "", 5, "n6");
  batch::Job& job = Open("      hypernode.binpack.normal-pod.enable: false\n");
  EXPECT_THAT(NodeScores({"n7", "n4"}), ElementsAre(0, 0));
  EXPECT_EQ(session_->ask().ScoreScope(*job.tasks.front()), batch::Scope::kShapes);
}

}  // namespace
}  // namespace conformance
}  // namespace coppice
