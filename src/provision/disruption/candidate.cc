#include "provision/disruption/candidate.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/strings.h"
#include "provision/disruption/budgets.h"

namespace coppice::provision {

namespace {

namespace names = model::karpenter;

const model::Labels& AnnotationsOf(const StateNode& state, const Machine& machine) {
  return state.node == nullptr || !state.registered() ? machine.claim->metadata.annotations
                                                      : state.node->metadata.annotations;
}

// Of something unreadable may be missing just what keeps the machine.
std::string WhyNotRead(std::string_view what, const model::ObjectMeta& meta) {
  return meta.unreadable ? fmt::format("{} cannot be read: {}", what, meta.unreadable->what) : "";
}

// Why the machine itself is no candidate; empty if it may be one.
std::string WhyNotMachine(const StateNode& state, const Machine& machine,
                          DisruptionClass disruption_class) {
  const bool repairs = disruption_class == DisruptionClass::kRepair;
  if (repairs && !state.labels().contains(model::kNodePoolLabel))
    return "repair requires a NodePool to construct and budget a safe replacement";
  if (std::string why = WhyNotRead("nodeclaim", machine.claim->metadata); !why.empty()) return why;
  if (state.node == nullptr) return "nodeclaim does not have an associated node";
  if (state.marked_for_deletion) return "node is deleting or marked for deletion";
  if (std::string why = WhyNotRead("node", state.node->metadata); !why.empty()) return why;
  if (!state.initialized() && repairs && state.registered()) return "";
  if (!state.initialized()) {
    return state.registered() ? "node isn't initialized" : "node isn't initialized nor registered";
  }
  if (!machine.held_by.empty()) return "node is held by the engine " + machine.held_by;
  if (machine.nominated) return "node is nominated for a pending pod";
  const std::string* protection =
      AnnotationsOf(state, machine).Find(names::kDoNotDisruptAnnotation);
  if (!repairs && protection != nullptr && *protection == "true") {
    return fmt::format("disruption is blocked through the \"{}\" annotation",
                       names::kDoNotDisruptAnnotation);
  }
  if (!state.labels().contains(model::kNodePoolLabel)) {
    return fmt::format("node doesn't have required label (label={})", model::kNodePoolLabel);
  }
  return "";
}

// Why its pods keep it; empty if they do not.
std::string WhyNotPods(const PodList& pods, const PodBudgets& budgets, TimePoint now) {
  for (const PodPtr& pod : pods) {
    if (IsDisruptable(*pod, now)) continue;
    if (std::string why = WhyNotRead("pod", pod->metadata); !why.empty()) {
      return fmt::format("{} (Pod={}/{})", why, pod->metadata.namespace_, pod->metadata.name);
    }
    return fmt::format("pod has \"{}\" annotation (Pod={}/{})", names::kDoNotDisruptAnnotation,
                       pod->metadata.namespace_, pod->metadata.name);
  }
  for (const PodPtr& pod : pods) {
    const auto blocking = budgets.BlockingNow(*pod, now);
    if (blocking.size() > 1) {
      return fmt::format("eviction does not support multiple PDBs (PodDisruptionBudget(s)=[{}])",
                         Join(blocking, " "));
    }
    if (!blocking.empty()) {
      return fmt::format("pdb prevents pod evictions (PodDisruptionBudget=[{}])", blocking[0]);
    }
  }
  return "";
}

std::string LabelText(const model::Labels& labels, std::string_view key) {
  const std::string* value = labels.Find(key);
  return value == nullptr ? "" : *value;
}

// What losing this node costs, by all of its pods but daemons: for pools' totals.
double CostOfNode(const StateNode& state, const CandidateOptions& options) {
  double cost = kBaseDisruptionCost;
  for (const PodPtr& pod : state.pods) {
    if (IsOwnedBy(*pod, "apps/v1", "DaemonSet")) continue;
    cost += std::max(0.0, EvictionCost(*pod, options.deletion_cost_is_managed));
  }
  return cost;
}

class CandidateFinder {
 public:
  CandidateFinder(const DisruptionWorld& world, const PodBudgets& budgets,
                  DisruptionClass disruption_class, const CandidateOptions& options,
                  DisruptionEvents& events)
      : world_(world),
        budgets_(budgets),
        class_(disruption_class),
        options_(options),
        events_(events) {}

