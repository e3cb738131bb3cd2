#include "provision/nearest_pool.h"

#include <algorithm>
#include <array>

#include "base/strings.h"
#include "provision/amounts.h"
#include "provision/claim_builder.h"
#include "provision/pool_lack.h"

namespace coppice::provision {

namespace {

using Lack = report::PoolMiss::What;

// What may be out of the way, the dearest to change first: that is put back first.
constexpr std::array kInTheWay = {Lack::kRequirement, Lack::kResource, Lack::kTopology,
                                  Lack::kTaint,       Lack::kOffering, Lack::kLimit};

double WeightOf(Lack what) {
  switch (what) {
    case Lack::kLimit:
      return 1;
    case Lack::kOffering:
      return 1.5;
    case Lack::kTaint:
      return 2;
    case Lack::kTopology:
      return 3;
    case Lack::kResource:
      return 4;
    case Lack::kRequirement:
      return 5;
    default:
      return 10;
  }
}

struct Trial {
  std::vector<Lack> gone;  // out of the way
  std::string kept_key;    // of requirements: only this one is
};

bool IsGone(const Trial& trial, Lack what) {
  return std::ranges::find(trial.gone, what) != trial.gone.end();
}

class PoolTrials {
 public:
  PoolTrials(const DisruptionWorld& world, const PoolView& view, const PodPtr& pod,
             const SolverOptions& options, size_t& solves_left)
      : world_(world), view_(view), pod_(pod), options_(options), solves_left_(solves_left) {}

  // As many as a pool may take: all at once, one after the other, and which label it is.
  static constexpr size_t kMost = 1 + kInTheWay.size() + 4;

  bool Places(const Trial& trial) const {
    if (solves_left_ > 0) --solves_left_;
    SolverInput input;
    input.pools.push_back(PoolIn(trial));
    // Machines are no places here, only what the counts of topology are made from.
    for (const StateNode& state : world_.solver.nodes) {
      input.other_pods.insert(input.other_pods.end(), state.pods.begin(), state.pods.end());
    }
    input.node_objects = world_.solver.node_objects;
    input.daemon_pods = world_.solver.daemon_pods;
    input.namespaces = world_.solver.namespaces;
    input.storage = world_.solver.storage;
    if (!IsGone(trial, Lack::kTopology)) input.default_spread = world_.solver.default_spread;
    Solver solver(input, options_);
    SolveRequest request;
    request.pods = {PodIn(trial)};
    const SolveOutcome outcome = solver.Solve(request);
    return outcome.claims.size() == 1 && outcome.errors.empty();
  }

  // Which label it is, if one alone is in the way.
  std::string KeyInTheWay(const std::vector<Lack>& gone) const {
    const auto demands =
        model::RequirementsOf(*pod_, model::PodDemands::kRequired, options_.labels);
    for (const model::NodeRequirement& requirement : demands) {
      if (solves_left_ == 0) break;
      if (Places({gone, requirement.key()})) return requirement.key();
    }
    return "";
  }

 private:
  Pool PoolIn(const Trial& trial) const {
    std::shared_ptr<const cloud::InstanceTypes> types = view_.types;
    if (IsGone(trial, Lack::kOffering) && types != nullptr) {
      auto available = std::make_shared<cloud::InstanceTypes>(*types);
      for (cloud::InstanceType& type : *available) {
        for (cloud::Offering& offering : type.offerings) offering.available = true;
      }
      types = std::move(available);
    }
    Pool pool = PoolFrom(*view_.pool, std::move(types));
    if (IsGone(trial, Lack::kLimit)) {
      pool.limits.clear();
    } else {
      for (auto& [resource, limit] : pool.limits) {
        if (const auto* used = view_.pool->status.resources.Find(resource)) limit.Sub(*used);
      }
    }
    return pool;
  }

  PodPtr PodIn(const Trial& trial) const {
    auto pod = std::make_shared<model::Pod>(*pod_);
    if (IsGone(trial, Lack::kTaint)) {
      model::Toleration all;
      all.operator_ = "Exists";
      pod->spec.tolerations.push_back(std::move(all));
    }
    if (IsGone(trial, Lack::kTopology)) {
      pod->spec.topology_spread_constraints.clear();
      if (pod->spec.affinity) {
        pod->spec.affinity->pod_affinity = {};
        pod->spec.affinity->pod_anti_affinity = {};
      }
    }
    if (IsGone(trial, Lack::kResource)) {
      for (auto* containers : {&pod->spec.containers, &pod->spec.init_containers}) {
        for (model::Container& container : *containers) container.resources = {};
      }
      pod->spec.resources.reset();
      pod->spec.overhead.clear();
    }
    if (IsGone(trial, Lack::kRequirement)) DropDemands(*pod, trial.kept_key);
    return pod;
  }

