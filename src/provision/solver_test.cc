#include "provision/solver.h"

#include <gtest/gtest.h>

#include <string>

#include "provision/bench_load.h"

namespace coppice::provision {
namespace {

class SolverTest : public testing::Test {
 protected:
  SolveOutcome Ask(std::vector<PodPtr> pods, std::vector<size_t> without = {}) {
    Solver solver(input_, options_);
    return solver.Solve({.pods = std::move(pods), .without_nodes = std::move(without)});
  }
  void AddNode(const std::string& name, const std::string& zone) {
    auto node = std::make_shared<model::Node>();
    node->metadata.name = name;
    node->metadata.labels[model::kHostnameLabel] = name;
    node->metadata.labels[model::kZoneLabel] = zone;
    for (auto* list : {&node->status.capacity, &node->status.allocatable}) {
      (*list)["cpu"] = model::Quantity::FromUnits(2);
      (*list)["memory"] = model::Quantity::FromUnits(int64_t{8} << 30);
      (*list)["pods"] = model::Quantity::FromUnits(10);
    }
    input_.nodes.emplace_back().node = node;
  }
  std::shared_ptr<model::Pod> PodOf(int64_t cpu_millis) {
    auto pod = pods_.Plain("app");
    pod->spec.containers.front().resources.requests["cpu"] =
        model::Quantity::FromMillis(cpu_millis);
    return pod;
  }

  SolverInput input_ = BenchInput(8);
  SolverOptions options_;
  BenchPods pods_{1};
};

TEST_F(SolverTest, ANodeThatIsThereComesBeforeAMachineThatIsBought) {
  AddNode("there", "test-zone-1");
  const auto outcome = Ask({PodOf(1500)});
  EXPECT_TRUE(outcome.claims.empty());
  ASSERT_EQ(outcome.existing.size(), 1u);
  EXPECT_EQ(outcome.existing.front().node, 0u);
}

TEST_F(SolverTest, ANodeThatIsLeftOutTakesNothing) {
  AddNode("there", "test-zone-1");
  const auto outcome = Ask({PodOf(1500)}, {0});
  EXPECT_TRUE(outcome.existing.empty());
  EXPECT_EQ(outcome.claims.size(), 1u);
}

TEST_F(SolverTest, AQuestionLeavesNoTraceInTheNext) {
  AddNode("there", "test-zone-1");
  Solver solver(input_, options_);
  const SolveRequest filled{.pods = {PodOf(1500)}};
  for (int i = 0; i < 3; ++i) EXPECT_EQ(solver.Solve(filled).existing.size(), 1u);
  SolveRequest without = filled;
  without.without_nodes = {0};
  EXPECT_EQ(solver.Solve(without).claims.size(), 1u);
  EXPECT_EQ(solver.Solve(filled).existing.size(), 1u);
}

TEST_F(SolverTest, TheHeavierPoolBuysAndAmongEqualsTheLaterName) {
  Pool other = input_.pools.front();
  other.name = "zzz";
  input_.pools.push_back(other);
  EXPECT_EQ(Ask({PodOf(100)}).claims.front().pool, 1u);
  input_.pools.front().weight = 1;
  EXPECT_EQ(Ask({PodOf(100)}).claims.front().pool, 0u);
}

TEST_F(SolverTest, NodeLimitsHoldWithinOneQuestionUnlessAskedToBeExact) {
  input_.pools.front().limits["nodes"] = model::Quantity::FromUnits(1);
  std::vector<PodPtr> apart;
  for (int i = 0; i < 3; ++i) apart.push_back(pods_.Apart(model::kHostnameLabel));
  auto outcome = Ask(apart);
  EXPECT_EQ(outcome.claims.size(), 1u);
  ASSERT_EQ(outcome.errors.size(), 2u);
  EXPECT_EQ(outcome.errors.front().text,
            "node limits have been exhausted for nodepool (NodePool=default)");
  options_.upstream_exact = true;
  EXPECT_EQ(Ask(apart).claims.size(), 3u);
}

TEST_F(SolverTest, AWishIsDroppedBeforeAPodIsRefused) {
  auto pod = PodOf(100);
  model::Affinity affinity;
  affinity.node_affinity.emplace().preferred.push_back(
      {.weight = 1,
       .preference = {.match_expressions = {{std::string(model::kZoneLabel), "In", {"nowhere"}}}}});
  pod->spec.affinity = affinity;
  const auto outcome = Ask({pod});
  ASSERT_EQ(outcome.claims.size(), 1u);
  EXPECT_FALSE(outcome.claims.front().requirements.Has(model::kZoneLabel));
}

TEST_F(SolverTest, OfEqualDomainsOneInWhichSomethingCanBeHadIsFound) {
  auto types = std::make_shared<cloud::InstanceTypes>(*input_.pools.front().types);
  for (cloud::InstanceType& type : *types) {
    for (cloud::Offering& offering : type.offerings)
      offering.available = offering.requirements.Get(model::kZoneLabel).Has("test-zone-2");
  }
  input_.pools.front().types = types;
  auto pod = PodOf(100);
  pod->spec.topology_spread_constraints.push_back(
      {.max_skew = 1,
       .topology_key = std::string(model::kZoneLabel),
       .when_unsatisfiable = "DoNotSchedule",
       .label_selector = model::LabelSelector{.match_labels = pod->metadata.labels}});
  const auto outcome = Ask({pod});
  ASSERT_EQ(outcome.claims.size(), 1u) << outcome.errors.front().text;
  EXPECT_TRUE(outcome.claims.front().requirements.Get(model::kZoneLabel).Has("test-zone-2"));
}

TEST_F(SolverTest, PodsThatAskForDevicesByClaimAreRefusedForGood) {
  auto pod = PodOf(100);
  pod->spec.resource_claims.push_back({.name = "gpu"});
  const auto outcome = Ask({pod});
  ASSERT_EQ(outcome.errors.size(), 1u);
  EXPECT_EQ(outcome.errors.front().kind, PodErrorKind::kDra);
}

TEST_F(SolverTest, APodOfASettlingNodesPoolIsNotMovedThere) {
  AddNode("young", "test-zone-1");
  input_.nodes.front().settling = true;
  auto pod = PodOf(100);
  pod->status.phase = "Running";
  Solver solver(input_, options_);
  SolveRequest request{.pods = {pod}};
  EXPECT_EQ(solver.Solve(request).existing.size(), 1u);
  request.is_consolidation = true;
  EXPECT_EQ(solver.Solve(request).claims.size(), 1u);
}

TEST_F(SolverTest, APoolThatCanBuyNothingIsNamedBeforeAnybodyAsks) {
  input_.pools.front().requirements.push_back(
      {.key = std::string(model::kZoneLabel), .operator_ = "In", .values = {"nowhere"}});
  Solver solver(input_, options_);
  ASSERT_EQ(solver.pool_problems().size(), 1u);
  const auto outcome = solver.Solve({.pods = {PodOf(100)}});
  ASSERT_EQ(outcome.errors.size(), 1u);
  EXPECT_EQ(outcome.errors.front().text,
            "nodepool requirements filtered out all available instance types");
}

TEST_F(SolverTest, TypesComeCheapestFirst) {
  const auto outcome = Ask({PodOf(2500)});
  ASSERT_EQ(outcome.claims.size(), 1u);
  ASSERT_EQ(outcome.claims.front().types.size(), 6u);
  EXPECT_EQ(outcome.claims.front().types.front()->name, "fake-it-2");
}

}  // namespace
}  // namespace coppice::provision
