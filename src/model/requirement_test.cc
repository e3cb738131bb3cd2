#include "model/requirement.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

#include "model/requirements.h"

namespace coppice::model {
namespace {

NodeRequirement Made(const std::string& op, std::vector<std::string> values = {}) {
  return NodeRequirement::From(
      RequirementSpec{.key = "key", .operator_ = op, .values = std::move(values)},
      LabelRules::Default());
}

TEST(NodeRequirementTest, AliasesOfLabelsAreOneLabel) {
  const auto made = NodeRequirement::From(
      RequirementSpec{.key = "failure-domain.beta.kubernetes.io/zone", .operator_ = "Exists"},
      LabelRules::Default());
  EXPECT_EQ(made.key(), kZoneLabel);
}

TEST(NodeRequirementTest, BoundsLetOnlyIntegersThrough) {
  const auto above = Made("Gt", {"1"});
  EXPECT_TRUE(above.Has("2"));
  EXPECT_TRUE(above.Has("+4"));
  EXPECT_FALSE(above.Has("1"));
  EXPECT_FALSE(above.Has("two"));
}

TEST(NodeRequirementTest, NothingIsAboveTheLargestInteger) {
  EXPECT_EQ(Made("Gt", {"9223372036854775807"}).op(), NodeRequirement::Operator::kDoesNotExist);
  EXPECT_EQ(Made("Gte", {"99999999999999999999"}).gte(), std::numeric_limits<int64_t>::max());
}

TEST(NodeRequirementTest, CrossedBoundsLeaveNothingButTheWishForVariety) {
  auto above = Made("Gte", {"5"});
  above.set_min_values(3);
  const auto both = above.Intersection(Made("Lt", {"5"}));
  EXPECT_EQ(both.op(), NodeRequirement::Operator::kDoesNotExist);
  EXPECT_EQ(both.min_values(), 3);
}

TEST(NodeRequirementTest, ABoundedOneIsWrittenAsTwoEntries) {
  const auto both = Made("Gt", {"1"}).Intersection(Made("Lt", {"9"}));
  const auto specs = both.ToSpec();
  ASSERT_EQ(specs.size(), 2u);
  EXPECT_EQ(specs[0].operator_, "Gte");
  EXPECT_EQ(specs[0].values, std::vector<std::string>{"2"});
  EXPECT_EQ(specs[1].operator_, "Lte");
  EXPECT_EQ(specs[1].values, std::vector<std::string>{"8"});
}

TEST(NodeRequirementTest, LongListsAreCutInTexts) {
  EXPECT_EQ(Made("In", {"g", "f", "e", "d", "c", "b", "a"}).ToString(),
            "key In [a b c d e and 2 others]");
}

struct CompatibleCase {
  std::string name;
  std::vector<NodeRequirement> offer;
  NodeRequirement demand;
  bool compatible;
};

class CompatibleTest : public testing::TestWithParam<CompatibleCase> {};

TEST_P(CompatibleTest, Decides) {
  NodeRequirements offer;
  for (const auto& one : GetParam().offer) offer.Add(one);
  NodeRequirements demand;
  demand.Add(GetParam().demand);
  EXPECT_EQ(offer.Compatible(demand, &LabelRules::Default()), GetParam().compatible);
  EXPECT_EQ(offer.WhyNotCompatible(demand, &LabelRules::Default()).empty(), GetParam().compatible);
}

INSTANTIATE_TEST_SUITE_P(
    Rows, CompatibleTest,
    testing::ValuesIn(std::vector<CompatibleCase>{
        {"AnUnknownLabelCannotBeDemanded", {}, Made("In", {"1"}), false},
        {"AnUnknownLabelMayBeShunned", {}, Made("NotIn", {"1"}), true},
        {"AWellKnownOneMayBeUndefined", {}, NodeRequirement::In(kZoneLabel, {"a"}), true},
        {"TwoThatAcceptAbsenceAlwaysMeet", {Made("DoesNotExist")}, Made("NotIn", {"1"}), true},
        {"WhatMustExistIsNotAbsent", {Made("Exists")}, Made("DoesNotExist"), false},
        {"SetsHaveToOverlap", {Made("In", {"1", "2"})}, Made("In", {"2", "3"}), true},
        {"ABoundIsASet", {Made("Lt", {"9"})}, Made("In", {"9"}), false},
    }),
    [](const auto& row) { return row.param.name; });

TEST(NodeRequirementsTest, ATypoIsNamed) {
  NodeRequirements demand;
  demand.Add(NodeRequirement::In("zone", {"a"}));
  EXPECT_EQ(NodeRequirements().WhyNotCompatible(demand, &LabelRules::Default()),
            (std::vector<std::string>{"label \"zone\" does not have known values (typo of "
                                      "\"topology.kubernetes.io/zone\"?)"}));
}

TEST(NodeRequirementsTest, OfAPodsWishesTheHeaviestCountsAndOfItsTermsTheFirst) {
  Pod pod;
  Affinity affinity;
  auto& node = affinity.node_affinity.emplace();
  node.preferred = {{.weight = 1, .preference = {.match_expressions = {{"light", "Exists", {}}}}},
                    {.weight = 9, .preference = {.match_expressions = {{"heavy", "Exists", {}}}}}};
  node.required.emplace().node_selector_terms = {{.match_expressions = {{"first", "Exists", {}}}},
                                                 {.match_expressions = {{"second", "Exists", {}}}}};
  pod.spec.affinity = affinity;
  const auto wished = RequirementsOf(pod, PodDemands::kPreferred, LabelRules::Default());
  EXPECT_TRUE(wished.Has("heavy") && wished.Has("first"));
  EXPECT_FALSE(wished.Has("light") || wished.Has("second"));
  EXPECT_FALSE(RequirementsOf(pod, PodDemands::kRequired, LabelRules::Default()).Has("heavy"));
}

TEST(RequirementRulesTest, SaysAllThatIsWrong) {
  EXPECT_EQ(WrongWithRequirement({.key = "team", .operator_ = "In", .values = {"red"}},
                                 LabelRules::Default()),
            "");
  EXPECT_EQ(WrongWithRequirement({.key = "team", .operator_ = "In"}, LabelRules::Default()),
            "key team with operator In must have a value defined");
  EXPECT_NE(WhyRestricted("sub.karpenter.sh/x", LabelRules::Default()), "");
  EXPECT_EQ(WhyRestricted(kNodePoolLabel, LabelRules::Default()), "");
}

}  // namespace
}  // namespace coppice::model
