#include "provision/provisioner.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/on_worker.h"
#include "provision/amounts.h"
#include "provision/claim_builder.h"
#include "provision/disruption/pod_rules.h"
#include "provision/scheduler_check.h"
#include "report/explain.h"

namespace coppice::provision {

namespace {

namespace names = model::karpenter;

constexpr size_t kTypesToTell = 5;

report::PlannedMachine Described(const PlannedClaim& planned, const std::string& pool,
                                 const std::vector<PodPtr>& pods, const model::LabelRules& labels) {
  report::PlannedMachine machine{.pool = pool, .type_count = planned.types.size()};
  for (const cloud::InstanceType* type : planned.types) {
    if (machine.types.size() < kTypesToTell) machine.types.push_back(type->name);
  }
  if (!planned.types.empty()) {
    const double price = cloud::CheapestPrice(*planned.types[0], planned.requirements, labels);
    if (price != cloud::kNoPrice) machine.price = price;
  }
  for (const size_t pod : planned.pods) machine.pods.push_back(pods[pod]);
  return machine;
}

}  // namespace

Provisioner::Provisioner(Parts parts)
    : parts_(parts),
      ledger_({parts.context, parts.store, parts.pools, parts.marks,
               [this](const model::NodeClaim& claim) {
                 const auto it = expected_.find(claim.metadata.uid);
                 return it == expected_.end() ? nullptr : &it->second.most;
               }}) {}

std::string Provisioner::NewName(const std::string& pool) {
  static constexpr std::string_view kLetters = "bcdfghjklmnpqrstvwxz2456789";  // as the API server
  std::string name = pool + "-";
  for (int i = 0; i < 5; ++i) name += kLetters[context().parts.rng.Below(kLetters.size())];
  return name;
}

// Who has found a place while the solver worked, or was bought for: a move buys for pods that wait as
// well.
void Provisioner::DropSettled(const SolveRequest& request, SolveOutcome& outcome) {
  const auto settled = [&](size_t pod) {
    const model::Pod& asked = *request.pods[pod];
    if (bought_for_.contains(asked.metadata.uid) && !context().options().upstream_exact)
      return true;
    const auto now = context().world().FindPod(asked.metadata.namespace_, asked.metadata.name);
    return now == nullptr || now->metadata.uid != asked.metadata.uid ||
           now->spec.node_name != asked.spec.node_name;
  };
  for (PlannedClaim& claim : outcome.claims) std::erase_if(claim.pods, settled);
}

void Provisioner::DropMisfits(const DisruptionWorld& world, const SolveRequest& request,
                              const std::vector<model::NodeClaim>& claims, SolveOutcome& outcome,
                              report::Provisioning& told) {
  const EngineOptions& options = context().options();
  if (context().parts.filters == nullptr || !options.ask_filters || options.upstream_exact) return;
  const PlanToCheck plan{world.solver, request.pods, outcome, claims, context().labels()};
  for (const Misfit& misfit : WouldNotSchedule(context().world(), *context().parts.filters, plan)) {
    std::erase(outcome.claims[misfit.claim].pods, misfit.pod);
    const PodPtr& pod = request.pods[misfit.pod];
    const std::string text = fmt::format(
        "nothing is bought for it in nodepool \"{}\": kube-scheduler would not put it on such a "
        "machine: {}",
        world.solver.pools[outcome.claims[misfit.claim].pool].name, misfit.text);
    context().Tell(Context::Of(*pod), "Warning", "FailedScheduling",
                   "Failed to schedule pod, " + text, kFailedAgain);
    told.unplaced.push_back({.pod = pod, .text = text});
  }
}

void Provisioner::Nominate(const DisruptionWorld& world, const SolveRequest& request,
                           const SolveOutcome& outcome, TimePoint now, report::Provisioning& told) {
  const TimePoint until = Later(now, context().options().nomination_window());
  for (const ExistingPlacement& placement : outcome.existing) {
    const StateNode& state = world.solver.nodes[placement.node];
    const Machine& machine = world.machines[placement.node];
    if (machine.claim != nullptr && IsUnlaunched(*machine.claim)) {
      Expect(*machine.claim, placement, request, told);
      continue;
    }
    const std::string id = machine.claim != nullptr ? machine.claim->status.provider_id
                           : state.node->spec.provider_id.empty() ? state.node->metadata.name
                                                                  : state.node->spec.provider_id;
    parts_.marks.Nominate(id, until);
    std::string where = state.node != nullptr ? "node/" + state.node->metadata.name : "";
    if (machine.claim != nullptr)
      where = "nodeclaim/" + machine.claim->metadata.name + (where.empty() ? "" : ", ") + where;
    for (const size_t pod : placement.pods) {
      context().Tell(Context::Of(*request.pods[pod]), "Normal", "Nominated",
                     "Pod should schedule on: " + where);
      told.placed.push_back({request.pods[pod], state.name()});
    }
  }
}

Task<Result<ClaimPtr>> Provisioner::Buy(Wish wish, PoolLedger::Grant grant) {
  model::NodeClaim claim = std::move(wish.claim);
  claim.metadata.generate_name.clear();
  claim.metadata.name = NewName(wish.pool->metadata.name);
  claim.metadata.finalizers = {names::kFinalizer};
  if (!claim.spec.termination_grace_period)
    claim.spec.termination_grace_period = context().traits().default_termination_grace_period;
  const bool relaxed =
      LabelOr(claim.metadata.annotations, names::kMinValuesRelaxedAnnotation) == "true";
  const std::string pool = wish.pool->metadata.name;
  const std::string name = claim.metadata.name;
  auto made = co_await parts_.store.Create(std::move(claim));
  if (!made.ok()) {
    if (parts_.store.IsUnsure(name)) ledger_.KeepWhileUnsure(name, std::move(grant));
    co_return made.status();
  }
  Expected expected;
  for (const PodPtr& pod : wish.pods) {
    expected.pods[pod->metadata.uid].asked = pod;
    bought_for_.insert(pod->metadata.uid);
  }
  expected.most = std::move(wish.most);
  expected.least = std::move(wish.least);
  expected_[(*made)->metadata.uid] = std::move(expected);
  grant.reset();  // from now on the claim counts
  MetricLabels labels;
  labels["reason"] = wish.reason;
  labels["nodepool"] = pool;
  labels["min_values_relaxed"] = relaxed ? "true" : "false";
  context().Count("karpenter_nodeclaims_created_total",
                  "Number of nodeclaims created in total by Karpenter.", labels);
  parts_.life.LookAt(*made, context().Now());
  co_return made;
}

Task<report::PlannedMachine> Provisioner::BuyPlanned(Wish wish, PoolLedger::Grant grant,
                                                     report::PlannedMachine machine) {
  const std::vector<PodPtr> pods = wish.pods;
  const std::string pool = wish.pool->metadata.name;
  auto made = co_await Buy(std::move(wish), std::move(grant));
  if (!made.ok()) {
    machine.error = made.status().message();
    context().parts.log.Warning("a node claim could not be created",
                                {{"nodepool", pool}, {"error", made.status()}});
    co_return machine;
  }
  machine.claim = (*made)->metadata.name;
  context().parts.log.Info(
      context().pretends() ? "dry run: a machine would be asked for" : "machine asked for",
      {{"nodeclaim", machine.claim},
       {"nodepool", pool},
       {"pods", report::Names(pods)},
       {"instance_types", machine.type_count},
       {"price", machine.price}});
  for (const PodPtr& pod : pods) {
    context().Tell(Context::Of(*pod), "Normal", "Nominated",
                   "Pod should schedule on: nodeclaim/" + machine.claim);
  }
  co_return machine;
}

std::string Provisioner::WhyNotNow(const std::set<std::string>& unsynced) const {
  if (std::string stale = context().Stale(); !stale.empty()) return stale;
  if (context().options().upstream_exact && (!unsynced.empty() || !expected_.empty()))
    return "waiting on cluster sync: a claim is not launched yet";
  return "";
}

SolveRequest Provisioner::RequestOf(const DisruptionWorld& world,
                                    const std::set<std::string>& on_their_way) const {
  SolveRequest request;
  for (const PodPtr& pod : world.pending) {
    if (!on_their_way.contains(pod->metadata.uid)) request.pods.push_back(pod);
  }
  const PodBudgets budgets(world.budgets);
  for (size_t i = 0; i < world.machines.size(); ++i) {
    if (!world.solver.nodes[i].marked_for_deletion) continue;
    for (const PodPtr& pod : world.machines[i].pods) {
      if (budgets.IsCurrentlyReschedulable(*pod, world.now) &&
          !on_their_way.contains(pod->metadata.uid))
        request.pods.push_back(pod);
    }
  }
  return request;
}

Task<Result<SolveOutcome>> Provisioner::Solve(std::shared_ptr<const DisruptionWorld> world,
                                              const SolveRequest& request) {
  SolveOutcome outcome;
  if (world->solver.pools.empty()) {
    for (size_t i = 0; i < request.pods.size(); ++i)
      outcome.errors.push_back({.pod = i, .text = "nodepools not found or not ready"});
    co_return outcome;
  }
  const SolverOptions options = SolverOptionsOf(context());
  std::vector<PoolProblem> problems;
  const auto id = [&] {
    return MetricLabels{{"controller", "provisioner"}, {"scheduling_id", std::to_string(solves_)}};
  };
  constexpr char kDepth[] = "karpenter_scheduler_queue_depth";
  constexpr char kDepthHelp[] = "The number of pods currently waiting to be scheduled.";
  constexpr char kUnfinished[] = "karpenter_scheduler_unfinished_work_seconds";
  for (const char* name : {kDepth, kUnfinished})  // of the solve before
    context().parts.metrics.RemoveGauge(name, id());
  ++solves_;
  context().Set(kDepth, kDepthHelp, static_cast<double>(request.pods.size()), id());
  context().Set(kUnfinished, "For how long a solve that has not ended has been at work.", 0, id());
  const std::function<void()> work = [&] {
    Solver solver(world->solver, options);
    outcome = solver.Solve(request);
    problems = solver.pool_problems();
  };
  const Status solved = co_await OnWorker(context().parts.workers, context().parts.executor, work);
  if (!solved.ok()) co_return solved;
  context().Set(kDepth, kDepthHelp, static_cast<double>(outcome.errors.size()), id());
  TellZones(outcome);
  for (const PoolProblem& problem : problems) {
    if (const auto pool = parts_.pools.Find(world->solver.pools[problem.pool].name)) {
      context().Tell(Context::Of(*pool), "Warning", "NoCompatibleInstanceTypes",
                     "NodePool requirements filtered out all compatible available instance types",
                     std::chrono::minutes(1));
    }
  }
  DropSettled(request, outcome);
  co_return outcome;
}

Task<void> Provisioner::BuyAll(const DisruptionWorld& world, const SolveRequest& request,
                               SolveOutcome& outcome, const std::set<std::string>& unsynced,
                               report::Provisioning& told) {
  std::vector<model::NodeClaim> claims;
  std::vector<NodePoolPtr> pools;
  for (const PlannedClaim& planned : outcome.claims) {
    pools.push_back(parts_.pools.Find(world.solver.pools[planned.pool].name));
    claims.push_back(pools.back() == nullptr
                         ? model::NodeClaim()
                         : ClaimFrom(*pools.back(), planned, context().labels()));
  }
  DropMisfits(world, request, claims, outcome, told);
  NoteDecisions(request, outcome);
  Nominate(world, request, outcome, world.now, told);
  TellErrors(request, outcome, told);
  std::vector<Wish> wishes;
  std::vector<report::PlannedMachine> machines;
  std::vector<PoolLedger::Entry> entries;
  for (size_t i = 0; i < outcome.claims.size(); ++i) {
    const PlannedClaim& planned = outcome.claims[i];
    if (planned.pods.empty() || pools[i] == nullptr) continue;
    auto machine = Described(planned, pools[i]->metadata.name, request.pods, context().labels());
    if (unsynced.contains(machine.pool)) {
      machine.error = "a claim of this pool is not launched yet, and nobody knows for whom it is";
      told.machines.push_back(std::move(machine));
      continue;
    }
    wishes.push_back({.pool = pools[i],
                      .claim = std::move(claims[i]),
                      .reason = "provisioned",
                      .pods = machine.pods,
                      .most = MostOf(planned.types),
                      .least = LeastOf(planned.types)});
    entries.push_back(EntryOf(wishes.back()));
    machines.push_back(std::move(machine));
  }
  auto answers = ledger_.TakeEach(std::move(entries));
  co_await BuyGranted(std::move(wishes), std::move(machines), std::move(answers), told);
}

Task<void> Provisioner::BuyGranted(std::vector<Wish> wishes,
                                   std::vector<report::PlannedMachine> machines,
                                   std::vector<PoolLedger::Answer> answers,
                                   report::Provisioning& told) {
  std::vector<Task<report::PlannedMachine>> purchases;
  for (size_t i = 0; i < wishes.size(); ++i) {
    if (answers[i].grant == nullptr) {  // somebody was faster: planned anew in a moment
      machines[i].error = std::move(answers[i].why_not);
      told.machines.push_back(std::move(machines[i]));
      continue;
    }
    purchases.push_back(
        BuyPlanned(std::move(wishes[i]), std::move(answers[i].grant), std::move(machines[i])));
  }
  auto bought = co_await WhenAll(std::move(purchases));
  for (report::PlannedMachine& machine : bought) told.machines.push_back(std::move(machine));
}

Task<report::Provisioning> Provisioner::Run(TimePoint now) {
  report::Provisioning told{.at = now};
  const std::set<std::string> on_their_way = OnTheirWay();
  const std::set<std::string> unsynced = UnsyncedPools();
  told.held_back = WhyNotNow(unsynced);
  if (!told.held_back.empty()) co_return told;
  const ViewParts view{context(), parts_.store, parts_.pools, parts_.marks};
  const auto world = std::make_shared<DisruptionWorld>(MakeView(view, now));
  TellIgnored(*world, told);
  SolveRequest request = RequestOf(*world, on_their_way);
  request.count_zones = context().options().observe_cluster_state;
  for (const PodPtr& pod : request.pods) parts_.times.Seen(*pod, now);
  told.pods = request.pods.size();
  if (request.pods.empty()) co_return told;
  ShowExpected(*world);
  HoldBackLimits(*world);
  bought_for_.clear();
  auto outcome = co_await Solve(world, request);
  if (!outcome.ok()) {
    told.held_back = "no worker is free: " + outcome.status().message();
    co_return told;
  }
  told.took = context().Now() - now;
  context().Observe("karpenter_scheduler_scheduling_duration_seconds",
                    "Duration of scheduling simulations used for deprovisioning and provisioning.",
                    Seconds(told.took), {{"controller", "provisioner"}});
  co_await BuyAll(*world, request, *outcome, unsynced, told);
  if (explain && !told.unplaced.empty()) explain(world, told.unplaced);
  co_return told;
}

}  // namespace coppice::provision