  std::optional<Candidate> Judge(size_t index) {
    const StateNode& state = world_.solver.nodes[index];
    const Machine& machine = world_.machines[index];
    if (machine.claim == nullptr || machine.queued || machine.chosen) return std::nullopt;
    if (std::string why = WhyNotMachine(state, machine, class_); !why.empty()) {
      return Blocked(index, Sentence(std::move(why)));
    }
    if (!machine.waits_for.empty()) {
      events_.push_back({.kind = DisruptionEventKind::kBlocked,
                         .machine = index,
                         .text = Sentence(machine.waits_for),
                         .quiet = true});
      return std::nullopt;
    }
    const std::string pool_name = LabelText(state.labels(), model::kNodePoolLabel);
    const PoolView* pool = world_.FindPool(pool_name);
    // Its budgets may be what is missing.
    if (pool != nullptr && pool->pool->metadata.unreadable) {
      return Blocked(index, fmt::format("{} (NodePool={})",
                                        WhyNotRead("NodePool", pool->pool->metadata), pool_name));
    }
    if (pool == nullptr || pool->types == nullptr || pool->types->empty()) {
      return Blocked(index, fmt::format("NodePool not found (NodePool={})", pool_name));
    }
    std::string why = WhyNotPods(machine.pods, budgets_, world_.now);
    const bool goes_anyway =
        class_ == DisruptionClass::kRepair ||
        (class_ == DisruptionClass::kEventual && machine.claim->spec.termination_grace_period);
    if (!why.empty() && !goes_anyway) return Blocked(index, Sentence(std::move(why)));
    Candidate made = Make(index, *pool);
    made.has_pod_blockers = !why.empty();
    return made;
  }

 private:
  std::nullopt_t Blocked(size_t index, std::string text) {
    events_.push_back(
        {.kind = DisruptionEventKind::kBlocked, .machine = index, .text = std::move(text)});
    return std::nullopt;
  }

  Candidate Make(size_t index, const PoolView& pool) const {
    const model::Labels& labels = world_.solver.nodes[index].labels();
    const Machine& machine = world_.machines[index];
    const std::string type_name = LabelText(labels, model::kInstanceTypeLabel);
    const auto type = std::ranges::find(*pool.types, type_name, &cloud::InstanceType::name);
    Candidate candidate{.machine = index,
                        .pool = &pool,
                        .type = type == pool.types->end() ? nullptr : &*type,
                        .capacity_type = LabelText(labels, model::kCapacityTypeLabel)};
    candidate.price = PriceOf(labels, candidate.type);
    double all = 0;
    for (const PodPtr& pod : machine.pods) {
      const double cost = EvictionCost(*pod, options_.deletion_cost_is_managed);
      all += cost;
      if (!IsReschedulable(*pod)) continue;
      candidate.reschedulable.push_back(pod);
      candidate.reschedule_cost += std::max(0.0, cost);
    }
    candidate.disruption_cost = all * LifetimeLeft(*machine.claim, world_.now);
    return candidate;
  }

