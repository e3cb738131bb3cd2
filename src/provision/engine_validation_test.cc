// Commands that are looked at once more: what goes on meanwhile, and what does not.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "provision/engine_rig.h"

namespace coppice::provision {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;

class EngineValidationTest : public testing::Test {
 protected:
  void AddPool(const std::string& name, const std::string& budget) {
    rig_.AddPool(name, [&](model::NodePool& pool) {
      pool.spec.template_.spec.requirements = {
          {std::string(model::kCapacityTypeLabel), "In", {"on-demand"}, {}}};
      pool.spec.disruption.budgets = {{model::DisruptionBudget{.nodes = budget}}};
    });
  }
  void SetBudget(const std::string& pool, const std::string& nodes) {
    nlohmann::json patch;
    patch["spec"]["disruption"]["budgets"] = {{{"nodes", nodes}}};
    rig_.Patch({"karpenter.sh/v1", "nodepools", "", pool}, patch);
  }
  // A machine of its own.
  void AddPod(const std::string& name, const std::string& pool) {
    rig_.AddPod(name, 7000, [&](model::Pod& pod) {
      pod.spec.node_selector[std::string(model::kNodePoolLabel)] = pool;
    });
  }
  void Settle() {
    ASSERT_TRUE(rig_.RunUntil([&] { return rig_.PodsWaiting() == 0; }, minutes(5)));
    rig_.RunFor(seconds(5));
  }
  void Drift(const std::string& pod) {
    const std::string node = rig_.FindPod(pod)->spec.node_name;
    for (const auto& claim : rig_.Claims()) {
      if (claim.status.node_name == node)
        rig_.cloud.SetDrifted(claim.status.provider_id, "ImageDrifted");
    }
    ASSERT_TRUE(rig_.RunUntil(
        [&] {
          return std::ranges::any_of(rig_.Claims(), [](const auto& claim) {
            return model::IsTrue(claim.status.conditions, model::karpenter::kDrifted);
          });
        },
        minutes(15)));
  }
  size_t Commands(std::string_view reason, std::string_view stage) const {
    return static_cast<size_t>(std::ranges::count_if(
        rig_.last_report->commands,
        [&](const auto& command) { return command.reason == reason && command.stage == stage; }));
  }
  bool BecomesEmpty(const std::string& pod) {
    rig_.RemovePod(pod);
    return rig_.RunUntil([&] { return Commands("Empty", "Validating") > 0; }, minutes(1));
  }

  EngineRig rig_;
};

TEST_F(EngineValidationTest, WhatIsDriftedElsewhereGoesMeanwhile) {
  AddPool("empty", "100%");
  AddPool("other", "0");
  AddPod("e", "empty");
  AddPod("o", "other");
  Settle();
  Drift("o");
  SetBudget("other", "100%");
  ASSERT_TRUE(BecomesEmpty("e"));
  EXPECT_EQ(Commands("Drifted", "Launching"), 1u);
  rig_.RunFor(minutes(3));
  EXPECT_EQ(rig_.Claims().size(), 1u) << "the empty one is gone, the drifted one replaced";
  EXPECT_EQ(rig_.PodsWaiting(), 0u);
}

TEST_F(EngineValidationTest, WhatIsLookedAtUsesTheBudgetOfItsPool) {
  AddPool("one", "0");
  AddPod("e", "one");
  AddPod("o", "one");
  Settle();
  Drift("o");
  SetBudget("one", "1");
  ASSERT_TRUE(BecomesEmpty("e"));
  for (int i = 0; i < 10; ++i) {
    EXPECT_EQ(Commands("Empty", "Validating"), 1u);
    EXPECT_EQ(Commands("Drifted", "Launching"), 0u);
    rig_.RunFor(seconds(1));
  }
  EXPECT_TRUE(rig_.RunUntil([&] { return Commands("Drifted", "Launching") == 1; }, minutes(3)))
      << "afterwards";
}

TEST_F(EngineValidationTest, NothingIsConsolidatedOntoWhatIsLookedAt) {
  AddPool("one", "100%");
  AddPod("e", "one");
  Settle();
  rig_.AddPod("small", 500);
  rig_.AddPod("big", 7300);
  Settle();
  ASSERT_EQ(rig_.Nodes().size(), 2u);
  const std::string with_small = rig_.FindPod("small")->spec.node_name;
  // Whichever machine is left with 0.5 cores would move onto the empty one, were it to stay.
  rig_.RemovePod(with_small == rig_.FindPod("e")->spec.node_name ? "big" : "e");
  ASSERT_TRUE(rig_.RunUntil([&] { return Commands("Empty", "Validating") > 0; }, minutes(1)));
  rig_.RunFor(minutes(3));
  EXPECT_EQ(Commands("Underutilized", "Abandoned"), 0u);
}

TEST_F(EngineValidationTest, TheExactPeerWaits) {
  rig_.options.upstream_exact = true;
  rig_.Restart();
  AddPool("empty", "100%");
  AddPool("other", "0");
  AddPod("e", "empty");
  AddPod("o", "other");
  Settle();
  Drift("o");
  SetBudget("other", "100%");
  ASSERT_TRUE(BecomesEmpty("e"));
  rig_.RunFor(seconds(10));
  EXPECT_EQ(Commands("Drifted", "Launching"), 0u);
}

TEST_F(EngineValidationTest, OfACommandWhoseMachineCouldNotBeTaintedTheRestIsTold) {
  AddPool("left", "100%");
  AddPool("right", "100%");
  AddPod("l", "left");
  AddPod("r", "right");
  Settle();
  size_t taints = 0;
  rig_.before_write = [&](std::string_view what) {
    return what == "node" && ++taints == 1 ? Unavailable("not now") : Status::Ok();
  };
  rig_.RemovePod("l");
  rig_.RemovePod("r");
  ASSERT_TRUE(rig_.RunUntil([&] { return Commands("Empty", "Validating") > 0; }, minutes(1)));
  std::optional<report::DisruptionCommand> begun;
  ASSERT_TRUE(rig_.RunUntil(
      [&] {
        for (const auto& command : rig_.last_report->commands) {
          if (command.reason == "Empty" && command.stage != "Validating" && !begun) begun = command;
        }
        return begun.has_value();
      },
      minutes(1)));
  EXPECT_EQ(begun->nodes.size(), 1u);
  EXPECT_EQ(begun->pools.size(), 1u);
  EXPECT_DOUBLE_EQ(begun->price_before, 0.4);
  EXPECT_DOUBLE_EQ(begun->savings, 0.4);
}

}  // namespace
}  // namespace coppice::provision
