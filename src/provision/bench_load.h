// A load for the solver: the instance types and pods of the peer's own scheduling benchmark. For
// benchmarks and tests.

#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/rng.h"
#include "provision/solver.h"

namespace coppice::provision {

// `fake-it-i`: i+1 cpu, 2(i+1) Gi, 10(i+1) pods; spot in two zones, on demand in three.
inline std::shared_ptr<const cloud::InstanceTypes> BenchTypes(int count) {
  auto types = std::make_shared<cloud::InstanceTypes>();
  for (int i = 0; i < count; ++i) {
    cloud::InstanceType& type = types->emplace_back();
    type.name = fmt::format("fake-it-{}", i);
    type.capacity["cpu"] = model::Quantity::FromUnits(i + 1);
    type.capacity["memory"] =
        model::Quantity::FromUnits(int64_t{2} * (i + 1) << 30, model::Quantity::Format::kBinarySI);
    type.capacity["pods"] = model::Quantity::FromUnits(10 * (i + 1));
    type.overhead.kube_reserved["cpu"] = model::Quantity::FromMillis(100);
    type.overhead.kube_reserved["memory"] =
        model::Quantity::FromUnits(10 << 20, model::Quantity::Format::kBinarySI);
    using Requirement = model::NodeRequirement;
    type.requirements.Add(Requirement::In(model::kInstanceTypeLabel, {type.name}));
    type.requirements.Add(Requirement::In(model::kArchLabel, {"amd64"}));
    type.requirements.Add(Requirement::In(model::kOsLabel, {"linux", "windows", "darwin"}));
    type.requirements.Add(
        Requirement::In(model::kZoneLabel, {"test-zone-1", "test-zone-2", "test-zone-3"}));
    type.requirements.Add(Requirement::In(model::kCapacityTypeLabel, {"spot", "on-demand"}));
    type.requirements.Add(Requirement::In("integer", {std::to_string(i + 1)}));
    for (const auto& [capacity_type, zone] :
         std::vector<std::pair<std::string, std::string>>{{"spot", "test-zone-1"},
                                                          {"spot", "test-zone-2"},
                                                          {"on-demand", "test-zone-1"},
                                                          {"on-demand", "test-zone-2"},
                                                          {"on-demand", "test-zone-3"}}) {
      cloud::Offering& offering = type.offerings.emplace_back();
      offering.requirements.Add(Requirement::In(model::kCapacityTypeLabel, {capacity_type}));
      offering.requirements.Add(Requirement::In(model::kZoneLabel, {zone}));
      offering.price = 0.1 * (i + 1) + 0.2 * (i + 1) * 1.073741824;
    }
  }
  return types;
}

class BenchPods {
 public:
  explicit BenchPods(uint64_t seed) : rng_(seed) {}

  // Five kinds in equal parts: plain, spread over zones, spread over hosts, together in a zone,
  // each on a host of its own.
  std::vector<PodPtr> Diverse(size_t count) {
    std::vector<PodPtr> pods;
    const size_t part = count / 5;
    for (size_t i = 0; i < part; ++i) pods.push_back(Plain("my-label"));
    for (size_t i = 0; i < part; ++i) pods.push_back(Spread(model::kZoneLabel));
    for (size_t i = 0; i < part; ++i) pods.push_back(Spread(model::kHostnameLabel));
    for (size_t i = 0; i < part; ++i) pods.push_back(Together(model::kZoneLabel));
    for (size_t i = 0; i < part; ++i) pods.push_back(Apart(model::kHostnameLabel));
    while (pods.size() < count) pods.push_back(Plain("my-label"));
    return pods;
  }

