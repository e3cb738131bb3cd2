#include "fit/chain.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fit/fake_filters.h"
#include "test/support/must.h"

namespace coppice::fit {
namespace {

using cluster::NodeIndex;
using cluster::PodIndex;
using model::Verdict;
using model::VerdictCode;
using testing::ElementsAre;

Verdict No(std::string_view plugin, VerdictCode code = VerdictCode::kUnschedulable) {
  return Verdict::No(plugin, code, std::string(plugin) + " says no");
}

class ChainTest : public testing::Test {
 protected:
  ChainTest() {
    for (const char* name : {"a", "b", "c"}) {
      model::Node node;
      node.metadata.name = name;
      node.spec.unschedulable = std::string(name) == "b";
      nodes.push_back(MUST(snapshot.AddNode(node)));
    }
    model::Pod object;
    object.metadata.name = "p";
    pod = snapshot.AddPod(object);
  }

  // Filters run in the order in which they are named here.
  Chain Make(std::initializer_list<const char*> names) {
    SchedulerConfig config;
    config.chain.clear();
    for (const char* name : names) config.chain.push_back({.name = name});
    return MUST(Chain::Create(registry, config));
  }
  void State(const char* name, FakeStateFilter::Function f) {
    AddFake<FakeStateFilter>(registry, name, f);
  }
  void Shape(const char* name, FakeShapeFilter::Function f) {
    AddFake<FakeShapeFilter>(registry, name, f);
  }
  void RefuseEverywhere(const char* name) {
    State(name, [name](const auto&, const auto&) {
      return Preparation::Ask(
          std::make_unique<FakeNodeCheck>([name](NodeIndex) { return No(name); }));
    });
  }
  void RefuseCordoned(const char* name) {
    Shape(name, [name](const auto&, const cluster::NodeShape& node) {
      return node.unschedulable ? No(name) : Verdict::Yes();
    });
  }

