#include "model/node_selector.h"

#include <gtest/gtest.h>

namespace coppice::model {
namespace {

using Answer = CompiledNodeSelector::Answer;

const Labels kLabels{{"cores", "16"}, {"zone", "a"}};

NodeSelectorTerm Expression(std::string key, std::string op, std::vector<std::string> values) {
  return {.match_expressions = {{std::move(key), std::move(op), std::move(values)}}};
}
NodeSelectorTerm Name(std::string op, std::vector<std::string> values) {
  return {.match_fields = {{"metadata.name", std::move(op), std::move(values)}}};
}
Answer Match(std::vector<NodeSelectorTerm> terms) {
  return CompiledNodeSelector(NodeSelector{std::move(terms)}).Match(kLabels, "node-1");
}

TEST(NodeSelectorTest, NoTermsAndEmptyTermsSelectNothing) {
  EXPECT_EQ(Match({}), Answer::kNo);
  EXPECT_EQ(Match({{}}), Answer::kNo);
  EXPECT_EQ(Match({{}, Expression("zone", "In", {"a"})}), Answer::kYes);
}

TEST(NodeSelectorTest, TermsAreAlternatives) {
  EXPECT_EQ(Match({Expression("zone", "In", {"b"}), Expression("zone", "Exists", {})}),
            Answer::kYes);
  EXPECT_EQ(Match({Expression("zone", "In", {"b"}), Expression("disk", "Exists", {})}),
            Answer::kNo);
}

TEST(NodeSelectorTest, ComparesNumbers) {
  EXPECT_EQ(Match({Expression("cores", "Gt", {"15"})}), Answer::kYes);
  EXPECT_EQ(Match({Expression("cores", "Gt", {"16"})}), Answer::kNo);
  EXPECT_EQ(Match({Expression("cores", "Lt", {"17"})}), Answer::kYes);
  EXPECT_EQ(Match({Expression("zone", "Lt", {"17"})}), Answer::kNo);
  EXPECT_EQ(Match({Expression("absent", "Lt", {"17"})}), Answer::kNo);
}

TEST(NodeSelectorTest, MalformedTermIsAnErrorOnlyIfNoOtherMatches) {
  const NodeSelectorTerm malformed = Expression("zone", "in", {"a"});
  EXPECT_EQ(Match({malformed}), Answer::kError);
  EXPECT_EQ(Match({malformed, Expression("zone", "In", {"a"})}), Answer::kYes);
  EXPECT_EQ(Match({malformed, Expression("zone", "In", {"b"})}), Answer::kError);
  EXPECT_EQ(Match({Expression("cores", "Gt", {"many"})}), Answer::kError);
  EXPECT_EQ(Match({Name("In", {"node-1", "node-2"})}), Answer::kError);
  EXPECT_EQ(Match({Name("Exists", {})}), Answer::kError);
}

TEST(NodeSelectorTest, LooksAtTheName) {
  EXPECT_EQ(Match({Name("In", {"node-1"})}), Answer::kYes);
  EXPECT_EQ(Match({Name("In", {"node-2"})}), Answer::kNo);
  EXPECT_EQ(Match({Name("NotIn", {"node-2"})}), Answer::kYes);
  EXPECT_TRUE(CompiledNodeSelector(NodeSelector{{Name("In", {"x"})}}).looks_at_names());
}

TEST(NodeSelectorTest, NodeWithoutNamePassesEveryFieldCondition) {
  const CompiledNodeSelector selector(NodeSelector{{Name("In", {"node-2"})}});
  EXPECT_TRUE(selector.Matches(kLabels, ""));
}

TEST(RequiredNodeAffinityTest, WantsSelectorAndAffinityBoth) {
  Pod pod;
  EXPECT_TRUE(RequiredNodeAffinity(pod).Matches({}, "n"));
  pod.spec.node_selector = {{"zone", "a"}};
  EXPECT_TRUE(RequiredNodeAffinity(pod).Matches(kLabels, "n"));
  pod.spec.affinity = Affinity{
      .node_affinity = NodeAffinity{.required = NodeSelector{{Expression("cores", "In", {"8"})}}}};
  EXPECT_FALSE(RequiredNodeAffinity(pod).Matches(kLabels, "n"));
  EXPECT_TRUE(RequiredNodeAffinity(pod).Matches({{"cores", "8"}, {"zone", "a"}}, "n"));
}

}  // namespace
}  // namespace coppice::model