  // Alike, with a wish for a zone, one that cannot be met, and one for a host of its own.
  std::vector<PodPtr> WithWishes(size_t count) {
    const auto requests = Requests();
    std::vector<PodPtr> pods;
    for (size_t i = 0; i < count; ++i) {
      auto pod = Base({{"app", "nginx"}});
      pod->spec.containers.front().resources.requests = requests;
      model::Affinity affinity;
      affinity.node_affinity.emplace().preferred.push_back(
          {.weight = 1,
           .preference = {.match_expressions = {{.key = std::string(model::kZoneLabel),
                                                 .operator_ = "In",
                                                 .values = {"test-zone-1"}}}}});
      auto& apart = affinity.pod_anti_affinity.emplace().preferred;
      apart.push_back(
          {.weight = 10, .pod_affinity_term = Term({{"app", "nginx"}}, model::kZoneLabel)});
      apart.push_back(
          {.weight = 1, .pod_affinity_term = Term({{"app", "nginx"}}, model::kHostnameLabel)});
      pod->spec.affinity = affinity;
      pods.push_back(std::move(pod));
    }
    return pods;
  }

  std::shared_ptr<model::Pod> Plain(const std::string& label) {
    return Base({{label, LabelValue()}});
  }
  std::shared_ptr<model::Pod> Spread(std::string_view key) {
    auto pod = Plain("my-label");
    model::TopologySpreadConstraint& spread = pod->spec.topology_spread_constraints.emplace_back();
    spread.max_skew = 1;
    spread.topology_key = key;
    spread.when_unsatisfiable = "DoNotSchedule";
    spread.label_selector.emplace().match_labels["my-label"] = LabelValue();
    return pod;
  }
  std::shared_ptr<model::Pod> Together(std::string_view key) {
    auto pod = Plain("my-affinity");
    model::Affinity affinity;
    affinity.pod_affinity.emplace().required.push_back(Term(pod->metadata.labels, key));
    pod->spec.affinity = affinity;
    return pod;
  }
  std::shared_ptr<model::Pod> Apart(std::string_view key) {
    auto pod = Base({{"app", "nginx"}});
    model::Affinity affinity;
    affinity.pod_anti_affinity.emplace().required.push_back(Term(pod->metadata.labels, key));
    pod->spec.affinity = affinity;
    return pod;
  }
  size_t Below(size_t bound) { return static_cast<size_t>(rng_.Below(bound)); }
  std::string LabelValue() { return std::string(1, static_cast<char>('a' + Below(7))); }

 private:
  static model::PodAffinityTerm Term(const model::Labels& labels, std::string_view key) {
    model::PodAffinityTerm term;
    term.label_selector.emplace().match_labels = labels;
    term.topology_key = key;
    return term;
  }
  model::ResourceList Requests() {
    constexpr int64_t kMillis[] = {100, 250, 500, 1000, 1500};
    constexpr int64_t kMebibytes[] = {100, 256, 512, 1024, 2048, 4096};
    model::ResourceList requests;
    requests["cpu"] = model::Quantity::FromMillis(kMillis[Below(5)]);
    requests["memory"] =
        model::Quantity::FromUnits(kMebibytes[Below(6)] << 20, model::Quantity::Format::kBinarySI);
    return requests;
  }
  std::shared_ptr<model::Pod> Base(const model::Labels& labels) {
    auto pod = std::make_shared<model::Pod>();
    pod->metadata.name = fmt::format("pod-{}", ++made_);
    pod->metadata.uid = fmt::format("{:08}", made_);
    pod->metadata.namespace_ = "default";
    pod->metadata.labels = labels;
    pod->spec.containers.emplace_back().resources.requests = Requests();
    pod->status.phase = "Pending";
    return pod;
  }

  SeededRng rng_;
  int made_ = 0;
};

inline SolverInput BenchInput(int types) {
  SolverInput input;
  Pool& pool = input.pools.emplace_back();
  pool.name = "default";
  pool.node_class_label = "example.com/nodeclass";
  pool.node_class_name = "default";
  pool.limits["cpu"] = model::Quantity::FromUnits(10'000'000);
  pool.limits["memory"] =
      model::Quantity::FromUnits(int64_t{10'000'000} << 30, model::Quantity::Format::kBinarySI);
  pool.types = BenchTypes(types);
  return input;
}

}  // namespace coppice::provision