  // All of them, or those on one label.
  static void DropDemands(model::Pod& pod, const std::string& key) {
    if (key.empty()) {
      pod.spec.node_selector.clear();
      if (pod.spec.affinity) pod.spec.affinity->node_affinity = {};
      return;
    }
    pod.spec.node_selector.erase(key);
    if (!pod.spec.affinity || !pod.spec.affinity->node_affinity) return;
    auto& affinity = *pod.spec.affinity->node_affinity;
    if (!affinity.required) return;
    for (auto& term : affinity.required->node_selector_terms) {
      std::erase_if(term.match_expressions,
                    [&](const auto& expression) { return expression.key == key; });
    }
  }

  const DisruptionWorld& world_;
  const PoolView& view_;
  const PodPtr& pod_;
  const SolverOptions& options_;
  size_t& solves_left_;
};

report::PoolMiss NotReady(const PoolView& view) {
  report::PoolMiss miss{.pool = view.pool->metadata.name, .what = Lack::kNotReady};
  miss.distance = 20;
  miss.text = model::IsStatic(*view.pool)              ? "it is static and buys nothing for pods"
              : view.pool->metadata.deletion_timestamp ? "it is being deleted"
              : view.types == nullptr || view.types->empty()
                  ? "its instance types are not known now"
                  : "it is not ready";
  for (const model::Condition& condition : view.pool->status.conditions) {
    if (condition.status == "False" && condition.type != model::karpenter::kReady &&
        !condition.message.empty())
      miss.text += " (" + condition.message + ")";
  }
  return miss;
}

bool MayBuy(const PoolView& view) {
  return !model::IsStatic(*view.pool) && !view.pool->metadata.deletion_timestamp &&
         model::IsTrue(view.pool->status.conditions, model::karpenter::kReady) &&
         view.types != nullptr && !view.types->empty();
}

report::PoolMiss MissOf(const DisruptionWorld& world, const PoolView& view, const PodPtr& pod,
                        const SolverOptions& options, size_t& solves_left) {
  if (!MayBuy(view)) return NotReady(view);
  const PoolTrials trials(world, view, pod, options, solves_left);
  report::PoolMiss miss{.pool = view.pool->metadata.name, .distance = 30};
  if (solves_left < PoolTrials::kMost) {
    miss.text = "not looked into: too many pods wait, for too many reasons";
    return miss;
  }
  std::vector<Lack> gone(kInTheWay.begin(), kInTheWay.end());
  if (!trials.Places({gone, ""})) {
    miss.text = "nothing that is known of would let it take the pod";
    return miss;
  }
  for (const Lack what : kInTheWay) {
    std::vector<Lack> less = gone;
    std::erase(less, what);
    if (trials.Places({less, ""})) gone = std::move(less);
  }
  miss.tried = true;
  miss.distance = 0;
  if (gone.empty()) {
    miss.text = "alone it would be taken; others of the same batch came first";
    miss.would_take_if = "it came alone, as it may the next time";
    return miss;
  }
  miss.what = gone.front();
  if (IsGone({gone, ""}, Lack::kRequirement)) miss.key = trials.KeyInTheWay(gone);
  std::vector<std::string> texts;
  std::vector<std::string> changes;
  for (const Lack what : gone) {
    miss.distance += WeightOf(what);
    PoolLack lack = LackOf(what, miss.key, view, *pod, options);
    texts.push_back(std::move(lack.text));
    changes.push_back(std::move(lack.would_take_if));
    miss.shortfalls.insert(miss.shortfalls.end(), lack.shortfalls.begin(), lack.shortfalls.end());
  }
  miss.text = Join(texts, "; and ");
  miss.would_take_if = Join(changes, ", and ");
  return miss;
}

}  // namespace

std::vector<report::PoolMiss> NearMisses(const DisruptionWorld& world, const PodPtr& pod,
                                         const SolverOptions& options, size_t& solves_left) {
  std::vector<report::PoolMiss> misses;
  for (const PoolView& view : world.pools)
    misses.push_back(MissOf(world, view, pod, options, solves_left));
  std::ranges::sort(misses, [](const report::PoolMiss& a, const report::PoolMiss& b) {
    return a.distance != b.distance ? a.distance < b.distance : a.pool < b.pool;
  });
  return misses;
}

}  // namespace coppice::provision
