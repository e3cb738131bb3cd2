#include "provision/default_spread.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "provision/bench_load.h"
#include "provision/solver.h"

namespace coppice::provision {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

model::TopologySpreadConstraint Constraint(const std::string& when) {
  return {
      .max_skew = 1, .topology_key = std::string(model::kZoneLabel), .when_unsatisfiable = when};
}

model::Pod PodOf(const std::string& owner_kind, const std::string& owner) {
  model::Pod pod;
  pod.metadata.namespace_ = "shop";
  pod.metadata.name = "web-1";
  pod.metadata.labels["app"] = "web";
  pod.metadata.labels["tier"] = "front";
  if (!owner.empty()) {
    pod.metadata.owner_references.push_back(
        {.api_version = owner_kind == "ReplicationController" ? "v1" : "apps/v1",
         .kind = owner_kind,
         .name = owner,
         .controller = true});
  }
  return pod;
}

template <class T>
std::shared_ptr<T> Named(const std::string& space, const std::string& name) {
  auto made = std::make_shared<T>();
  made->metadata.namespace_ = space;
  made->metadata.name = name;
  return made;
}

class DefaultSpreadTest : public testing::Test {
 protected:
  DefaultSpreadTest() {
    auto service = Named<model::Service>("shop", "web");
    service->spec.selector["app"] = "web";
    auto elsewhere = Named<model::Service>("other", "web");
    elsewhere->spec.selector["tier"] = "front";
    auto another = Named<model::Service>("shop", "db");
    another->spec.selector["app"] = "db";
    auto headless = Named<model::Service>("shop", "nobody");
    objects_.services = {service, elsewhere, another, headless};
    auto set = Named<model::ReplicaSet>("shop", "web");
    set->spec.selector.emplace().match_labels["tier"] = "front";
    set->spec.selector->match_expressions.push_back({"app", "Exists", {}});
    objects_.replica_sets = {set};
    auto controller = Named<model::ReplicationController>("shop", "old");
    controller->spec.selector["app"] = "mine";
    objects_.replication_controllers = {controller};
  }

  std::shared_ptr<const model::Pod> Given(const model::Pod& pod) {
    return DefaultSpread({Constraint("DoNotSchedule")}, objects_).With(pod);
  }

  SpreadObjects objects_;
};

TEST_F(DefaultSpreadTest, ServicesOfTheNamespaceThatSelectThePodAreMerged) {
  const auto given = Given(PodOf("", ""));
  ASSERT_NE(given, nullptr);
  ASSERT_THAT(given->spec.topology_spread_constraints, SizeIs(1));
  const auto& selector = given->spec.topology_spread_constraints[0].label_selector;
  ASSERT_TRUE(selector.has_value());
  EXPECT_THAT(selector->match_labels, ElementsAre(testing::Pair("app", "web")));
  EXPECT_THAT(selector->match_expressions, IsEmpty());
}

TEST_F(DefaultSpreadTest, AReplicaSetAddsWhatItSelects) {
  const auto selector =
      Given(PodOf("ReplicaSet", "web"))->spec.topology_spread_constraints[0].label_selector;
  EXPECT_THAT(selector->match_labels, ElementsAre(testing::Pair("app", "web")));
  EXPECT_THAT(selector->match_expressions,
              ElementsAre(model::LabelSelectorRequirement{"tier", "In", {"front"}},
                          model::LabelSelectorRequirement{"app", "Exists", {}}));
}

TEST_F(DefaultSpreadTest, AReplicationControllerOverwritesWhatAServiceWants) {
  const auto selector = Given(PodOf("ReplicationController", "old"))
                            ->spec.topology_spread_constraints[0]
                            .label_selector;
  EXPECT_THAT(selector->match_labels, ElementsAre(testing::Pair("app", "mine")));
}

TEST_F(DefaultSpreadTest, WithoutASelectorOrWithConstraintsOfItsOwnThePodStaysAsItIs) {
  model::Pod stranger = PodOf("DaemonSet", "web");
  stranger.metadata.labels.clear();
  EXPECT_EQ(Given(stranger), nullptr);
  model::Pod own = PodOf("ReplicaSet", "web");
  own.spec.topology_spread_constraints.push_back(Constraint("ScheduleAnyway"));
  EXPECT_EQ(Given(own), nullptr);
}

// ---- In the solver.

std::vector<PodPtr> PodsOfOneSet(BenchPods& pods, int count) {
  std::vector<PodPtr> made;
  for (int i = 0; i < count; ++i) {
    auto pod = pods.Plain("app");
    if (!made.empty()) pod->metadata.labels = made[0]->metadata.labels;
    pod->metadata.owner_references = {
        {.api_version = "apps/v1", .kind = "ReplicaSet", .name = "web", .controller = true}};
    made.push_back(pod);
  }
  return made;
}

std::shared_ptr<const DefaultSpread> SpreadOf(const std::vector<PodPtr>& pods,
                                              const model::TopologySpreadConstraint& constraint) {
  auto set = Named<model::ReplicaSet>(pods[0]->metadata.namespace_, "web");
  set->spec.selector.emplace().match_labels = pods[0]->metadata.labels;
  return std::make_shared<DefaultSpread>(std::vector{constraint},
                                         SpreadObjects{.replica_sets = {set}});
}

std::set<std::string> ZonesOf(const SolveOutcome& outcome) {
  std::set<std::string> zones;
  for (const PlannedClaim& claim : outcome.claims) {
    if (claim.requirements.Has(model::kZoneLabel))
      zones.insert(claim.requirements.Get(model::kZoneLabel).ToString());
  }
  return zones;
}

TEST(DefaultSpreadSolveTest, PodsOfOneSetAreBoughtApart) {
  SolverInput input = BenchInput(8);
  BenchPods pods(1);
  const auto asked = PodsOfOneSet(pods, 2);
  EXPECT_THAT(Solver(input, {}).Solve({.pods = asked}).claims, SizeIs(1));
  input.default_spread = SpreadOf(asked, Constraint("DoNotSchedule"));
  const SolveOutcome outcome = Solver(input, {}).Solve({.pods = asked});
  EXPECT_THAT(outcome.claims, SizeIs(2));
  EXPECT_THAT(ZonesOf(outcome), SizeIs(2));
}

TEST(DefaultSpreadSolveTest, AWishAmongThemIsDroppedAndDoesNotComeBack) {
  SolverInput input = BenchInput(8);
  BenchPods pods(1);
  const auto asked = PodsOfOneSet(pods, 1);
  model::TopologySpreadConstraint nowhere = Constraint("ScheduleAnyway");
  nowhere.topology_key = "example.com/rack";  // that no machine has
  input.default_spread = SpreadOf(asked, nowhere);
  const SolveOutcome wished = Solver(input, {}).Solve({.pods = asked});
  EXPECT_THAT(wished.claims, SizeIs(1));
  EXPECT_THAT(wished.errors, IsEmpty());
  nowhere.when_unsatisfiable = "DoNotSchedule";
  input.default_spread = SpreadOf(asked, nowhere);
  EXPECT_THAT(Solver(input, {}).Solve({.pods = asked}).errors, SizeIs(1));
}

}  // namespace
}  // namespace coppice::provision
