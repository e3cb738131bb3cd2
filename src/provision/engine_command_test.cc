// Commands of disruption that do not go their way: machines that cannot be deleted, and machines that
// somebody takes to while a command is looked at once more.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "provision/engine_rig.h"

namespace coppice::provision {
namespace {

namespace names = model::karpenter;
using std::chrono::minutes;
using std::chrono::seconds;
using testing::HasSubstr;

// Work is done at once, or, while it is slow, after five seconds.
class SlowWorkers final : public Workers {
 public:
  explicit SlowWorkers(EngineRig& rig) : rig_(rig) {}
  bool slow = false;

  Status Submit(std::function<void()> work) override {
    if (slow) {
      rig_.executor().Spawn(Later(rig_.executor(), std::move(work)));
    } else {
      work();
    }
    return Status::Ok();
  }

 private:
  static Task<void> Later(Executor& executor, std::function<void()> work) {
    co_await executor.Sleep(seconds(5));
    work();
  }
  EngineRig& rig_;
};

class EngineCommandTest : public testing::Test {
 protected:
  EngineCommandTest() {
    rig_.workers = &workers_;
    rig_.Restart();
    rig_.AddPool("default", [](model::NodePool& pool) {
      pool.spec.template_.spec.requirements = {
          {std::string(model::kCapacityTypeLabel), "In", {"on-demand"}, {}}};
    });
  }
  void Settle() {
    ASSERT_TRUE(rig_.RunUntil([&] { return rig_.PodsWaiting() == 0; }, minutes(5)));
    rig_.RunFor(seconds(5));
  }
  const report::DisruptionCommand* Command(std::string_view reason, std::string_view stage) const {
    for (const report::DisruptionCommand& command : rig_.last_report->commands) {
      if (command.reason == reason && command.stage == stage) return &command;
    }
    return nullptr;
  }
  bool Comes(std::string_view reason, std::string_view stage, Duration longest) {
    return rig_.RunUntil([&] { return Command(reason, stage) != nullptr; }, longest);
  }
  bool HasTaint(const std::string& name) const {
    for (const model::Node& node : rig_.Nodes()) {
      if (node.metadata.name != name) continue;
      return std::ranges::any_of(node.spec.taints, [](const model::Taint& taint) {
        return taint.key == names::kDisruptedTaint;
      });
    }
    return false;
  }
  // A machine that could be a smaller one is about to be replaced, and the search that is made before
  // takes its time.
  void LookOnceMore() {
    rig_.AddPod("big", 6000);
    rig_.AddPod("small", 1000);
    Settle();
    node_ = rig_.Nodes()[0].metadata.name;
    rig_.RemovePod("big");
    ASSERT_TRUE(Comes("Underutilized", "Validating", minutes(2)));
    ASSERT_TRUE(rig_.RunUntil(
        [&] {
          const auto* command = Command("Underutilized", "Validating");
          return command == nullptr || rig_.Now() >= command->since + seconds(14);
        },
        seconds(20)));
    workers_.slow = true;
    rig_.RunFor(seconds(3));
  }
  void ExpectAbandoned(const std::string& why) {
    rig_.RunFor(seconds(10));
    const auto* command = Command("Underutilized", "Abandoned");
    ASSERT_NE(command, nullptr);
    EXPECT_THAT(command->text, HasSubstr(why));
    EXPECT_EQ(rig_.cloud.ever_made(), 1u);
    EXPECT_FALSE(HasTaint(node_));
  }

  EngineRig rig_;
  SlowWorkers workers_{rig_};
  std::string node_;
};

TEST_F(EngineCommandTest, APodThatComesDuringTheSecondSearchAndMayNotBeDisturbedKeepsItsMachine) {
  LookOnceMore();
  rig_.AddPod("precious", 100, [&](model::Pod& pod) {
    pod.spec.node_name = node_;
    pod.status.phase = "Running";
    pod.status.conditions = {{.type = "PodScheduled", .status = "True"}};
    pod.metadata.annotations[names::kDoNotDisruptAnnotation] = "true";
  });
  ExpectAbandoned("candidates");
}

TEST_F(EngineCommandTest, ABudgetThatShrinksDuringTheSecondSearchIsKept) {
  LookOnceMore();
  rig_.Patch({"karpenter.sh/v1", "nodepools", "", "default"},
             {{"spec", {{"disruption", {{"budgets", {{{"nodes", "0"}}}}}}}}});
  ExpectAbandoned("budgets");
}

TEST_F(EngineCommandTest, WhatHoldsAfterTheSecondSearchIsCarriedOut) {
  LookOnceMore();
  rig_.RunFor(seconds(10));
  workers_.slow = false;
  rig_.RunFor(minutes(3));
  ASSERT_EQ(rig_.Claims().size(), 1u);
  EXPECT_EQ(rig_.Claims()[0].status.capacity.Find("cpu")->Value(), 2);
}

TEST_F(EngineCommandTest, ClaimsThatCannotBeDeletedAreLetGoAfterAWhile) {
  rig_.AddPod("a", 7000);
  rig_.AddPod("b", 7000);
  Settle();
  ASSERT_EQ(rig_.Nodes().size(), 2u);
  size_t deletions = 0;
  rig_.before_write = [&](std::string_view what) {
    return what == "delete" && ++deletions > 1 ? PermissionDenied("a webhook says no")
                                               : Status::Ok();
  };
  rig_.RemovePod("a");
  rig_.RemovePod("b");
  ASSERT_TRUE(Comes("Empty", "Deleting", minutes(1)));
  rig_.RunFor(minutes(9));
  ASSERT_NE(Command("Empty", "Deleting"), nullptr);
  ASSERT_TRUE(Comes("Empty", "RolledBack", minutes(2)));
  EXPECT_THAT(Command("Empty", "RolledBack")->text, HasSubstr("could be deleted"));
  for (const model::NodeClaim& claim : rig_.Claims()) {
    const bool goes = claim.metadata.deletion_timestamp.has_value();
    EXPECT_EQ(HasTaint(claim.status.node_name), goes) << "who goes takes no more pods";
    EXPECT_EQ(model::IsTrue(claim.status.conditions, names::kDisruptionReason), goes);
  }
  rig_.before_write = nullptr;
  rig_.RunFor(minutes(5));
  EXPECT_TRUE(rig_.Claims().empty());
}

}  // namespace
}  // namespace coppice::provision
