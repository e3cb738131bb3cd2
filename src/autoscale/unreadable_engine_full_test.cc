// Passes on a cluster of which something cannot be read, or has not been read for long.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "test/support/engine_rig.h"

namespace coppice::autoscale {
namespace {

using report::StayReason;
using std::chrono::minutes;
using std::chrono::seconds;
using ::testing::HasSubstr;

class UnreadableEngineTest : public test::EngineRig {
 protected:
  const std::vector<std::string> args_ = {"--scale-down-unneeded-time=1s",
                                          "--scale-down-delay-after-add=0s"};

  void SpoilPod(const std::string& name, bool spoil = true) {
    model::Pod pod = *world_.FindPod("default", name);
    pod.metadata.unreadable.reset();
    if (spoil)
      pod.metadata.unreadable =
          model::Unreadable{.what = "spec.overhead[cpu]: odd", .reason = "quantity"};
    world_.UpsertPod(std::make_shared<const model::Pod>(std::move(pod)));
  }
  void SpoilNode(const std::string& name, bool spoil = true) {
    model::Node node = *world_.FindNode(name);
    node.metadata.unreadable.reset();
    node.status.allocatable = node.status.capacity;
    if (spoil) {
      node.metadata.unreadable =
          model::Unreadable{.what = "spec.taints[0].timeAdded: odd", .reason = "time"};
      node.status.allocatable.clear();
    }
    world_.UpsertNode(std::make_shared<const model::Node>(std::move(node)));
  }
  void AddMalformedBudget(const std::string& namespace_) {
    model::PodDisruptionBudget odd;
    odd.metadata.namespace_ = namespace_;
    odd.metadata.name = "odd";
    odd.spec.selector.emplace().match_expressions = {{"app", "Like", {}}};
    odd.status.disruptions_allowed = 5;
    world_.Upsert(std::make_shared<const model::PodDisruptionBudget>(odd));
  }
  // Two passes, far enough apart for what is not needed to go.
  std::shared_ptr<const report::PassReport> TwoPasses() {
    Pass();
    clock_.Set(clock_.Now() + minutes(10));
    return Pass();
  }
  static const report::StayingNode* Staying(const report::PassReport& report,
                                            const std::string& node) {
    for (const report::StayingNode& staying : report.scale_down.staying) {
      if (staying.node == node) return &staying;
    }
    return nullptr;
  }
};

TEST_F(UnreadableEngineTest, APodThatCannotBeReadKeepsItsNodeUntilItCan) {
  AddGroup("web", 5, 1);
  AddNode("web-1", "web");
  AddPod("odd", "cpu", 0, "web-1");
  model::Pod daemon = *world_.FindPod("default", "odd");
  daemon.metadata.owner_references[0].kind = "DaemonSet";  // it would not keep any node
  daemon.metadata.annotations["cluster-autoscaler.kubernetes.io/daemonset-pod"] = "true";
  world_.UpsertPod(std::make_shared<const model::Pod>(std::move(daemon)));
  model::DaemonSet owner;
  owner.metadata.name = "odd";
  owner.metadata.namespace_ = "default";
  world_.Upsert(std::make_shared<const model::DaemonSet>(std::move(owner)));
  SpoilPod("odd");
  Assemble(args_, inline_, writer_);
  const auto blocked = TwoPasses();
  EXPECT_EQ(blocked->error, "");
  const report::StayingNode* staying = Staying(*blocked, "web-1");
  ASSERT_NE(staying, nullptr);
  EXPECT_EQ(staying->reason, StayReason::kBlockedByPod);
  EXPECT_EQ(staying->blocking_reason, "Unreadable");
  EXPECT_THAT(staying->detail, HasSubstr("spec.overhead[cpu]: odd"));

  SpoilPod("odd", false);
  clock_.Set(clock_.Now() + minutes(10));
  Pass();  // five minutes are remembered that a node is stuck
  clock_.Set(clock_.Now() + minutes(10));
  EXPECT_EQ(Pass()->scale_down.result, report::ScaleDownResult::kNodeDeleteStarted);
}

TEST_F(UnreadableEngineTest, APendingPodThatCannotBeReadIsNotBoughtForAndOthersAre) {
  AddGroup("web", 5);
  AddPod("odd", "cpu", 3);
  SpoilPod("odd");
  AddPod("good", "cpu", 3);
  Assemble(args_, inline_, writer_);
  const auto report = TwoPasses();
  EXPECT_EQ(MUST(groups_.TargetSize("web")), 1);
  EXPECT_EQ(report->error, "");
}

TEST_F(UnreadableEngineTest, ANodeThatCannotBeReadStaysAndTakesNoPod) {
  AddGroup("web", 5, 2);
  AddNode("web-1", "web");
  AddNode("web-2", "web");
  AddPod("small", "cpu", 1, "web-2");  // would fit on web-1
  auto owner = std::make_shared<model::ReplicaSet>();
  owner->metadata.name = "small";
  owner->metadata.namespace_ = "default";
  world_.Upsert<model::ReplicaSet>(owner);
  SpoilNode("web-1");
  Assemble(args_, inline_, writer_);
  const auto report = TwoPasses();
  const report::StayingNode* odd = Staying(*report, "web-1");
  ASSERT_NE(odd, nullptr);
  EXPECT_EQ(odd->reason, StayReason::kUnexpectedError);
  EXPECT_THAT(odd->detail, HasSubstr("cannot be read: spec.taints[0].timeAdded: odd"));
  const report::StayingNode* other = Staying(*report, "web-2");
  ASSERT_NE(other, nullptr);
  EXPECT_EQ(other->reason, StayReason::kNoPlaceToMovePods);

  SpoilNode("web-1", false);
  clock_.Set(clock_.Now() + minutes(10));
  EXPECT_EQ(TwoPasses()->scale_down.result, report::ScaleDownResult::kNodeDeleteStarted);
}

TEST_F(UnreadableEngineTest, ABudgetWithAMalformedSelectorDoesNotKeepPodsWaiting) {
  AddGroup("web", 5);
  AddPod("pending", "cpu", 3);
  AddMalformedBudget("default");
  Assemble(args_, inline_, writer_);
  EXPECT_EQ(Pass()->error, "");
  EXPECT_EQ(CallsOf("Increase"), 1u);
}

TEST_F(UnreadableEngineTest, ABudgetWithAMalformedSelectorKeepsTheNodesOfItsNamespaceOnly) {
  AddGroup("web", 5, 2);
  for (const char* node : {"web-1", "web-2"}) {
    AddNode(node, "web");
    AddPod(std::string("small-on-") + node, "cpu", 1, node);  // would fit on the other
  }
  AddMalformedBudget("default");
  Assemble(args_, inline_, writer_);
  const auto report = TwoPasses();
  EXPECT_EQ(report->error, "");
  for (const char* node : {"web-1", "web-2"}) {
    const report::StayingNode* staying = Staying(*report, node);
    ASSERT_NE(staying, nullptr) << node;
    EXPECT_EQ(staying->blocking_reason, "NotEnoughPdb");
    EXPECT_THAT(staying->detail, HasSubstr("disruption budget odd"));
  }

  world_.Erase<model::PodDisruptionBudget>("default", "odd");
  AddMalformedBudget("other");
  clock_.Set(clock_.Now() + minutes(10));
  EXPECT_EQ(TwoPasses()->scale_down.result, report::ScaleDownResult::kNodeDeleteStarted);
}

TEST_F(UnreadableEngineTest, AStaleViewNeitherBuysNorRemovesAndSaysSo) {
  Duration age{};
  view_age_ = [&age] { return age; };
  AddGroup("web", 5, 1);
  AddNode("web-1", "web");
  Assemble(args_, inline_, writer_);
  Pass();
  clock_.Set(clock_.Now() + minutes(10));
  age = minutes(3) + seconds(7);
  AddPod("pending", "cpu", 100);
  const auto stale = Pass();
  EXPECT_EQ(stale->error_type, "apiCallError");
  EXPECT_THAT(stale->error, HasSubstr("Pod has not been read for 3m7s"));
  EXPECT_EQ(CallsOf("Delete") + CallsOf("Increase"), 0u);

  world_.DeletePod("default", "pending");
  age = minutes(3);
  EXPECT_EQ(Pass()->scale_down.result, report::ScaleDownResult::kNodeDeleteStarted);
}

TEST_F(UnreadableEngineTest, AnOldViewIsNobodysBusinessUnderUpstreamsRules) {
  view_age_ = [] { return minutes(60); };
  AddGroup("web", 5);
  AddPod("pending", "cpu", 3);
  Assemble({"--upstream-exact"}, inline_, writer_);
  EXPECT_EQ(Pass()->error, "");
}

}  // namespace
}  // namespace coppice::autoscale
