#include "whatif/pools.h"

#include <algorithm>
#include <utility>

#include "model/node_pool_validation.h"
#include "provision/pod_selection.h"
#include "whatif/doubles.h"
#include "whatif/pools_removal.h"
#include "whatif/pools_scene.h"
#include "whatif/workloads.h"

namespace coppice::whatif {

using provision::PodPtr;

namespace {

// A consolidation that goes on for longer has lost its way, or the reader has.
constexpr size_t kMostMoves = 500;
constexpr Duration kRefreshTime = std::chrono::seconds(60);

provision::SolverOptions SolverOptionsOf(const provision::EngineOptions& options,
                                         const cloud::NodeClaimsTraits& traits) {
  return {.preferences = options.preference_policy,
          .min_values = options.min_values_policy,
          .reserved_capacity = options.gates.reserved_capacity,
          .ignore_dra_requests = options.ignore_dra_requests,
          .most_instance_types = traits.most_instance_types,
          .upstream_exact = options.upstream_exact,
          .labels = traits.labels,
          .reservation_label = traits.reservation_label};
}

class PoolsRun {
 public:
  PoolsRun(PoolsWhatIf what_if, cloud::NodeClaims& claims, const Clock& clock)
      : what_if_(std::move(what_if)), claims_(claims), clock_(clock) {}

  Result<PoolsPlan> Run() {
    plan_.now = what_if_.now ? *what_if_.now : NewestTime(what_if_.cluster).value_or(clock_.Now());
    plan_.notes = std::move(what_if_.notes);
    AddWorkloads();
    if (!what_if_.live) TRY(TellClasses());
    std::vector<provision::PoolView> pools = TRY(OpenPools());
    plan_.nodes = what_if_.cluster.nodes.size();
    plan_.pods = what_if_.cluster.pods.size();
    MarkWaiting();
    scene_.emplace(std::move(what_if_.cluster), std::move(pools), claims_.Traits(), plan_.now);
    Count(plan_.cost_before, &PoolsPlan::Machines::before);
    plan_.removals = TRY(RemoveNodes(*scene_, what_if_.remove_nodes));
    TRY(Provision());
    SayWhereTheyWent(plan_);
    plan_.cost_bought = plan_.cost_after = scene_->CostPerHour();
    if (what_if_.consolidate) TRY(Consolidate());
    Count(plan_.cost_after, &PoolsPlan::Machines::after);
    plan_.nodes_after = scene_->Nodes();
    plan_.pods_after = scene_->Pods();
    return std::move(plan_);
  }

 private:
  void Count(double& cost, int64_t PoolsPlan::Machines::* machines) {
    cost = 0;
    for (const auto& [name, counts] : scene_->Counts()) {
      cost += counts.cost;
      plan_.machines[name].*machines = counts.active;
    }
  }

  Status GoOn() const {
    if (!what_if_.stop || !what_if_.stop()) return Status::Ok();
    return DeadlineExceeded("stopped after " + std::to_string(plan_.moves.size()) +
                            " moves of node pools");
  }

  void AddWorkloads() {
    ClusterObjects added =
        ExpandWorkloads(what_if_.added, what_if_.cluster, plan_.now, plan_.notes);
    plan_.added = added.pods.size();
    const auto append = [](auto& to, const auto& from) {
      to.insert(to.end(), from.begin(), from.end());
    };
    ClusterObjects& cluster = what_if_.cluster;
    append(cluster.pods, added.pods);
    append(cluster.replica_sets, added.replica_sets);
    append(cluster.claims, added.claims);
    append(cluster.budgets, added.budgets);
    append(cluster.daemon_sets, added.daemon_sets);
    append(cluster.node_pools, what_if_.added.node_pools);
    append(cluster.node_classes, what_if_.added.node_classes);
    // What is added takes the place of what is there: whoever gave both has been told.
    std::vector<std::string> told;
    DropDoubles(cluster, told);
  }

  // The solver looks at the nodes that are there before it buys, so every pod that is nowhere may
  // be asked for, whether a scheduler has looked at it or not.
  void MarkWaiting() {
    for (auto& pod : what_if_.cluster.pods) {
      if (!pod->spec.node_name.empty() || pod->metadata.deletion_timestamp ||
          !pod->spec.scheduling_gates.empty() || provision::IsTerminal(*pod))
        continue;
      pod = AsWaiting(*pod, plan_.now);
      ++plan_.pending;
    }
  }

