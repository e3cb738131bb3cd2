#include "provision/disruption/pod_rules.h"

#include <gmock/gmock.h>

#include <functional>

#include "model/node_claim.h"
#include "provision/pod_selection.h"

namespace coppice::provision {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
constexpr TimePoint kRulesNow{std::chrono::seconds(1'768'478'400)};

model::Pod ARunningPod() {
  model::Pod pod;
  pod.metadata.namespace_ = "default";
  pod.metadata.name = "web-1";
  pod.metadata.labels = {{"app", "web"}};
  pod.status.phase = "Running";
  return pod;
}

std::shared_ptr<const model::PodDisruptionBudget> ABudget(
    const std::string& name, int32_t allowed,
    const std::function<void(model::PodDisruptionBudget&)>& change = nullptr) {
  model::PodDisruptionBudget budget;
  budget.metadata.namespace_ = "default";
  budget.metadata.name = name;
  budget.spec.selector = model::LabelSelector{.match_labels = {{"app", "web"}}};
  budget.status.disruptions_allowed = allowed;
  if (change) change(budget);
  return std::make_shared<const model::PodDisruptionBudget>(std::move(budget));
}

TEST(EvictionCostTest, IsOneUnlessSomebodySaysOtherwise) {
  model::Pod pod = ARunningPod();
  EXPECT_DOUBLE_EQ(EvictionCost(pod), 1);
  pod.metadata.annotations["controller.kubernetes.io/pod-deletion-cost"] = "134217728";
  EXPECT_DOUBLE_EQ(EvictionCost(pod), 2);
  EXPECT_DOUBLE_EQ(EvictionCost(pod, true), 1);  // somebody else uses that annotation
  pod.spec.priority = 33554432;
  EXPECT_DOUBLE_EQ(EvictionCost(pod), 3);
}

TEST(EvictionCostTest, OurAnnotationIsReadFirstEvenIfItIsNonsense) {
  model::Pod pod = ARunningPod();
  pod.metadata.annotations["controller.kubernetes.io/pod-deletion-cost"] = "134217728";
  pod.metadata.annotations[model::karpenter::kDisruptionCostAnnotation] = "-134217728";
  EXPECT_DOUBLE_EQ(EvictionCost(pod), 0);
  pod.metadata.annotations[model::karpenter::kDisruptionCostAnnotation] = "much";
  EXPECT_DOUBLE_EQ(EvictionCost(pod), 1);
}

TEST(EvictionCostTest, HasBounds) {
  model::Pod pod = ARunningPod();
  pod.spec.priority = 2'000'000'000;
  EXPECT_DOUBLE_EQ(EvictionCost(pod), 10);
  pod.spec.priority = -2'000'000'000;
  EXPECT_DOUBLE_EQ(EvictionCost(pod), -10);
}

TEST(PodBudgetsTest, OneThatAllowsNothingBlocks) {
  const PodBudgets budgets({ABudget("one", 0)});
  EXPECT_THAT(budgets.BlockingNow(ARunningPod(), kRulesNow), ElementsAre("default/one"));
  EXPECT_THAT(PodBudgets({ABudget("one", 1)}).BlockingNow(ARunningPod(), kRulesNow), IsEmpty());
}

TEST(PodBudgetsTest, TwoBlockWhateverTheyAllow) {
  const PodBudgets budgets({ABudget("two", 1), ABudget("one", 1)});
  EXPECT_THAT(budgets.BlockingNow(ARunningPod(), kRulesNow),
              ElementsAre("default/one", "default/two"));
}

TEST(PodBudgetsTest, OtherNamespacesAndPodsThatAreNotEvictedAreNoConcern) {
  model::Pod pod = ARunningPod();
  pod.metadata.namespace_ = "other";
  const PodBudgets budgets({ABudget("one", 0)});
  EXPECT_THAT(budgets.BlockingNow(pod, kRulesNow), IsEmpty());
  pod = ARunningPod();
  pod.spec.tolerations = {{.operator_ = "Exists"}};  // stays until the end
  EXPECT_THAT(budgets.BlockingNow(pod, kRulesNow), IsEmpty());
}

TEST(PodBudgetsTest, UnhealthyPodsMayGoIfTheBudgetSaysSo) {
  model::Pod pod = ARunningPod();
  pod.status.conditions = {{.type = "Ready", .status = "False"}};
  const auto always = [](model::PodDisruptionBudget& budget) {
    budget.spec.unhealthy_pod_eviction_policy = "AlwaysAllow";
  };
  EXPECT_THAT(PodBudgets({ABudget("one", 0, always)}).BlockingNow(pod, kRulesNow), IsEmpty());
  EXPECT_THAT(PodBudgets({ABudget("one", 0)}).BlockingNow(pod, kRulesNow),
              ElementsAre("default/one"));
}

TEST(PodBudgetsTest, PlanningAsksWhatABudgetCanEverAllow) {
  const model::Pod pod = ARunningPod();
  EXPECT_TRUE(PodBudgets({ABudget("one", 0)}).IsCurrentlyReschedulable(pod, kRulesNow));
  const auto never = [](model::PodDisruptionBudget& budget) {
    budget.spec.max_unavailable = model::IntOrString{.is_string = true, .text = "0%"};
  };
  EXPECT_FALSE(PodBudgets({ABudget("one", 1, never)}).IsCurrentlyReschedulable(pod, kRulesNow));
}

TEST(PodBudgetsTest, OneThatNobodyUnderstandsKeepsItsNamespaceWhereItIs) {
  const auto malformed = [](model::PodDisruptionBudget& budget) {
    budget.spec.selector->match_expressions = {{"app", "Like", {}}};
  };
  const PodBudgets budgets({ABudget("odd", 1, malformed)});
  model::Pod pod = ARunningPod();
  pod.metadata.labels.clear();
  EXPECT_THAT(budgets.BlockingNow(pod, kRulesNow), ElementsAre("default/odd"));
  EXPECT_TRUE(budgets.IsCurrentlyReschedulable(pod, kRulesNow)) << "it may be mended";
  pod.metadata.namespace_ = "other";
  EXPECT_THAT(budgets.BlockingNow(pod, kRulesNow), IsEmpty());
}

TEST(PodRulesTest, APodThatMayNotBeDisruptedIsNotButOneThatHasEndedIs) {
  model::Pod pod = ARunningPod();
  pod.metadata.annotations[model::karpenter::kDoNotDisruptAnnotation] = "true";
  EXPECT_FALSE(IsDisruptable(pod, kRulesNow));
  pod.status.phase = "Succeeded";
  EXPECT_TRUE(IsDisruptable(pod, kRulesNow));
}

TEST(UnreadablePodTest, MayNotBeDisturbedWhateverIsLeftOfIt) {
  model::Pod pod = ARunningPod();
  EXPECT_TRUE(IsDisruptable(pod, kRulesNow));
  pod.metadata.unreadable = model::Unreadable{.what = "spec: odd", .reason = "malformed"};
  EXPECT_FALSE(IsDisruptable(pod, kRulesNow));
  EXPECT_FALSE(IsEvictable(pod, kRulesNow));
  const PodBudgets budgets({ABudget("most", 1)});
  EXPECT_FALSE(budgets.IsCurrentlyReschedulable(pod, kRulesNow)) << "nothing is bought for it";
  pod.status.phase = "Succeeded";
  EXPECT_TRUE(IsDisruptable(pod, kRulesNow)) << "that much is known of it";
}

}  // namespace
}  // namespace coppice::provision
