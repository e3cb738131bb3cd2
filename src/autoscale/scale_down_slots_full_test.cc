// The slots that decide which nodes go, and the one that hides groups that are still being made.
// Each test asks once without and once with a processor: one that is not called changes nothing.

#include <gmock/gmock.h>

#include "test/support/engine_rig.h"

namespace coppice::autoscale {
namespace {

using namespace autoscale;  // NOLINT: the slots' names are what this test is about
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::UnorderedElementsAre;

std::vector<std::string> NamesOf(const std::vector<report::GroupStatus>& groups) {
  std::vector<std::string> names;
  for (const report::GroupStatus& group : groups) names.push_back(group.group);
  return names;
}

std::vector<std::string> RemovedBy(const report::PassReport& pass) {
  std::vector<std::string> names;
  for (const report::RemovedNode& node : pass.scale_down.removed) names.push_back(node.node);
  return names;
}

class ScaleDownSlotsTest : public test::EngineRig {
 protected:
  template <class P, class Registry>
  void Register(Registry& registry) {
    registry.Add("test", [](const ProcessorContext&) {
      using Made = decltype(registry.Make("", std::declval<const ProcessorContext&>()));
      return Made(std::make_unique<P>());
    });
  }
  // Two passes, so that what is unneeded has been so for long enough.
  std::shared_ptr<const report::PassReport> TwoPasses(std::vector<std::string> flags) {
    flags.insert(flags.end(), {"--scale-down-unneeded-time=1s", "--scale-down-delay-after-add=0s",
                               "--skip-nodes-with-custom-controller-pods=false"});
    Assemble(std::move(flags), inline_, writer_);
    Pass();
    clock_.Set(clock_.Now() + seconds(20));
    return Pass();
  }
};

TEST_F(ScaleDownSlotsTest, AComparerDecidesWhichOfTwoNodesGoes) {
  // Each of them could take the other's pod.
  struct LaterNamesFirst final : CandidatesComparer {
    bool EarlierThan(const std::string& a, const std::string& b) override { return a > b; }
  };
  Register<LaterNamesFirst>(plugins_.processors.scale_down_order);
  AddGroup("web", 5, 2);
  for (const std::string name : {"web-1", "web-2"}) {
    AddNode(name, "web");
    AddPod("pod-of-" + name, "cpu", 2, name);
  }
  EXPECT_THAT(RemovedBy(*TwoPasses({})), ElementsAre("web-1"));
  EXPECT_THAT(RemovedBy(*TwoPasses({"--processor=scale-down-order=test"})), ElementsAre("web-2"));
}

TEST_F(ScaleDownSlotsTest, TheSetProcessorHasTheLastWordAndItsReasonIsTold) {
  struct KeepsTheFirst final : ScaleDownSetProcessor {
    Result<Split> Filter(const std::vector<Due>& nodes,
                         const std::function<Split(const std::vector<Due>&)>& standard,
                         const PassView&) override {
      Split split = standard(nodes);
      EXPECT_EQ(split.remove.size(), nodes.size());
      std::erase(split.remove, "web-1");
      split.keep.push_back({"web-1", report::StayReason::kNotUnderutilized, "we like it"});
      return split;
    }
  };
  Register<KeepsTheFirst>(plugins_.processors.scale_down_set);
  AddGroup("web", 5, 2);
  AddNode("web-1", "web");
  AddNode("web-2", "web");
  EXPECT_THAT(RemovedBy(*TwoPasses({})), UnorderedElementsAre("web-1", "web-2"));
  const auto pass = TwoPasses({"--processor=scale-down-set=test"});
  EXPECT_THAT(RemovedBy(*pass), ElementsAre("web-2"));
  const auto stays =
      std::ranges::find(pass->scale_down.staying, "web-1", &report::StayingNode::node);
  ASSERT_NE(stays, pass->scale_down.staying.end());
  EXPECT_EQ(stays->reason, report::StayReason::kNotUnderutilized);
  EXPECT_EQ(stays->detail, "we like it");
}

TEST_F(ScaleDownSlotsTest, ACandidateThatNobodyListedIsRefusedWithItsName) {
  struct Invents final : ScaleDownNodeProcessor {
    Result<Names> Candidates(Names standard, const std::vector<ListedNode>&,
                             const PassView&) override {
      standard.push_back("web-9");
      return standard;
    }
  };
  Register<Invents>(plugins_.processors.scale_down_node);
  AddGroup("web", 5, 1);
  AddNode("web-1", "web");
  EXPECT_THAT(RemovedBy(*TwoPasses({})), ElementsAre("web-1"));
  const auto pass = TwoPasses({"--processor=scale-down-node=test"});
  EXPECT_THAT(RemovedBy(*pass), ElementsAre());
  EXPECT_THAT(pass->error, ::testing::HasSubstr("\"web-9\", which is not in the list"));
}

TEST_F(ScaleDownSlotsTest, ACandidateThatIsNamedTwiceGoesOnce) {
  struct Repeats final : ScaleDownNodeProcessor {
    Result<Names> Candidates(Names, const std::vector<ListedNode>&, const PassView&) override {
      return Names{"web-2", "web-2"};
    }
  };
  Register<Repeats>(plugins_.processors.scale_down_node);
  AddGroup("web", 5, 2);
  AddNode("web-1", "web");
  AddNode("web-2", "web");
  const auto pass = TwoPasses({"--processor=scale-down-node=test"});
  EXPECT_EQ(pass->error, "");
  EXPECT_THAT(RemovedBy(*pass), ElementsAre("web-2"));
}

TEST_F(ScaleDownSlotsTest, AGroupThatIsStillBeingMadeIsNotInTheStatus) {
  struct FreshOnesAre final : AsyncNodeGroupStateChecker {
    bool IsUpcoming(std::string_view group) override { return group == "fresh"; }
  };
  Register<FreshOnesAre>(plugins_.processors.async_node_groups);
  AddGroup("web", 5);
  AddGroup("fresh", 5);
  EXPECT_THAT(NamesOf(TwoPasses({})->status->groups), ElementsAre("web", "fresh"));
  EXPECT_THAT(NamesOf(TwoPasses({"--processor=async-node-groups=test"})->status->groups),
              ElementsAre("web"));
}

}  // namespace
}  // namespace coppice::autoscale
