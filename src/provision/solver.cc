#include "provision/solver.h"

#include <algorithm>
#include <utility>

#include "provision/solve_run.h"
#include "provision/world.h"

namespace coppice::provision {
namespace {

bool IsControlledBy(const model::Pod& pod, const model::DaemonSet& set) {
  const model::OwnerReference* controller = model::ControllerOf(pod.metadata);
  return controller != nullptr && controller->uid == set.metadata.uid;
}

// As the API server would: a limit without a request is one.
void RequestLimits(std::vector<model::Container>& containers) {
  for (model::Container& container : containers) {
    for (const auto& [name, amount] : container.resources.limits) {
      if (!container.resources.requests.contains(name)) container.resources.requests[name] = amount;
    }
  }
}

model::Pod PodFromTemplate(const model::DaemonSet& set) {
  model::Pod pod;
  pod.metadata.name = set.metadata.name;
  pod.metadata.namespace_ = set.metadata.namespace_;
  pod.spec = set.spec.template_.spec;
  RequestLimits(pod.spec.containers);
  RequestLimits(pod.spec.init_containers);
  return pod;
}

}  // namespace

Solver::Solver(const SolverInput& input, SolverOptions options)
    : world_(std::make_unique<SolverWorld>(input, std::move(options))) {}
Solver::~Solver() = default;

SolveOutcome Solver::Solve(const SolveRequest& request) { return SolveRun(*world_, request).Run(); }

const std::vector<PoolProblem>& Solver::pool_problems() const { return world_->pool_problems; }

std::vector<PodPtr> DaemonPods(const std::vector<std::shared_ptr<const model::DaemonSet>>& sets,
                               const std::vector<PodPtr>& live_pods) {
  std::vector<PodPtr> pods;
  for (const auto& set : sets) {
    const model::Pod* newest = nullptr;
    for (const PodPtr& pod : live_pods) {
      if (pod->metadata.namespace_ != set->metadata.namespace_ || !IsControlledBy(*pod, *set))
        continue;
      if (newest == nullptr ||
          pod->metadata.creation_timestamp > newest->metadata.creation_timestamp) {
        newest = pod.get();
      }
    }
    auto made = std::make_shared<model::Pod>(newest == nullptr ? PodFromTemplate(*set) : *newest);
    // The daemon set controller has put the name of the node into a live pod's affinity.
    const auto& wanted = set->spec.template_.spec.affinity;
    if (wanted && wanted->node_affinity && wanted->node_affinity->required) {
      model::Affinity affinity = made->spec.affinity ? *made->spec.affinity : model::Affinity();
      if (!affinity.node_affinity) affinity.node_affinity.emplace();
      affinity.node_affinity->required = wanted->node_affinity->required;
      made->spec.affinity = affinity;
    }
    pods.push_back(std::move(made));
  }
  return pods;
}

}  // namespace coppice::provision
