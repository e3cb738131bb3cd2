#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "test/support/filter_world.h"

namespace coppice::filters::node_affinity {
void Register(fit::FilterRegistry&);

namespace {

using test::Answers;

constexpr const char* kNo = "node(s) didn't match Pod's node affinity/selector";

model::Pod Requiring(std::vector<model::NodeSelectorTerm> terms) {
  model::Pod pod;
  pod.spec.affinity.emplace().node_affinity.emplace().required.emplace().node_selector_terms =
      std::move(terms);
  return pod;
}

class NodeAffinityTest : public testing::Test {
 protected:
  NodeAffinityTest() {
    world.AddNode("a", {{"disk", "ssd"}, {"kubernetes.io/hostname", "a"}});
    world.AddNode("b", {{"disk", "hdd"}, {"kubernetes.io/hostname", "b"}});
  }
  test::FilterWorld world{Register, "NodeAffinity"};
};

TEST_F(NodeAffinityTest, APodThatDemandsNothingIsSkipped) { EXPECT_EQ(world.Ask({}), Answers{}); }

TEST_F(NodeAffinityTest, ASelectorOnAnOrdinaryLabelIsAskedOfShapes) {
  model::Pod pod;
  pod.spec.node_selector["disk"] = "ssd";
  EXPECT_EQ(world.Ask(pod), (Answers{{"a", ""}, {"b", kNo}}));
}

TEST_F(NodeAffinityTest, ASelectorOnTheHostnameIsAskedOfSingleNodesThoughTheirShapesAreEqual) {
  model::Pod pod;
  pod.spec.node_selector["kubernetes.io/hostname"] = "b";
  EXPECT_EQ(world.Ask(pod), (Answers{{"a", kNo}, {"b", ""}}));
}

TEST_F(NodeAffinityTest, NoTermsAndEmptyTermsMatchNoNode) {
  EXPECT_EQ(world.Ask(Requiring({})), (Answers{{"a", kNo}, {"b", kNo}}));
  EXPECT_EQ(world.Ask(Requiring({{}})), (Answers{{"a", kNo}, {"b", kNo}}));
}

TEST_F(NodeAffinityTest, PinnedNamesThatContradictEachOtherRejectThePodEverywhere) {
  const model::NodeSelectorRequirement a{
      .key = "metadata.name", .operator_ = "In", .values = {"a"}};
  const model::NodeSelectorRequirement b{
      .key = "metadata.name", .operator_ = "In", .values = {"b"}};
  EXPECT_EQ(world.Ask(Requiring({{.match_fields = {a, b}}})),
            (Answers{{"*", "pod affinity terms conflict"}}));
  EXPECT_EQ(world.Ask(Requiring({{.match_fields = {a}}})), (Answers{{"a", ""}, {"b", kNo}}));
}

TEST(AddedAffinityTest, TheProfileDemandsItOfEveryPod) {
  fit::FilterRegistry registry("filter");
  Register(registry);
  fit::SchedulerConfig config;
  config.added_affinity.emplace().required.emplace().node_selector_terms = {
      {.match_expressions = {{.key = "disk", .operator_ = "In", .values = {"ssd"}}}}};
  const auto filter = MUST(registry.Make("NodeAffinity", config));
  cluster::NodeShape hdd;
  hdd.labels["disk"] = "hdd";
  EXPECT_EQ(filter->Check({}, hdd).reason(),
            "node(s) didn't match scheduler-enforced node affinity");
}

}  // namespace
}  // namespace coppice::filters::node_affinity