  Status TellClasses() {
    std::vector<cloud::NodeClassInput> classes;
    const std::vector<cloud::NodeClassKind> kinds = claims_.SupportedNodeClasses();
    CHECK(!kinds.empty());
    for (const auto& node_class : what_if_.cluster.node_classes)
      classes.push_back({.kind = kinds.front(), .node_class = *node_class});
    for (const auto& pool : what_if_.cluster.node_pools) {
      const auto& reference = pool->spec.template_.spec.node_class_ref;
      if (!reference || !cloud::IsManaged(reference, kinds)) continue;
      const bool known = std::ranges::any_of(classes, [&](const cloud::NodeClassInput& input) {
        return input.node_class.metadata.name == reference->name;
      });
      if (known) continue;
      plan_.notes.push_back("the NodeClass " + reference->name + " of the pool " +
                            pool->metadata.name +
                            " is not in the dump: one without any wishes is "
                            "taken instead");
      cloud::NodeClassInput made{.kind = kinds.front()};
      made.node_class.metadata.name = reference->name;
      classes.push_back(std::move(made));
    }
    claims_.SetClasses(std::move(classes));
    return claims_.Refresh(Deadline::In(clock_, kRefreshTime)).Context("the catalog");
  }

  // Those that may buy, with their types; the others are told with why.
  Result<std::vector<provision::PoolView>> OpenPools() {
    std::vector<provision::PoolView> pools;
    for (const auto& object : what_if_.cluster.node_pools) {
      model::NodePool pool = *object;
      model::FillDefaults(pool);
      const std::string& name = pool.metadata.name;
      const auto& reference = pool.spec.template_.spec.node_class_ref;
      if (!cloud::IsManaged(reference, claims_.SupportedNodeClasses())) {
        plan_.problems.push_back(
            "NodePool " + name + " is not ours: " +
            (reference ? reference->group + "/" + reference->kind : "it has no nodeClassRef") +
            " is no class of this catalog");
        continue;
      }
      const std::vector<std::string> wrong = model::WrongWith(pool, claims_.Traits().labels);
      for (const std::string& sentence : wrong)
        plan_.problems.push_back("NodePool " + name + " is left out: " + sentence);
      if (!wrong.empty()) continue;
      auto types = claims_.InstanceTypesFor(pool, {});
      if (!types.ok()) {
        plan_.problems.push_back("NodePool " + name + " is left out: " + types.status().message());
        continue;
      }
      const model::Condition* ready =
          model::FindCondition(pool.status.conditions, model::karpenter::kReady);
      if (what_if_.live && ready != nullptr && ready->status != "True") {
        plan_.problems.push_back("NodePool " + name + " buys nothing: it is not ready" +
                                 (ready->message.empty() ? "" : ": " + ready->message));
      }
      // What its controllers would have said about it.
      if (!what_if_.live || ready == nullptr)
        model::SetCondition(pool.status.conditions,
                            {.type = model::karpenter::kReady, .status = "True", .reason = "Ready"},
                            plan_.now);
      pools.push_back({std::make_shared<const model::NodePool>(std::move(pool)), *types});
    }
    std::ranges::sort(pools, [](const auto& a, const auto& b) {
      const int32_t of_a = a.pool->spec.weight.value_or(0);
      const int32_t of_b = b.pool->spec.weight.value_or(0);
      return of_a != of_b ? of_a > of_b : a.pool->metadata.name < b.pool->metadata.name;
    });
    for (const auto& view : pools) plan_.pools.push_back(view.pool->metadata.name);
    if (pools.empty())
      plan_.notes.push_back("there is no NodePool that may buy: were nodepools asked for?");
    return pools;
  }

  // Buys and binds for all that wait.
  Status Provision() {
    TRY(GoOn());
    const provision::DisruptionWorld world = scene_->World();
    std::vector<PodPtr> pods;
    const provision::StorageIndex storage(world.solver.storage);
    const cloud::NodeClaimsTraits& traits = claims_.Traits();
    for (const PodPtr& pod : world.pending) {
      const auto refusal = provision::Validate(
          *pod, storage, traits.labels,
          {traits.unsupported_storage_provisioners, traits.unsupported_storage_topology_keys});
      if (refusal) {
        plan_.refused.push_back({pod, refusal->text});
      } else {
        pods.push_back(pod);
      }
    }
    provision::Solver solver(world.solver, SolverOptionsOf(what_if_.options, traits));
    const provision::SolveRequest request{.pods = pods};
    const provision::SolveOutcome outcome = solver.Solve(request);
    for (const provision::ExistingPlacement& placement : outcome.existing) {
      PoolsPlan::Placed placed{world.solver.nodes[placement.node].name(), {}};
      for (const size_t pod : placement.pods) {
        placed.pods.push_back(pods[pod]);
        scene_->Bind(pods[pod], placed.node);
      }
      plan_.placed.push_back(std::move(placed));
    }
    for (const provision::PlannedClaim& claim : outcome.claims) {
      std::vector<PodPtr> of_claim;
      for (const size_t pod : claim.pods) of_claim.push_back(pods[pod]);
      auto bought = scene_->Buy(world.solver.pools[claim.pool].name, claim.types,
                                claim.requirements, of_claim);
      if (!bought.ok()) {
        for (const PodPtr& pod : of_claim)
          plan_.refused.push_back({pod, bought.status().message()});
        continue;
      }
      for (const PodPtr& pod : of_claim) scene_->Bind(pod, bought->node);
      plan_.bought.push_back(*std::move(bought));
    }
    for (const provision::PodError& error : outcome.errors)
      plan_.refused.push_back({pods[error.pod], error.text});
    for (const size_t pod : outcome.left_out)
      plan_.refused.push_back({pods[pod], "its volumes are not in the dump"});
    return Status::Ok();
  }