  FilterRegistry registry{"filter"};
  cluster::Snapshot snapshot;
  std::vector<NodeIndex> nodes;
  PodIndex pod = 0;
};

TEST_F(ChainTest, TheFirstRefusalIsNamedWhateverItsKind) {
  RefuseCordoned("shape");
  RefuseEverywhere("state");
  const Chain shape_first = Make({"shape", "state"});
  const Chain state_first = Make({"state", "shape"});
  EXPECT_EQ(shape_first.Ask(snapshot, pod).Check(nodes[1]).plugin(), "shape");
  EXPECT_EQ(shape_first.Ask(snapshot, pod).Check(nodes[0]).plugin(), "state");
  EXPECT_EQ(state_first.Ask(snapshot, pod).Check(nodes[1]).plugin(), "state");
}

TEST_F(ChainTest, AShapeFilterIsAskedOncePerPairOfShapes) {
  RefuseCordoned("shape");
  const Chain chain = Make({"shape"});
  FakeShapeFilter::asked = 0;
  for (int i = 0; i < 3; ++i) {
    const Question question = chain.Ask(snapshot, pod);
    EXPECT_TRUE(question.Check(nodes[0]).yes());
    EXPECT_FALSE(question.Check(nodes[1]).yes());
    EXPECT_EQ(question.Narrow(nodes, 0b111), 0b101u);
  }
  EXPECT_EQ(FakeShapeFilter::asked, 2);
}

TEST_F(ChainTest, AFinalRejectionCountsMoreThanOneThatPreemptionCouldLift) {
  State("soft", [](const auto&, const auto&) { return Preparation::Reject(No("soft")); });
  const Chain soft = Make({"soft"});
  const Question question = soft.Ask(snapshot, pod);
  EXPECT_TRUE(question.rejected());
  EXPECT_EQ(question.Check(nodes[0]).plugin(), "soft") << "rejected everywhere";
  State("hard", [](const auto&, const auto&) {
    return Preparation::Reject(No("hard", VerdictCode::kUnschedulableAndUnresolvable));
  });
  const Chain both = Make({"soft", "hard"});
  EXPECT_EQ(both.Ask(snapshot, pod).rejection().plugin(), "hard");
}

TEST_F(ChainTest, NodesOutsideTheNarrowedSetAreNotAsked) {
  State("pin", [](const auto&, const auto&) { return Preparation::Skip(); });
  State("narrow", [](const auto&, const auto&) {
    return Preparation::Ask(
               std::make_unique<FakeNodeCheck>([](NodeIndex) { return Verdict::Yes(); }))
        .Only({"c", "gone", "a"});
  });
  const Chain chain = Make({"pin", "narrow"});
  const Question question = chain.Ask(snapshot, pod);
  EXPECT_THAT(*question.only(), ElementsAre("a", "c", "gone"));
  EXPECT_TRUE(question.Check(nodes[0]).yes());
  const Verdict outside = question.Check(nodes[1]);
  EXPECT_EQ(outside.plugin(), "");
  EXPECT_EQ(outside.reason(), "node(s) didn't satisfy plugin(s) [narrow]");
}

TEST_F(ChainTest, TwoFiltersThatNarrowToDifferentNodesRejectThePod) {
  for (const char* name : {"first", "second"}) {
    State(name, [name](const auto&, const auto&) {
      return Preparation::Ask(
                 std::make_unique<FakeNodeCheck>([](NodeIndex) { return Verdict::Yes(); }))
          .Only({name});
    });
  }
  const Chain chain = Make({"second", "first"});
  const Question question = chain.Ask(snapshot, pod);
  EXPECT_EQ(question.rejection().reason(),
            "node(s) didn't satisfy plugin(s) [first second] simultaneously");
}

TEST_F(ChainTest, HalfAFilterIsWhatTheConfigurationLeavesOfIt) {
  RefuseEverywhere("nodes");
  State("pod", [](const auto&, const auto&) { return Preparation::Reject(No("pod")); });
  SchedulerConfig config;
  config.chain = {{.name = "nodes", .filter = false}, {.name = "pod", .pre_filter = false}};
  const Chain chain = MUST(Chain::Create(registry, config));
  const Question question = chain.Ask(snapshot, pod);
  EXPECT_FALSE(question.rejected());
  EXPECT_TRUE(question.Check(nodes[0]).yes());
}

TEST_F(ChainTest, AFilterFromOutsideComesLastWithoutBeingConfigured) {
  RefuseEverywhere("NodeName");
  RefuseEverywhere("OurOwn");
  const Chain chain = Make({"NodeName"});
  EXPECT_THAT(chain.names(), ElementsAre("NodeName", "OurOwn"));
}

TEST_F(ChainTest, AFilterThatIsConfiguredButNotRegisteredIsAnErrorWithItsName) {
  SchedulerConfig config;
  config.chain = {{.name = "Missing"}};
  const auto chain = Chain::Create(registry, config);
  EXPECT_EQ(chain.code(), Code::kNotFound);
  EXPECT_THAT(chain.status().message(), testing::HasSubstr("Missing"));
}

// Somebody's own filter, which only it understands.
class Picky final : public StateFilter {
 public:
  Preparation Prepare(const cluster::PodView&, const cluster::Snapshot&) const override {
    return Preparation::Ask(std::make_unique<FakeNodeCheck>([](NodeIndex) { return No("Picky"); }));
  }
  std::vector<model::ChangeSet> WaysAround(const model::Refusal& refusal, const model::Pod& pod,
                                           const model::Node& node) const override {
    EXPECT_THAT(refusal.reasons, ElementsAre("Picky says no"));
    return {{{.kind = model::ChangeKind::kTolerate,
              .subject = pod.metadata.name + " on " + node.metadata.name}}};
  }
};

TEST_F(ChainTest, TheFilterThatRefusedSaysWhatWouldHelp) {
  registry.Add("Picky", FactoryOf<Picky>());
  RefuseEverywhere("Silent");
  const Chain chain = Make({"Picky", "Silent"});
  model::Pod a_pod;
  a_pod.metadata.name = "p";
  model::Node a_node;
  a_node.metadata.name = "n";
  const Verdict verdict = chain.Ask(snapshot, pod).Check(nodes[0]);
  const auto ways = chain.WaysAround(verdict.refusal(), a_pod, a_node);
  ASSERT_EQ(ways.size(), 1u);
  EXPECT_EQ(ways[0].at(0).subject, "p on n");
  EXPECT_TRUE(chain.WaysAround(No("Silent").refusal(), a_pod, a_node).empty());
  EXPECT_TRUE(chain.WaysAround(No("Nobody").refusal(), a_pod, a_node).empty());
}

}  // namespace
}  // namespace coppice::fit
