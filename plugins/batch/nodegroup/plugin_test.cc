// The answers are those of Volcano's own predicate and score, row by row: its recordings hold hardly
// a queue with an affinity.

#include <algorithm>

#include "test/conformance/batch_suite.h"

namespace coppice {
namespace batch::nodegroup {
void Register(PluginRegistry& registry);
}

namespace conformance {
namespace {

using Names = std::vector<std::string>;

constexpr const char* kGroupLabel = "volcano.sh/nodegroup-name";
constexpr const char* kLimitsAnnotation = "volcano.sh/nodegroup-resource-limits";
constexpr const char* kNoLabel = "node group label not found";
constexpr const char* kNoAffinity = "node group affinity not specified";
constexpr const char* kUnsatisfied = "node does not satisfy the node group affinity";
constexpr const char* kInvalid = "node group resource limit annotation invalid";
constexpr const char* kExceeded = "node group resource limit exceeded";

INSTANTIATE_TEST_SUITE_P(NodeGroup, BatchPluginSuite,
                         testing::Values(BatchPluginUnderTest{
                             .name = "nodegroup",
                             .add = [](auto& plugins,
                                       auto&) { batch::nodegroup::Register(plugins); },
                             .arguments = {{"strict", {false}}}}));

// One pod of one core, in a group of the queue `left`, and whatever nodes a row wants.
class NodeGroupRows : public testing::Test {
 protected:
  NodeGroupRows() {
    batch::nodegroup::Register(plugins_);
    world_.Group("job", 1, "left", 0);
    for (int i = 0; i < 4; ++i) world_.Pod("job", i, "1", "");
  }

  model::Queue& Queue(const std::string& name) {
    const auto found = std::ranges::find(world_.input.queues, name,
                                         [](const auto& queue) { return queue.metadata.name; });
    if (found != world_.input.queues.end()) return *found;
    model::Queue& queue = world_.input.queues.emplace_back();
    queue.metadata.name = name;
    queue.status.state = "Open";
    return queue;
  }
  static model::QueueAffinity Affinity(Names required, Names preferred = {},
                                       Names anti_required = {}, Names anti_preferred = {}) {
    model::QueueAffinity affinity;
    affinity.node_group_affinity = {std::move(required), std::move(preferred)};
    affinity.node_group_anti_affinity = {std::move(anti_required), std::move(anti_preferred)};
    return affinity;
  }
  void InGroup(const std::string& node, const std::string& group) {
    world_.Node(node, {{kGroupLabel, group}});
  }

  void Open(const std::string& arguments = "{}", const std::string& flags = "") {
    const auto conf =
        batch::ParseConf("actions: \"allocate\"\ntiers: [{plugins: [{name: nodegroup" + flags +
                         ", arguments: " + arguments + "}]}]\n");
    ASSERT_TRUE(conf.ok()) << conf.status();
    auto opened =
        batch::Session::Open(*conf, options_, plugins_, filters_, world_.snapshot, world_.input);
    ASSERT_TRUE(opened.ok()) << opened.status();
    session_ = std::move(*opened);
  }
  batch::Task& Task(int number = 0) { return *session_->FindJob("ns/job")->tasks.at(number); }
  // "": it may go there.
  std::string Refusal(const std::string& node) {
    const batch::Fit fit = session_->ask().CheckNode(Task(), *session_->FindNode(node));
    if (!fit) return "";
    EXPECT_TRUE(fit->Has(batch::kFitUnresolvable)) << "evicting does not help";
    return fit->Text();
  }
  double Score(const std::string& node) {
    batch::NodeInfo* info = session_->FindNode(node);
    return session_->ask().Score(Task(), {&info, 1})->front();
  }