  const DisruptionWorld& world_;
  const PodBudgets& budgets_;
  const DisruptionClass class_;
  const CandidateOptions& options_;
  DisruptionEvents& events_;
};

}  // namespace

double LifetimeLeft(const model::NodeClaim& claim, TimePoint now) {
  const auto lifetime = model::LastingOf(claim.spec.expire_after);
  if (!lifetime) return 1;
  using Seconds = std::chrono::duration<double>;
  const auto& created = claim.metadata.creation_timestamp;
  const double age = created ? Seconds(now - created->at).count() : 0;
  const double total = Seconds(*lifetime).count();
  if (total <= 0) return 0;
  return std::clamp((total - age) / total, 0.0, 1.0);
}

std::string_view ToString(DisruptionEventKind kind) {
  switch (kind) {
    case DisruptionEventKind::kBlocked:
      return "DisruptionBlocked";
    case DisruptionEventKind::kUnconsolidatable:
      return "Unconsolidatable";
    case DisruptionEventKind::kCandidate:
      return "ConsolidationCandidate";
    case DisruptionEventKind::kApproved:
      return "ConsolidationApproved";
    case DisruptionEventKind::kRejected:
      return "ConsolidationRejected";
    case DisruptionEventKind::kRepairBlocked:
      return "NodeRepairBlocked";
  }
  return "";
}

std::string Sentence(std::string text) {
  if (!text.empty() && text[0] >= 'a' && text[0] <= 'z') {
    text[0] = static_cast<char>(text[0] - 'a' + 'A');
  }
  return text;
}

CandidateList FindCandidates(const DisruptionWorld& world, const PodBudgets& budgets,
                             DisruptionClass disruption_class, const CandidateOptions& options,
                             DisruptionEvents& events) {
  CandidateList list;
  CandidateFinder finder(world, budgets, disruption_class, options, events);
  std::map<std::string, double> node_costs;
  for (size_t i = 0; i < world.machines.size(); ++i) {
    auto candidate = finder.Judge(i);
    const std::string* pool = world.solver.nodes[i].labels().Find(model::kNodePoolLabel);
    if (pool != nullptr) {
      node_costs[*pool] +=
          candidate ? candidate->reschedule_cost : CostOfNode(world.solver.nodes[i], options);
    }
    if (!candidate) continue;
    list.totals[candidate->pool_name()].cost += candidate->price;
    list.candidates.push_back(*std::move(candidate));
  }
  for (auto& [name, totals] : list.totals) {
    const auto counts = world.counts.find(name);
    if (counts != world.counts.end() && counts->second.cost > 0) totals.cost = counts->second.cost;
    totals.disruption_cost = node_costs[name];
  }
  return list;
}

std::map<std::string, BudgetUse> BudgetsFor(const DisruptionWorld& world, std::string_view reason,
                                            DisruptionEvents& events) {
  std::map<std::string, int64_t> nodes;
  std::map<std::string, int64_t> disrupting;
  for (size_t i = 0; i < world.machines.size(); ++i) {
    const StateNode& state = world.solver.nodes[i];
    const Machine& machine = world.machines[i];
    if (machine.claim == nullptr || !state.initialized() ||
        model::IsTrue(machine.claim->status.conditions, names::kInstanceTerminating)) {
      continue;
    }
    const std::string pool = LabelText(state.labels(), model::kNodePoolLabel);
    ++nodes[pool];
    const auto& conditions = state.node->status.conditions;
    const auto ready = std::ranges::find(conditions, "Ready", &model::NodeCondition::type);
    const bool not_ready = ready == conditions.end() || ready->status != "True";
    const bool unread =
        state.node->metadata.unreadable || machine.claim->metadata.unreadable;  // nor known to be
    if (state.marked_for_deletion || machine.chosen || unread ||
        (not_ready && reason != kUnhealthy))
      ++disrupting[pool];
  }
  std::map<std::string, BudgetUse> budgets;
  for (const PoolView& view : world.pools) {
    const std::string& name = view.pool->metadata.name;
    const auto allowed = AllowedDisruptions(*view.pool, reason, nodes[name], world.now);
    const int64_t count = allowed.ok() ? *allowed : 0;
    budgets[name] = {.allowed = count, .used = disrupting[name]};
    if (nodes[name] == 0 || count != 0) continue;
    events.push_back(
        {.kind = DisruptionEventKind::kBlocked,
         .pool = name,
         .text =
             fmt::format("No allowed disruptions for disruption reason {} due to blocking budget{}",
                         reason, allowed.ok() ? "" : " (" + allowed.status().message() + ")")});
  }
  return budgets;
}

}  // namespace coppice::provision
