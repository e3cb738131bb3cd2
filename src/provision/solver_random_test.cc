// The fast solver against the plain one, on more claims than any recorded case has: ruled-out bits,
// interned sets, counts over hosts and the order of claims must not change an answer.

#include <gtest/gtest.h>

#include <string>

#include "provision/bench_load.h"
#include "provision/plain_solve.h"
#include "provision/solver.h"

namespace coppice::provision {
namespace {

struct Load {
  SolverInput input;
  std::vector<PodPtr> pods;
};

// Whatever makes places differ: pools, taints, limits, zones, nodes that are half full.
Load RandomLoad(uint64_t seed, size_t pods) {
  BenchPods make(seed);
  Load load{.input = BenchInput(24), .pods = {}};
  load.input.pools.front().limits.clear();
  Pool other = load.input.pools.front();
  other.name = "other";
  other.weight = static_cast<int32_t>(make.Below(3));
  other.requirements.push_back({.key = std::string(model::kZoneLabel),
                                .operator_ = "In",
                                .values = {"test-zone-1", "test-zone-3"}});
  other.limits["cpu"] = model::Quantity::FromUnits(200);
  if (make.Below(2) == 0) other.labels["team"] = "red";
  if (make.Below(2) == 0) other.taints.push_back({.key = "only", .effect = "NoSchedule"});
  load.input.pools.push_back(other);
  for (size_t i = 0; i < make.Below(20); ++i) {
    auto node = std::make_shared<model::Node>();
    node->metadata.name = fmt::format("node-{:03}", i);
    node->metadata.labels[model::kHostnameLabel] = node->metadata.name;
    node->metadata.labels[model::kZoneLabel] = fmt::format("test-zone-{}", 1 + make.Below(3));
    if (make.Below(3) == 0) node->metadata.labels["team"] = "blue";
    for (auto* list : {&node->status.capacity, &node->status.allocatable}) {
      (*list)["cpu"] = model::Quantity::FromUnits(4);
      (*list)["memory"] = model::Quantity::FromUnits(int64_t{8} << 30);
      (*list)["pods"] = model::Quantity::FromUnits(8);
    }
    StateNode& state = load.input.nodes.emplace_back();
    state.node = node;
    for (size_t n = 0; n < make.Below(3); ++n) {
      auto pod = make.Below(3) == 0 ? make.Apart(model::kHostnameLabel) : make.Plain("my-label");
      pod->spec.node_name = node->metadata.name;
      pod->status.phase = "Running";
      state.pods.push_back(pod);
    }
  }
  for (size_t i = 0; i < pods; ++i) {
    std::shared_ptr<model::Pod> pod;
    switch (make.Below(7)) {
      case 0:
        pod = make.Spread(model::kZoneLabel);
        break;
      case 1:
        pod = make.Spread(model::kHostnameLabel);
        break;
      case 2:
        pod = make.Together(make.Below(4) == 0 ? model::kHostnameLabel : model::kZoneLabel);
        break;
      case 3:
        pod = make.Apart(model::kHostnameLabel);
        break;
      case 4:
        pod = std::make_shared<model::Pod>(*make.WithWishes(1).front());
        break;
      default:
        pod = make.Plain("my-label");
    }
    if (make.Below(6) == 0)
      pod->spec.node_selector[model::kZoneLabel] = fmt::format("test-zone-{}", 1 + make.Below(4));
    if (make.Below(12) == 0) pod->spec.node_selector["team"] = make.Below(2) == 0 ? "red" : "blue";
    if (make.Below(8) == 0) pod->spec.tolerations.push_back({.key = "only", .operator_ = "Exists"});
    if (make.Below(20) == 0) {
      model::Affinity affinity = pod->spec.affinity ? *pod->spec.affinity : model::Affinity();
      if (!affinity.node_affinity) affinity.node_affinity.emplace();
      affinity.node_affinity->required.emplace().node_selector_terms = {
          {.match_expressions = {{.key = "team", .operator_ = "NotIn", .values = {"green"}}}}};
      pod->spec.affinity = affinity;
    }
    if (make.Below(25) == 0) {
      pod->spec.containers.front().ports.push_back(
          {.host_port = static_cast<int32_t>(8000 + make.Below(3)), .protocol = "TCP"});
    }
    load.pods.push_back(std::move(pod));
  }
  return load;
}

std::string Describe(size_t index, const std::vector<size_t>& pods, const cloud::TypeList& types,
                     model::NodeRequirements requirements) {
  std::vector<std::string> names;
  for (const cloud::InstanceType* type : types) names.push_back(type->name);
  std::ranges::sort(names);
  requirements.Remove(model::kHostnameLabel);
  return fmt::format("{}: pods {} types {} with {}", index, fmt::join(pods, ","),
                     fmt::join(names, ","), requirements.ToString());
}

void ExpectSame(uint64_t seed, size_t pods, size_t least_claims) {
  const Load load = RandomLoad(seed, pods);
  SolverOptions options;
  options.labels.well_known.insert("integer");
  PlainSolve plain(load.input, options);
  plain.Run(load.pods);
  Solver solver(load.input, options);
  const SolveOutcome fast = solver.Solve({.pods = load.pods});
  std::vector<std::string> theirs;
  std::vector<std::string> ours;
  for (const auto& claim : plain.claims)
    theirs.push_back(Describe(claim.index, claim.pods, claim.types, claim.requirements));
  for (const PlannedClaim& claim : fast.claims)
    ours.push_back(Describe(claim.pool, claim.pods, claim.types, claim.requirements));
  std::ranges::sort(theirs);
  std::ranges::sort(ours);
  EXPECT_EQ(ours, theirs) << "seed " << seed;
  EXPECT_GE(ours.size(), least_claims);
  std::map<size_t, std::vector<size_t>> on_nodes;
  for (const auto& node : plain.nodes) {
    if (!node.pods.empty()) on_nodes[node.index] = node.pods;
  }
  std::map<size_t, std::vector<size_t>> on_ours;
  for (const ExistingPlacement& placement : fast.existing) on_ours[placement.node] = placement.pods;
  EXPECT_EQ(on_ours, on_nodes) << "seed " << seed;
  std::vector<size_t> refused;
  for (const PodError& error : fast.errors) refused.push_back(error.pod);
  EXPECT_EQ(refused, plain.refused) << "seed " << seed;
}

TEST(SolverRandomTest, AnswersAsThePlainOneOnManySmallLoads) {
  for (uint64_t seed = 1; seed <= 60; ++seed) ExpectSame(seed, 40, 0);
}

TEST(SolverRandomTest, AnswersAsThePlainOneOnHundredsOfClaims) {
  for (uint64_t seed = 100; seed <= 102; ++seed) ExpectSame(seed, 900, 120);
}

TEST(SolverRandomTest, AsksTheSameQuestionTwiceWithTheSameAnswer) {
  const Load load = RandomLoad(7, 200);
  Solver solver(load.input, {});
  const SolveOutcome first = solver.Solve({.pods = load.pods});
  const SolveOutcome second = solver.Solve({.pods = load.pods});
  ASSERT_EQ(first.claims.size(), second.claims.size());
  for (size_t i = 0; i < first.claims.size(); ++i) {
    EXPECT_EQ(first.claims[i].pods, second.claims[i].pods);
    EXPECT_EQ(first.claims[i].requirements, second.claims[i].requirements);
  }
  EXPECT_EQ(first.errors.size(), second.errors.size());
}

}  // namespace
}  // namespace coppice::provision
