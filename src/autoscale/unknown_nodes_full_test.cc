// Nodes of which the provider has not said yet whose they are, and providers that say what cannot
// be.

#include <gmock/gmock.h>

#include "test/support/engine_rig.h"

namespace coppice::autoscale {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::UnorderedElementsAre;

class UnknownNodesTest : public test::EngineRig {
 protected:
  // An empty node that would go at once.
  void Start() {
    AddGroup("web", 5, 1);
    AddNode("web-1", "web");
    Assemble({"--scale-down-unneeded-time=1s", "--scale-down-delay-after-add=0s"}, inline_,
             writer_);
  }
  void Later() { clock_.Set(clock_.Now() + std::chrono::seconds(20)); }
};

TEST_F(UnknownNodesTest, ANodeWhoseGroupIsNotKnownIsNotRemovedUntilItIs) {
  Start();
  groups_.SetUnknown("web-1", true);
  for (int i = 0; i < 3; ++i) {
    const auto report = Pass();
    EXPECT_EQ(report->error, "");
    EXPECT_NE(report->scale_down.result, report::ScaleDownResult::kNodeDeleteStarted);
    ASSERT_EQ(report->scale_down.staying_untold.size(), 1u);
    EXPECT_EQ(report->scale_down.staying_untold[0].reason, report::StayReason::kUnexpectedError);
    EXPECT_THAT(report->scale_down.staying_untold[0].detail, HasSubstr("has not said yet"));
    Later();
  }
  EXPECT_EQ(CallsOf("Delete"), 0u);
  groups_.SetUnknown("web-1", false);
  Pass();
  Later();
  EXPECT_EQ(Pass()->scale_down.result, report::ScaleDownResult::kNodeDeleteStarted);
}

// A group of two, one of which is merely not known, seems to have lost it.
TEST_F(UnknownNodesTest, NoTargetIsLoweredWhileANodeMayBeTheOneThatIsMissing) {
  Start();
  AddNode("web-2", "web");
  groups_.Change("web", [](auto& group) { group.target = 2; });
  for (const char* pod : {"a", "b"}) AddPod(pod, "cpu", 4, pod[0] == 'a' ? "web-1" : "web-2");
  groups_.SetUnknown("web-2", true);
  const auto an_hour = [&] {
    for (int i = 0; i < 6; ++i) {
      Pass();
      clock_.Set(clock_.Now() + std::chrono::minutes(10));
    }
  };
  an_hour();
  EXPECT_EQ(CallsOf("DecreaseTarget"), 0u);
  groups_.SetUnknown("web-2", false);
  an_hour();
  EXPECT_EQ(CallsOf("DecreaseTarget"), 0u);
  // Once all are known, one that is missing is.
  groups_.Change("web", [](auto& group) { group.target = 3; });
  an_hour();
  EXPECT_EQ(CallsOf("DecreaseTarget"), 1u);
}

TEST_F(UnknownNodesTest, TheMarkOfAProcessBeforeUsGoesWhenTheNodeIsKnownToBeOurs) {
  Start();
  model::Node marked = test::ANode("web-1", "zone-web", clock_.Now() - std::chrono::hours(1));
  marked.spec.taints.push_back(
      {.key = "ToBeDeletedByClusterAutoscaler", .value = "1", .effect = "NoSchedule"});
  world_.UpsertNode(std::make_shared<const model::Node>(std::move(marked)));
  const auto untainted = [&] {
    return std::ranges::count(writer_.events, "ClusterAutoscalerCleanup", &cluster::Event::reason);
  };
  groups_.SetUnknown("web-1", true);
  Pass();
  Pass();
  EXPECT_EQ(untainted(), 0);
  groups_.SetUnknown("web-1", false);
  Pass();
  EXPECT_EQ(untainted(), 1);
  Pass();
  EXPECT_EQ(untainted(), 1);
}

TEST_F(UnknownNodesTest, TheProviderIsToldOfTheNodesBeforeItIsAskedAndOnlyWhenSomeAreNew) {
  std::vector<std::vector<std::string>> told;
  std::vector<size_t> refreshes;
  groups_.on_tell_nodes = [&](const cloud::EachNode& nodes) {
    refreshes.push_back(CallsOf("Refresh"));
    nodes([&, names = &told.emplace_back()](const cloud::NodeRef& node) {
      EXPECT_NE(node.node, nullptr);
      names->push_back(node.name);
    });
  };
  Start();
  Pass();
  Pass();
  AddNode("web-2", "web");
  Pass();
  ASSERT_EQ(told.size(), 2u);
  EXPECT_THAT(told[0], ElementsAre("web-1"));
  EXPECT_THAT(told[1], UnorderedElementsAre("web-1", "web-2"));
  EXPECT_THAT(refreshes, ElementsAre(0u, 2u));
}

// With an order of ours under way the whole gap to the target is on its way, and each machine of it
// becomes a node of the model.
TEST_F(UnknownNodesTest, AnAbsurdTargetDoesNotMakeAPassLoopThatOften) {
  AddGroup("web", 5);
  AddNode("web-1", "web");
  Assemble({}, inline_, writer_);
  AddPod("pending", "cpu", 4);
  AddPod("pending-2", "cpu", 4);
  Pass();
  ASSERT_EQ(CallsOf("Increase"), 1u);
  for (const int absurd : {2'000'000'000, 2'147'483'647}) {
    groups_.Change("web", [&](auto& group) { group.target = absurd; });
    const auto report = Pass();
    EXPECT_EQ(report->error, "");
    EXPECT_LE(report->upcoming.at("web"), 10'000);
  }
  groups_.Change("web", [&](auto& group) { group.target = -2'147'483'648; });
  EXPECT_EQ(Pass()->error, "");
}

}  // namespace
}  // namespace coppice::autoscale
