#include "provision/nearest_pool.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

#include "base/strings.h"
#include "model/resources.h"
#include "model/taints.h"
#include "provision/amounts.h"
#include "provision/claim_builder.h"

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

  std::string TextOf(Lack what, const std::string& key) const {
    switch (what) {
      case Lack::kRequirement:
        return key.empty() ? "it demands labels that no machine of the pool has"
                           : "it demands " + DemandOf(key) + ", which no machine of the pool has";
      case Lack::kResource:
        return ResourceText();
      case Lack::kTopology:
        return "its spread or affinity rules leave it no place";
      case Lack::kTaint:
        return TaintText();
      case Lack::kOffering:
        return "nothing of what would do is available now";
      case Lack::kLimit:
        return "the limits of the pool are reached: " + LimitText();
      default:
        return "";
    }
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

  std::string DemandOf(const std::string& key) const {
    const auto demands =
        model::RequirementsOf(*pod_, model::PodDemands::kRequired, options_.labels);
    return demands.Get(key).ToString();
  }

  // The resource that is furthest from what the largest type has.
  std::string ResourceText() const {
    std::string text = "it asks for more than any machine of the pool has";
    double worst = 0;
    for (const auto& [resource, amount] : model::RequestList(*pod_)) {
      model::Quantity most;
      for (const cloud::InstanceType& type : *view_.types) {
        for (const cloud::AllocatableGroup& group : cloud::AllocatableGroups(type)) {
          const auto* has = group.allocatable.Find(resource);
          if (has != nullptr && most.Compare(*has) < 0) most = *has;
        }
      }
      if (amount.Compare(most) <= 0) continue;
      const double ratio = static_cast<double>(amount.MilliValue()) /
                           static_cast<double>(std::max<int64_t>(1, most.MilliValue()));
      if (ratio <= worst) continue;
      worst = ratio;
      text = fmt::format("it asks for {} of {}, and the largest machine of the pool has {}",
                         amount.ToString(), resource, most.ToString());
    }
    return text;
  }

  std::string TaintText() const {
    std::vector<std::string> taints;
    for (const model::Taint& taint : view_.pool->spec.template_.spec.taints) {
      if (!model::Tolerates(pod_->spec.tolerations, taint))
        taints.push_back(model::ToString(taint));
    }
    return "it does not tolerate " + Join(taints, ", ");
  }

  std::string LimitText() const {
    std::vector<std::string> limits;
    for (const auto& [resource, limit] : view_.pool->spec.limits) {
      const auto* used = view_.pool->status.resources.Find(resource);
      limits.push_back(fmt::format("{} {} of {}", resource,
                                   used == nullptr ? "0" : used->ToString(), limit.ToString()));
    }
    return Join(limits, ", ");
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
    return miss;
  }
  miss.what = gone.front();
  if (IsGone({gone, ""}, Lack::kRequirement)) miss.key = trials.KeyInTheWay(gone);
  std::vector<std::string> texts;
  for (const Lack what : gone) {
    miss.distance += WeightOf(what);
    texts.push_back(trials.TextOf(what, miss.key));
  }
  miss.text = Join(texts, "; and ");
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
