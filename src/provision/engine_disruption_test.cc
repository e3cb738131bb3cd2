// Disruption on a running cluster: what goes, when, and what stops it.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "provision/engine_rig.h"
#include "report/explain_pools.h"

namespace coppice::provision {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;
namespace names = model::karpenter;

class EngineDisruptionTest : public testing::Test {
 protected:
  void Settle() {
    ASSERT_TRUE(rig_.RunUntil([&] { return rig_.PodsWaiting() == 0; }, minutes(5)));
    rig_.RunFor(seconds(5));
  }
  static std::string TypeOf(const model::NodeClaim& claim) {
    return *claim.metadata.labels.Find(model::kInstanceTypeLabel);
  }
  bool HasTaint(const model::Node& node) const {
    return std::ranges::any_of(node.spec.taints, [](const model::Taint& taint) {
      return taint.key == names::kDisruptedTaint;
    });
  }
  static void OnDemandOnly(model::NodePool& pool) {
    pool.spec.template_.spec.requirements = {
        {std::string(model::kCapacityTypeLabel), "In", {"on-demand"}, {}}};
  }

  EngineRig rig_;
};

TEST_F(EngineDisruptionTest, EmptyNodeGoesAfterItWasLookedAtTwice) {
  rig_.AddPool("default");
  rig_.AddPod("p", 1000);
  Settle();
  rig_.RemovePod("p");
  rig_.RunFor(seconds(12));
  EXPECT_FALSE(rig_.Claims()[0].metadata.deletion_timestamp);
  rig_.RunFor(minutes(2));
  EXPECT_TRUE(rig_.Claims().empty());
  EXPECT_TRUE(rig_.Nodes().empty());
  EXPECT_TRUE(rig_.Machines().empty());
}

TEST_F(EngineDisruptionTest, NodeThatFillsWhileItIsLookedAtStays) {
  rig_.AddPool("default");
  rig_.AddPod("p", 1000);
  Settle();
  rig_.RemovePod("p");
  rig_.RunFor(seconds(11));
  rig_.AddPod("q", 1000);
  rig_.RunFor(minutes(2));
  EXPECT_EQ(rig_.Claims().size(), 1);
  EXPECT_EQ(rig_.cloud.ever_made(), 1);
}

TEST_F(EngineDisruptionTest, DearNodeIsReplacedBeforeItGoes) {
  rig_.AddPool("default", OnDemandOnly);
  rig_.AddPod("big", 6000);
  rig_.AddPod("small", 1000);
  Settle();
  ASSERT_EQ(rig_.Claims().size(), 1);
  ASSERT_EQ(TypeOf(rig_.Claims()[0]), "large");
  const std::string first = rig_.Claims()[0].metadata.name;
  rig_.boot_time = minutes(1);
  rig_.RemovePod("big");
  ASSERT_TRUE(rig_.RunUntil([&] { return rig_.Claims().size() == 2; }, minutes(2)));
  rig_.RunFor(seconds(30));
  // The replacement is not up: the old one stands, tainted, with its pod.
  for (const auto& claim : rig_.Claims()) EXPECT_FALSE(claim.metadata.deletion_timestamp);
  EXPECT_TRUE(HasTaint(rig_.Nodes()[0]));
  EXPECT_TRUE(rig_.evicted.empty());
  rig_.RunFor(minutes(4));
  ASSERT_EQ(rig_.Claims().size(), 1);
  EXPECT_NE(rig_.Claims()[0].metadata.name, first);
  EXPECT_EQ(TypeOf(rig_.Claims()[0]), "small");
  EXPECT_EQ(rig_.PodsWaiting(), 0);
  EXPECT_EQ(rig_.Machines().size(), 1);
}

TEST_F(EngineDisruptionTest, ReplacementThatCannotBeHadTakesEverythingBack) {
  rig_.AddPool("default", OnDemandOnly);
  rig_.AddPod("big", 6000);
  rig_.AddPod("small", 1000);
  Settle();
  rig_.cloud.on_create = [](const model::NodeClaim&) {
    return cloud::FakeAnswer{.status = ResourceExhausted("sold out"), .happens = false};
  };
  rig_.RemovePod("big");
  rig_.RunFor(minutes(2));
  ASSERT_EQ(rig_.Nodes().size(), 1);
  EXPECT_TRUE(rig_.evicted.empty());
  const auto& commands = rig_.engine().report()->commands;
  EXPECT_TRUE(std::ranges::any_of(commands, [](const report::DisruptionCommand& command) {
    return command.stage == "RolledBack" || command.stage == "Launching";
  }));
  rig_.cloud.on_create = nullptr;
  rig_.RunFor(minutes(5));
  EXPECT_EQ(rig_.Nodes().size(), 1);
  EXPECT_EQ(rig_.PodsWaiting(), 0);
}

TEST_F(EngineDisruptionTest, BudgetOfNoneKeepsEverything) {
  rig_.AddPool("default", [](model::NodePool& pool) {
    pool.spec.disruption.budgets = {{model::DisruptionBudget{.nodes = "0"}}};
  });
  rig_.AddPod("p", 1000);
  Settle();
  rig_.RemovePod("p");
  rig_.RunFor(minutes(5));
  EXPECT_EQ(rig_.Claims().size(), 1);
  EXPECT_GT(rig_.CountEvents("DisruptionBlocked"), 0);
  const auto kept = report::ExplainNode(*rig_.engine().report(), rig_.Nodes()[0].metadata.name);
  EXPECT_THAT(kept, testing::Contains(testing::HasSubstr("budget")));
}

TEST_F(EngineDisruptionTest, DriftedNodeIsReplaced) {
  rig_.AddPool("default", OnDemandOnly);
  rig_.AddPod("p", 1000);
  Settle();
  const auto first = rig_.Claims()[0];
  rig_.cloud.SetDrifted(first.status.provider_id, "ImageDrifted");
  rig_.RunFor(minutes(12));
  ASSERT_EQ(rig_.Claims().size(), 1);
  EXPECT_NE(rig_.Claims()[0].metadata.name, first.metadata.name);
  EXPECT_EQ(rig_.PodsWaiting(), 0);
}

TEST_F(EngineDisruptionTest, ChangedTemplateReplacesTheNodesOfThePool) {
  rig_.AddPool("default", OnDemandOnly);
  rig_.AddPod("p", 1000);
  Settle();
  const std::string first = rig_.Claims()[0].metadata.name;
  nlohmann::json patch;
  patch["spec"]["template"]["metadata"]["labels"]["team"] = "blue";
  rig_.Patch({"karpenter.sh/v1", "nodepools", "", "default"}, patch);
  rig_.RunFor(minutes(8));
  ASSERT_EQ(rig_.Claims().size(), 1);
  EXPECT_NE(rig_.Claims()[0].metadata.name, first);
  const auto nodes = rig_.Nodes();
  EXPECT_EQ(*nodes[0].metadata.labels.Find("team"), "blue");
}

TEST_F(EngineDisruptionTest, ProtectedPodKeepsItsNode) {
  rig_.AddPool("default", OnDemandOnly);
  rig_.AddPod("big", 6000);
  rig_.AddPod("small", 1000, [](model::Pod& pod) {
    pod.metadata.annotations[names::kDoNotDisruptAnnotation] = "true";
  });
  Settle();
  rig_.RemovePod("big");
  rig_.RunFor(minutes(5));
  EXPECT_EQ(rig_.cloud.ever_made(), 1);
  const auto kept = report::ExplainNode(*rig_.engine().report(), rig_.Nodes()[0].metadata.name);
  EXPECT_THAT(kept, testing::Contains(testing::HasSubstr("do-not-disrupt")));
}

TEST_F(EngineDisruptionTest, NodeOfAnotherEngineIsNoCandidate) {
  rig_.AddPool("default");
  rig_.AddPod("p", 1000);
  Settle();
  const auto node = rig_.Nodes()[0];
  ASSERT_TRUE(
      rig_.world().held_nodes().Hold(node.metadata.name, node.metadata.uid, "autoscale").ok());
  rig_.RemovePod("p");
  rig_.RunFor(minutes(3));
  EXPECT_EQ(rig_.Claims().size(), 1);
  rig_.world().held_nodes().Release(node.metadata.name, "autoscale");
  rig_.RunFor(minutes(3));
  EXPECT_TRUE(rig_.Claims().empty());
}

TEST_F(EngineDisruptionTest, RestartTakesTheTaintsOfAnUnfinishedCommandBack) {
  rig_.AddPool("default", OnDemandOnly);
  rig_.AddPod("big", 6000);
  rig_.AddPod("small", 1000);
  Settle();
  rig_.boot_time = minutes(30);
  rig_.RemovePod("big");
  ASSERT_TRUE(rig_.RunUntil([&] { return rig_.Claims().size() == 2; }, minutes(2)));
  ASSERT_TRUE(HasTaint(rig_.Nodes()[0]));
  rig_.options.disruption = false;
  rig_.Restart();
  rig_.RunFor(seconds(10));
  EXPECT_FALSE(HasTaint(rig_.Nodes()[0]));
}

TEST_F(EngineDisruptionTest, ACommandThatDoesNotHoldKeepsNoOtherMethodWaiting) {
  const auto add = [&](const std::string& pool) {
    rig_.AddPod(pool, 1000, [&](model::Pod& pod) {
      pod.spec.node_selector[std::string(model::kNodePoolLabel)] = pool;
    });
  };
  for (const char* pool : {"left", "right", "other"}) {
    rig_.AddPool(pool, OnDemandOnly);
    add(pool);
  }
  Settle();
  std::string drifted;
  for (const auto& claim : rig_.Claims()) {
    if (*claim.metadata.labels.Find(model::kNodePoolLabel) != "other") continue;
    drifted = claim.metadata.name;
    rig_.cloud.SetDrifted(claim.status.provider_id, "ImageDrifted");
  }
  rig_.RemovePod("left");
  // Whichever empty node is looked at fills meanwhile, and the other one empties.
  size_t abandoned = 0;
  const auto play = [&] {
    for (const auto& command : rig_.engine().report()->commands) {
      if (command.stage == "Abandoned") ++abandoned;
      if (command.stage != "Validating" || command.reason != "Empty") continue;
      const std::string full = command.pools.front() == "left" ? "left" : "right";
      if (rig_.FindPod(full) != nullptr) continue;
      add(full);
      rig_.RemovePod(full == "left" ? "right" : "left");
    }
    return std::ranges::none_of(rig_.Claims(),
                                [&](const auto& claim) { return claim.metadata.name == drifted; });
  };
  EXPECT_TRUE(rig_.RunUntil(play, minutes(12)));
  EXPECT_GT(abandoned, 0u);
  EXPECT_EQ(rig_.cloud.ever_made(), 4);
}

TEST_F(EngineDisruptionTest, APauseIsKeptAndNotTakenForNothingToDo) {
  rig_.options.pause_between_disruptions = minutes(3);
  rig_.Restart();
  rig_.AddPool("default", [](model::NodePool& pool) {
    OnDemandOnly(pool);
    pool.spec.disruption.budgets = {{model::DisruptionBudget{.nodes = "1"}}};
  });
  for (const char* number : {"1", "2"}) {
    rig_.AddPod(std::string("big") + number, 6000);
    rig_.AddPod(std::string("small") + number, 1000);
  }
  Settle();
  ASSERT_EQ(rig_.Claims().size(), 2);
  rig_.RemovePod("big1");
  rig_.RemovePod("big2");
  const auto goes = [](const auto& claim) { return claim.metadata.deletion_timestamp.has_value(); };
  ASSERT_TRUE(rig_.RunUntil([&] { return std::ranges::any_of(rig_.Claims(), goes); }, minutes(2)));
  rig_.RunFor(minutes(2) + seconds(40));
  ASSERT_EQ(rig_.Claims().size(), 1) << "the first is gone, and nothing has come";
  EXPECT_FALSE(goes(rig_.Claims()[0]));
  EXPECT_THAT(report::ExplainNode(*rig_.engine().report(), rig_.Nodes()[0].metadata.name),
              testing::Contains(testing::HasSubstr("pauses between disruptions")));
  EXPECT_TRUE(rig_.RunUntil([&] { return rig_.Claims().size() == 2; }, minutes(1) + seconds(30)))
      << "the dear one is replaced as soon as the pause is over";
}

TEST_F(EngineDisruptionTest, ACommandThatCouldNotBeginIsTriedAgainSoon) {
  rig_.AddPool("default", OnDemandOnly);
  rig_.AddPod("big", 6000);
  rig_.AddPod("small", 1000);
  Settle();
  rig_.before_write = [](std::string_view what) {
    return what == "node" ? Unavailable("not now") : Status::Ok();
  };
  rig_.RemovePod("big");
  rig_.RunFor(seconds(90));
  ASSERT_EQ(rig_.Claims().size(), 1);
  rig_.before_write = nullptr;
  EXPECT_TRUE(rig_.RunUntil([&] { return rig_.Claims().size() == 2; }, minutes(1)));
}

TEST_F(EngineDisruptionTest, AClaimThatIsNotLaunchedKeepsOnlyItsPoolWaiting) {
  const auto add = [&](const std::string& name, const std::string& pool, int64_t cpu_millis) {
    rig_.AddPod(name, cpu_millis, [&](model::Pod& pod) {
      pod.spec.node_selector[std::string(model::kNodePoolLabel)] = pool;
    });
  };
  for (const char* pool : {"stuck", "other"}) {
    rig_.AddPool(pool, OnDemandOnly);
    add(pool, pool, 1000);
  }
  Settle();
  rig_.cloud.on_create = [](const model::NodeClaim& claim) {
    return *claim.metadata.labels.Find(model::kNodePoolLabel) == "stuck"
               ? cloud::FakeAnswer{.status = Unavailable("slow"), .happens = false}
               : cloud::FakeAnswer{};
  };
  add("big", "stuck", 7000);
  rig_.RunFor(seconds(5));
  rig_.RemovePod("stuck");
  rig_.RemovePod("other");
  for (int i = 0; i < 9; ++i) {  // there is always one that has just been asked for
    add("more" + std::to_string(i), "stuck", 7000);
    rig_.RunFor(seconds(10));
  }
  size_t stands = 0;
  for (const auto& claim : rig_.Claims()) {
    const std::string& pool = *claim.metadata.labels.Find(model::kNodePoolLabel);
    EXPECT_TRUE(pool == "stuck" || claim.metadata.deletion_timestamp) << "its own pool is synced";
    if (pool == "stuck" && !claim.status.provider_id.empty()) {
      ++stands;
      EXPECT_FALSE(claim.metadata.deletion_timestamp);
      EXPECT_THAT(report::ExplainNode(*rig_.engine().report(), claim.status.node_name),
                  testing::Contains(testing::HasSubstr("is not launched yet")));
    }
  }
  EXPECT_EQ(stands, 1u);
}

TEST_F(EngineDisruptionTest, AboveItsLimitAPoolBuysNoReplacement) {
  rig_.AddPool("default", OnDemandOnly);
  rig_.AddPod("big", 6000);
  rig_.AddPod("small", 1000);
  Settle();
  nlohmann::json patch;
  patch["spec"]["limits"]["cpu"] = "7";  // it has 8
  rig_.Patch({"karpenter.sh/v1", "nodepools", "", "default"}, patch);
  rig_.RemovePod("big");
  rig_.RunFor(minutes(3));
  EXPECT_EQ(rig_.cloud.ever_made(), 1);
  EXPECT_TRUE(std::ranges::any_of(rig_.engine().report()->commands, [](const auto& command) {
    return command.text.find("exceeds limit") != std::string::npos;
  }));
}

TEST_F(EngineDisruptionTest, TypesAreAskedForWhatAMachineCarriesAltogether) {
  std::set<std::string> asked;
  rig_.cloud.on_types = [&](const cloud::WaitingShapes& waiting) {
    if (!waiting.loads) return;
    for (const auto& load : waiting.loads()) asked.insert(load.Find("cpu")->Canonical());
  };
  rig_.AddPool("default");
  rig_.AddPod("p", 1000);
  rig_.AddPod("q", 500);
  Settle();
  rig_.RunFor(seconds(15));
  EXPECT_THAT(asked, testing::Contains(model::Quantity::FromMillis(1500).Canonical()));
}

TEST_F(EngineDisruptionTest, CheapestNodeSaysWhatAReplacementWouldCost) {
  rig_.AddPool("default", OnDemandOnly);
  rig_.AddPod("p", 1000);
  Settle();
  rig_.RunFor(minutes(1));
  const auto kept = report::ExplainNode(*rig_.engine().report(), rig_.Nodes()[0].metadata.name);
  EXPECT_THAT(kept, testing::Contains(testing::HasSubstr("the cheapest replacement costs 0.1, this "
                                                         "one 0.1")));
}

}  // namespace
}  // namespace coppice::provision