  // Pods of machines that went find their places, as the move said they would.
  Status Settle(PoolsPlan::Move& move) {
    const size_t bought = plan_.bought.size();
    auto refused = std::exchange(plan_.refused, {});
    auto placed = std::exchange(plan_.placed, {});
    TRY(Provision());
    // What waited before the move waits still; only who lost a place by it is news.
    for (PoolsPlan::Refused& pod : plan_.refused) {
      const bool before = std::ranges::any_of(refused, [&](const PoolsPlan::Refused& known) {
        return known.pod->metadata.name == pod.pod->metadata.name &&
               known.pod->metadata.namespace_ == pod.pod->metadata.namespace_;
      });
      if (!before) refused.push_back(std::move(pod));
    }
    plan_.refused = std::move(refused);
    plan_.placed = std::move(placed);
    for (size_t i = bought; i < plan_.bought.size(); ++i)
      move.bought.push_back(std::move(plan_.bought[i]));
    plan_.bought.resize(bought);
    return Status::Ok();
  }

  Status Consolidate() {
    plan_.consolidated = true;
    const TimePoint began = clock_.Now();
    while (true) {
      const double before = scene_->CostPerHour();
      const provision::DisruptionWorld world = scene_->World();
      provision::DisruptionRound round(world, RoundOptions());
      std::optional<provision::Command> command;
      plan_.staying.clear();
      for (const provision::Method method : provision::AllMethods()) {
        provision::MethodAnswer answer = round.Ask(method);
        Keep(world, answer.events);
        if (answer.commands.empty()) continue;
        command = std::move(answer.commands.front());
        break;
      }
      if (!command) break;
      const bool too_long =
          what_if_.consolidate_for && clock_.Now() - began > *what_if_.consolidate_for;
      if (plan_.moves.size() == kMostMoves || too_long) {
        plan_.settled = false;
        break;
      }
      PoolsPlan::Move move{.reason = std::string(provision::ReasonOf(command->method)),
                           .decision = std::string(provision::ToString(command->decision))};
      TRY(Apply(world, *command, move));
      move.savings = before - scene_->CostPerHour();
      plan_.moves.push_back(std::move(move));
    }
    plan_.cost_after = scene_->CostPerHour();
    return Status::Ok();
  }

  Status Apply(const provision::DisruptionWorld& world, const provision::Command& command,
               PoolsPlan::Move& move) {
    // First what comes, as the engine does it.
    for (const provision::Replacement& replacement : command.replacements) {
      auto bought = scene_->Buy(replacement.pool, replacement.types, replacement.requirements, {});
      if (!bought.ok()) return bought.status().Context("a replacement of pool " + replacement.pool);
      bought->pods = replacement.pods;
      move.bought.push_back(*std::move(bought));
    }
    for (const provision::Candidate& candidate : command.candidates) {
      const std::string node = world.solver.nodes[candidate.machine].name();
      move.gone.push_back({.node = node,
                           .pool = candidate.pool_name(),
                           .type = candidate.type != nullptr ? candidate.type->name : "",
                           .price = candidate.price,
                           .pods = candidate.reschedulable.size()});
      scene_->Remove(node, candidate.reschedulable);
    }
    return Settle(move);
  }

  void Keep(const provision::DisruptionWorld& world, const provision::DisruptionEvents& events) {
    for (const provision::DisruptionEvent& event : events) {
      if (!event.machine) continue;
      const std::string node = world.solver.nodes[*event.machine].name();
      const bool known = std::ranges::any_of(plan_.staying, [&](const PoolsPlan::Staying& staying) {
        return staying.node == node && staying.text == event.text;
      });
      if (!known) plan_.staying.push_back({node, event.text});
    }
  }

  provision::DisruptionOptions RoundOptions() const {
    const provision::EngineOptions& options = what_if_.options;
    return {.solver = SolverOptionsOf(options, claims_.Traits()),
            .candidates = {.deletion_cost_is_managed = options.gates.pod_deletion_cost_management},
            .spot_to_spot = options.gates.spot_to_spot_consolidation,
            .spot_to_spot_least_types = options.spot_to_spot_least_types,
            .terminate_first_drift = options.gates.terminate_first_drift};
  }

  PoolsWhatIf what_if_;
  cloud::NodeClaims& claims_;
  const Clock& clock_;
  std::optional<PoolsScene> scene_;
  PoolsPlan plan_;
};

}  // namespace

Result<PoolsPlan> RunPoolsWhatIf(PoolsWhatIf what_if, cloud::NodeClaims& claims,
                                 const Clock& clock) {
  return PoolsRun(std::move(what_if), claims, clock).Run();
}

}  // namespace coppice::whatif
