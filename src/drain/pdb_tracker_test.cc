#include "drain/pdb_tracker.h"

#include <gtest/gtest.h>

#include "drain/rules.h"
#include "test/support/must.h"

namespace coppice::drain {
namespace {

std::shared_ptr<const model::PodDisruptionBudget> Budget(
    std::string name, std::optional<model::LabelSelector> selector, int32_t allowed) {
  model::PodDisruptionBudget pdb;
  pdb.metadata.name = std::move(name);
  pdb.metadata.namespace_ = "shop";
  pdb.spec.selector = std::move(selector);
  pdb.status.disruptions_allowed = allowed;
  return std::make_shared<const model::PodDisruptionBudget>(std::move(pdb));
}

model::Pod Web(std::string namespace_ = "shop") {
  model::Pod pod;
  pod.metadata = {.name = "web", .namespace_ = std::move(namespace_), .labels = {{"app", "web"}}};
  return pod;
}

const model::LabelSelector kWeb{.match_labels = {{"app", "web"}}};

TEST(PdbTrackerTest, CoversOnlyItsNamespaceAndSelector) {
  const PdbTracker tracker = MUST(PdbTracker::Create({Budget("b", kWeb, 1)}));
  EXPECT_TRUE(tracker.HasBudget(Web()));
  EXPECT_FALSE(tracker.HasBudget(Web("other")));
  model::Pod db = Web();
  db.metadata.labels["app"] = "db";
  EXPECT_FALSE(tracker.HasBudget(db));
}

TEST(PdbTrackerTest, AbsentSelectorCoversNothingAndEmptyOneTheNamespace) {
  EXPECT_FALSE(MUST(PdbTracker::Create({Budget("b", std::nullopt, 1)})).HasBudget(Web()));
  EXPECT_TRUE(MUST(PdbTracker::Create({Budget("b", model::LabelSelector{}, 1)})).HasBudget(Web()));
}

TEST(PdbTrackerTest, TwoPodsOfABudgetOfOneCanGoOneAfterTheOther) {
  const PdbTracker tracker = MUST(PdbTracker::Create({Budget("b", kWeb, 1)}));
  const model::Pod a = Web();
  const model::Pod b = Web();
  const auto answer = tracker.CanRemove({&a, &b});
  EXPECT_TRUE(answer.can_remove);
  EXPECT_FALSE(answer.in_parallel);
  EXPECT_EQ(answer.blocking, &b);
}

TEST(PdbTrackerTest, BudgetIsUsedUpByWhatIsRemoved) {
  PdbTracker tracker = MUST(PdbTracker::Create({Budget("b", kWeb, 1)}));
  const model::Pod pod = Web();
  EXPECT_EQ(tracker.ExhaustedBudget(pod), nullptr);
  tracker.Remove({&pod, &pod});  // may go below zero
  ASSERT_NE(tracker.ExhaustedBudget(pod), nullptr);
  EXPECT_EQ(*tracker.ExhaustedBudget(pod), "b");
  EXPECT_FALSE(tracker.CanRemove({&pod}).can_remove);
}

TEST(PdbTrackerTest, ExhaustedBudgetBlocksADrain) {
  const PdbTracker tracker =
      MUST(PdbTracker::Create({Budget("full", kWeb, 5), Budget("spent", kWeb, 0)}));
  model::Pod pod = Web();
  pod.metadata.owner_references = {
      {.api_version = "apps/v1", .kind = "ReplicaSet", .name = "o", .controller = true}};
  const Verdict verdict = JudgePod(DefaultRules({}), pod, {.budgets = tracker, .now = {}});
  EXPECT_EQ(verdict.reason, BlockingReason::kNotEnoughPdb);
  EXPECT_EQ(verdict.text, "disruption budget spent allows no disruption of pod shop/web");
}

TEST(PdbTrackerTest, MalformedSelectorIsAnErrorThatNamesTheBudget) {
  const auto tracker = PdbTracker::Create(
      {Budget("b", model::LabelSelector{.match_expressions = {{"app", "Like", {}}}}, 1)});
  ASSERT_FALSE(tracker.ok());
  EXPECT_TRUE(tracker.status().message().starts_with("pod disruption budget shop/b: "));
}

TEST(PdbTrackerTest, MalformedSelectorCanGuardAllOfItsNamespaceAndNoOther) {
  const auto tracker = MUST(PdbTracker::Create(
      {Budget("odd", model::LabelSelector{.match_expressions = {{"app", "Like", {}}}}, 7),
       Budget("good", kWeb, 1)},
      PdbTracker::Malformed::kGuardsItsNamespace));
  model::Pod unlabelled = Web();
  unlabelled.metadata.labels.clear();
  ASSERT_NE(tracker.ExhaustedBudget(unlabelled), nullptr);
  EXPECT_EQ(*tracker.ExhaustedBudget(unlabelled), "odd");
  EXPECT_FALSE(tracker.CanRemove({&unlabelled}).can_remove);
  const model::Pod other = Web("other");
  EXPECT_EQ(tracker.ExhaustedBudget(other), nullptr);
}

}  // namespace
}  // namespace coppice::drain