  BatchWorld world_{true};
  batch::PluginRegistry plugins_;
  fit::FilterRegistry filters_{"filter"};
  batch::Options options_;
  std::unique_ptr<batch::Session> session_;
};

TEST_F(NodeGroupRows, AGroupIsNamedInAnyOfTheFourLists) {
  struct Row {
    bool required, preferred, anti_required, anti_preferred;
    const char* refusal;
    double score;
  };
  const std::vector<Row> rows{
      {false, false, false, false, kUnsatisfied, 0},
      {true, false, false, false, "", 100},
      {false, true, false, false, "", 50},
      {true, true, false, false, "", 150},
      {false, false, true, false, kUnsatisfied, 0},
      {true, false, true, false, kUnsatisfied, 100},
      {false, true, true, false, kUnsatisfied, 50},
      {true, true, true, false, kUnsatisfied, 150},
      {false, false, false, true, "", -1},
      {true, false, false, true, "", -1},
      {false, true, false, true, "", -1},
      {true, true, false, true, "", -1},
      {false, false, true, true, "", -1},
      {true, false, true, true, "", -1},
      {false, true, true, true, "", -1},
      {true, true, true, true, "", -1},
  };
  InGroup("n", "x");
  const auto names = [](bool x) { return x ? Names{"other", "x"} : Names{"other"}; };
  for (const Row& row : rows) {
    Queue("left").spec.affinity = Affinity(names(row.required), names(row.preferred),
                                           names(row.anti_required), names(row.anti_preferred));
    ASSERT_NO_FATAL_FAILURE(Open());
    const std::string of =
        std::string(row.required ? "required " : "") + (row.preferred ? "preferred " : "") +
        (row.anti_required ? "anti-required " : "") + (row.anti_preferred ? "anti-preferred" : "");
    EXPECT_EQ(Refusal("n"), row.refusal) << of;
    EXPECT_EQ(Score("n"), row.score) << of;
  }
}

TEST_F(NodeGroupRows, QueuesWithoutAWishAndNodesWithoutAGroup) {
  struct Row {
    const char* name;
    std::optional<model::QueueAffinity> affinity;
    const char* plain_strict;  // the refusals of a node without a group, and of one in x
    const char* plain;
    const char* in_x;
  };
  model::QueueAffinity only_halves;
  only_halves.node_group_affinity.emplace();
  const std::vector<Row> rows{
      {"no affinity", {}, kNoLabel, "", kNoAffinity},
      {"an empty object", model::QueueAffinity(), kNoLabel, "", kNoAffinity},
      {"an empty half", only_halves, kNoLabel, "", kNoAffinity},
      {"empty lists", Affinity({}), kNoLabel, "", kNoAffinity},
      {"required", Affinity({"x"}), kNoLabel, kNoLabel, ""},
      {"preferred", Affinity({}, {"x"}), kNoLabel, kNoLabel, ""},
      {"anti-required", Affinity({}, {}, {"y"}), kNoLabel, kNoLabel, kUnsatisfied},
      {"anti-preferred", Affinity({}, {}, {}, {"x"}), kNoLabel, kNoLabel, ""},
  };
  world_.Node("plain");
  InGroup("n", "x");
  for (const Row& row : rows) {
    Queue("left").spec.affinity = row.affinity;
    for (const char* strict : {"{}", "{strict: true}", "{strict: 't'}", "{strict: 1}"}) {
      ASSERT_NO_FATAL_FAILURE(Open(strict));
      EXPECT_EQ(Refusal("plain"), row.plain_strict) << row.name << " " << strict;
      EXPECT_EQ(Refusal("n"), row.in_x) << row.name << " " << strict;
    }
    for (const char* loose : {"{strict: false}", "{strict: 'F'}"}) {
      ASSERT_NO_FATAL_FAILURE(Open(loose));
      EXPECT_EQ(Refusal("plain"), row.plain) << row.name << " " << loose;
      EXPECT_EQ(Refusal("n"), row.in_x) << row.name << " " << loose;
    }
    EXPECT_EQ(Score("plain"), 0) << row.name;
  }
}

TEST_F(NodeGroupRows, AnEmptyNameIsAGroup) {
  InGroup("n", "");
  Queue("left").spec.affinity = Affinity({""});
  ASSERT_NO_FATAL_FAILURE(Open());
  EXPECT_EQ(Refusal("n"), "");
  EXPECT_EQ(Score("n"), 100);
}

TEST_F(NodeGroupRows, InOrderEarlierNamesScoreHigher) {
  struct Row {
    model::QueueAffinity affinity;
    std::vector<double> scores;  // of x, y, z
  };
  const std::vector<Row> rows{
      {Affinity({}, {"x", "y", "z"}), {50, 50 * 2.0 / 3, 50 * 1.0 / 3}},
      {Affinity({}, {"z", "x"}), {25, 0, 50}},
      {Affinity({}, {"x"}), {50, 0, 0}},
      {Affinity({}, {"x", "x"}), {0, 0, 0}},  // of two places the last one, of one name
      {Affinity({}, {"x", "y", "x"}), {0, 25, 0}},
      {Affinity({}, {"y", "x", "x"}), {0, 50, 0}},
      {Affinity({"x", "z"}, {"y", "x"}), {125, 50, 100}},
      {Affinity({}, {"x", "y"}, {"x"}, {"y"}), {50, -1, 0}},
  };
  for (const char* group : {"x", "y", "z"}) InGroup(group, group);
  for (size_t i = 0; i < rows.size(); ++i) {
    Queue("left").spec.affinity = rows[i].affinity;
    ASSERT_NO_FATAL_FAILURE(Open("{enablePreferredOrder: true}"));
    for (size_t of = 0; of < 3; ++of) {
      const std::string node(1, static_cast<char>('x' + of));
      EXPECT_DOUBLE_EQ(Score(node), rows[i].scores[of]) << "row " << i << ", " << node;
    }
  }
}

TEST_F(NodeGroupRows, WithAHierarchyTheNearestAncestorsWishCounts) {
  InGroup("n", "x");
  Queue("left").spec.parent = "middle";
  Queue("middle");
  Queue("root").spec.affinity = Affinity({"x"});
  ASSERT_NO_FATAL_FAILURE(Open());
  EXPECT_EQ(Refusal("n"), kNoAffinity) << "not without being told";
  const std::string hierarchy = ", enableHierarchy: true";
  ASSERT_NO_FATAL_FAILURE(Open("{}", hierarchy));
  EXPECT_EQ(Refusal("n"), "");
  EXPECT_EQ(Score("n"), 100);

  Queue("middle").spec.affinity = Affinity({}, {"x"});
  ASSERT_NO_FATAL_FAILURE(Open("{}", hierarchy));
  EXPECT_EQ(Score("n"), 50) << "the nearest";
  Queue("left").spec.affinity.emplace();
  ASSERT_NO_FATAL_FAILURE(Open("{}", hierarchy));
  EXPECT_EQ(Refusal("n"), kNoAffinity) << "an object without content is its own";

  Queue("left").spec.affinity.reset();
  Queue("left").spec.parent = "nobody";
  ASSERT_NO_FATAL_FAILURE(Open("{}", hierarchy));
  EXPECT_EQ(Refusal("n"), kNoAffinity) << "a parent that is not there";
  Queue("left").spec.parent = "left";
  ASSERT_NO_FATAL_FAILURE(Open("{}", hierarchy));
  EXPECT_EQ(Refusal("n"), kNoAffinity) << "a circle";
}

TEST_F(NodeGroupRows, LimitsAsTheyAreWritten) {
  struct Row {
    const char* limits;
    const char* refusal;  // of a third pod of one core, where two of the queue are
  };
  const std::vector<Row> rows{
      {"", ""},
      {"null", ""},
      {"{}", ""},
      {R"({"x":null})", ""},
      {R"({"x":{}})", ""},
      {R"({"x":{"cpu":"3"}})", ""},
      {R"({"x":{"cpu":3}})", ""},
      {R"({"x":{"cpu":3e0}})", ""},
      {R"({"x":{"cpu":"3000m"}})", ""},
      {R"({"x":{"cpu":" 3 "}})", ""},
      {R"({"x":{"cpu":1e3}})", ""},
      {R"({"x":{"cpu":100000000000000000000}})", ""},
      {R"({"x":{"cpu":2.5}})", kExceeded},
      {R"({"x":{"cpu":25e-1}})", kExceeded},
      {R"({"x":{"cpu":"2"}})", kExceeded},
      {R"({"x":{"cpu":2}})", kExceeded},
      {R"({"x":{"cpu":"2999m"}})", kExceeded},
      {R"({"x":{"cpu":null}})", kExceeded},
      {R"({"x":{"cpu":"-1"}})", kExceeded},
      {R"({"x":{"cpu":"9","cpu":"2"}})", kExceeded},
      {R"({"x":{"cpu":"2"},"x":{"memory":"1Gi"}})", ""},
      {R"({"x":{"cpu":"2"},"x":null})", ""},
      {R"({"x":{"memory":"1Gi","nvidia.com/gpu":"0","pods":"2"}})", kExceeded},
      {R"({"x":{"memory":"0","nvidia.com/gpu":"0"}})", ""},
      {R"({"y":{"cpu":"1"}})", ""},
      {R"({"y":{"cpu":"x"}})", kInvalid},
      {R"({"x":{"cpu":true}})", kInvalid},
      {R"({"x":{"cpu":{}}})", kInvalid},
      {R"({"x":{"cpu":[]}})", kInvalid},
      {R"({"x":{"cpu":""}})", kInvalid},
      {R"({"x":{"cpu":"1 0"}})", kInvalid},
      {R"({"x":3})", kInvalid},
      {R"({"x":"3"})", kInvalid},
      {R"({"x":[]})", kInvalid},
      {"[]", kInvalid},
      {"3", kInvalid},
      {"\"x\"", kInvalid},
      {"{", kInvalid},
      {"{} {}", kInvalid},
      {" ", kInvalid},
  };
  InGroup("n", "x");
  world_.Node("plain");
  for (int i = 0; i < 2; ++i) world_.Pod("job", 10 + i, "1", "n");
  Queue("left").spec.affinity = Affinity({"x"});
  for (const Row& row : rows) {
    Queue("left").metadata.annotations[kLimitsAnnotation] = row.limits;
    ASSERT_NO_FATAL_FAILURE(Open());
    EXPECT_EQ(Refusal("n"), row.refusal) << row.limits;
    const bool invalid = std::string(row.refusal) == kInvalid;
    EXPECT_EQ(Refusal("plain"), invalid ? kInvalid : kNoLabel) << row.limits;
  }
}

TEST_F(NodeGroupRows, WhatIsPlacedCountsAndWhatIsTakenBackDoesNot) {
  InGroup("n", "x");
  InGroup("m", "x");
  InGroup("far", "y");
  Queue("left").spec.affinity = Affinity({"x", "y"});
  Queue("left").metadata.annotations[kLimitsAnnotation] = R"({"x":{"cpu":"2"}})";
  ASSERT_NO_FATAL_FAILURE(Open());
  batch::Statement statement(*session_);
  ASSERT_TRUE(statement.Allocate(Task(1), *session_->FindNode("far")).ok());
  ASSERT_TRUE(statement.Allocate(Task(2), *session_->FindNode("n")).ok());
  EXPECT_EQ(Refusal("m"), "") << "one in the group";
  ASSERT_TRUE(statement.Allocate(Task(3), *session_->FindNode("m")).ok());
  EXPECT_EQ(Refusal("n"), kExceeded);
  EXPECT_EQ(Refusal("m"), kExceeded);
  EXPECT_EQ(Refusal("far"), "");
  statement.Discard();
  EXPECT_EQ(Refusal("n"), "");
}

TEST_F(NodeGroupRows, AsUpstreamATaskThatGoesTwiceEndsTheSession) {
  InGroup("n", "x");
  Queue("left").spec.affinity = Affinity({"x"});
  world_.Pod("job", 10, "1", "n");
  options_.upstream_exact = true;
  ASSERT_NO_FATAL_FAILURE(Open());
  const auto& tasks = session_->FindJob("ns/job")->tasks;
  const auto runs = std::ranges::find(tasks, "n", &batch::Task::node_name);
  ASSERT_NE(runs, tasks.end());
  session_->TellDeallocated(**runs);
  EXPECT_FALSE(session_->failed());
  session_->TellDeallocated(**runs);
  EXPECT_TRUE(session_->failed());
}

}  // namespace
}  // namespace conformance
}  // namespace coppice
