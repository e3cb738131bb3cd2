#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "test/support/filter_world.h"

namespace coppice::filters::inter_pod_affinity {
void Register(fit::FilterRegistry&);

namespace {

using test::Answers;

constexpr const char* kTogether = "node(s) didn't match pod affinity rules";
constexpr const char* kApart = "node(s) didn't match pod anti-affinity rules";
constexpr const char* kKeptAway = "node(s) didn't satisfy existing pods anti-affinity rules";

model::Pod App(std::string app, std::string namespace_ = "default") {
  model::Pod pod;
  pod.metadata.name = app;
  pod.metadata.namespace_ = std::move(namespace_);
  pod.metadata.labels["app"] = std::move(app);
  return pod;
}

model::PodAffinityTerm To(std::string app, std::string key = "zone") {
  model::PodAffinityTerm term{.topology_key = std::move(key)};
  term.label_selector.emplace().match_labels["app"] = std::move(app);
  return term;
}

model::Pod With(model::Pod pod, model::PodAffinityTerm term) {
  if (!pod.spec.affinity) pod.spec.affinity.emplace();
  if (!pod.spec.affinity->pod_affinity) pod.spec.affinity->pod_affinity.emplace();
  pod.spec.affinity->pod_affinity->required.push_back(std::move(term));
  return pod;
}

model::Pod Without(model::Pod pod, model::PodAffinityTerm term) {
  pod.spec.affinity.emplace().pod_anti_affinity.emplace().required.push_back(std::move(term));
  return pod;
}

class NeighboursTest : public testing::Test {
 protected:
  NeighboursTest() {
    world.AddNode("a", {{"zone", "a"}});
    world.AddNode("b", {{"zone", "b"}});
    world.AddNode("none");
  }
  test::FilterWorld world{Register, "InterPodAffinity"};
};

TEST_F(NeighboursTest, APodThatNobodyShunsAndThatWantsNobodyIsSkipped) {
  EXPECT_EQ(world.Ask(App("web")), Answers{});
}

TEST_F(NeighboursTest, AffinityNeedsAMatchInTheDomain) {
  world.Place(App("db"), "a");
  EXPECT_EQ(world.Ask(With(App("web"), To("db"))),
            (Answers{{"a", ""}, {"b", kTogether}, {"none", kTogether}}));
}

TEST_F(NeighboursTest, TheFirstOfASetThatMatchesItselfMayGoWhereTheKeyIs) {
  EXPECT_EQ(world.Ask(With(App("web"), To("web"))),
            (Answers{{"a", ""}, {"b", ""}, {"none", kTogether}}));
  world.Place(App("web"), "b");
  EXPECT_EQ(world.Ask(With(App("web"), To("web"))),
            (Answers{{"a", kTogether}, {"b", ""}, {"none", kTogether}}));
}

TEST_F(NeighboursTest, OnePodHasToMatchAllTermsAtOnce) {
  world.Place(App("db"), "a");
  world.Place(App("cache"), "a");
  EXPECT_EQ(world.Ask(With(With(App("web"), To("db")), To("cache")))["a"], kTogether);
}

TEST_F(NeighboursTest, AntiAffinityWorksInBothDirections) {
  world.Place(App("noisy"), "a");
  EXPECT_EQ(world.Ask(Without(App("quiet"), To("noisy"))),
            (Answers{{"a", kApart}, {"b", ""}, {"none", ""}}));
  world.Place(Without(App("quiet"), To("noisy")), "b");
  EXPECT_EQ(world.Ask(App("noisy")), (Answers{{"a", ""}, {"b", kKeptAway}, {"none", ""}}));
}

TEST_F(NeighboursTest, TerminatingPodsStillCount) {
  model::Pod going = App("noisy");
  going.metadata.deletion_timestamp = model::Time{};
  world.Place(going, "a");
  EXPECT_EQ(world.Ask(Without(App("quiet"), To("noisy")))["a"], kApart);
}

TEST_F(NeighboursTest, OtherNamespacesAreReachedByNameOrBySelector) {
  world.Place(App("db", "other"), "a");
  EXPECT_EQ(world.Ask(With(App("web"), To("db")))["a"], kTogether);
  auto by_name = To("db");
  by_name.namespaces = {"other"};
  EXPECT_EQ(world.Ask(With(App("web"), by_name))["a"], "");
  auto everywhere = To("db");
  everywhere.namespace_selector.emplace();
  EXPECT_EQ(world.Ask(With(App("web"), everywhere))["a"], "");
  auto by_label = To("db");
  by_label.namespace_selector.emplace().match_labels["team"] = "data";
  EXPECT_EQ(world.Ask(With(App("web"), by_label))["a"], kTogether);
  model::Namespace other;
  other.metadata.name = "other";
  other.metadata.labels["team"] = "data";
  world.facts().namespaces.Upsert(other);
  EXPECT_EQ(world.Ask(With(App("web"), by_label))["a"], "") << "the namespace has the label now";
}

TEST_F(NeighboursTest, AMalformedSelectorRejectsTheAskingPodAndIsIgnoredInAPlacedOne) {
  auto malformed = To("web");
  malformed.label_selector->match_expressions.push_back({.key = "app", .operator_ = "Gt"});
  world.Place(Without(App("grump"), malformed), "a");
  EXPECT_EQ(world.Ask(App("web")), Answers{});
  EXPECT_THAT(world.Ask(Without(App("web"), malformed))["*"], testing::StartsWith("parsing pod: "));
}

}  // namespace
}  // namespace coppice::filters::inter_pod_affinity
