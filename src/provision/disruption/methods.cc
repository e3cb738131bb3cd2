#include "provision/disruption/methods.h"

#include <fmt/format.h>

#include <algorithm>

#include "provision/disruption/budgets.h"

namespace coppice::provision {

namespace {

namespace names = model::karpenter;

DisruptionClass ClassOf(Method method) {
  if (method == Method::kRepair) return DisruptionClass::kRepair;
  return method == Method::kDrift || method == Method::kStaticDrift ? DisruptionClass::kEventual
                                                                    : DisruptionClass::kGraceful;
}

void Unconsolidatable(const Candidate& candidate, std::string text, DisruptionEvents& events) {
  events.push_back({.kind = DisruptionEventKind::kUnconsolidatable,
                    .machine = candidate.machine,
                    .text = std::move(text)});
}

}  // namespace

const std::vector<Method>& AllMethods() {
  static const std::vector<Method> kAll = {
      Method::kRepair,       // what is broken goes before what is merely not needed
      Method::kEmptiness,    // costs nobody anything
      Method::kStaticDrift,  // static pools are replaced one for one
      Method::kDrift,        // what is outdated goes before what is merely dear
      Method::kMultiNode,    // several for one, or for none
      Method::kSingleNode,   // one for a cheaper one, or for none
  };
  return kAll;
}

std::string_view ReasonOf(Method method) {
  switch (method) {
    case Method::kRepair:
      return kUnhealthy;
    case Method::kEmptiness:
      return kEmpty;
    case Method::kStaticDrift:
    case Method::kDrift:
      return kDriftedReason;
    case Method::kMultiNode:
    case Method::kSingleNode:
      return kUnderutilized;
  }
  return "";
}

std::string LowerReason(Method method) {
  std::string reason(ReasonOf(method));
  for (char& c : reason) c = static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
  return reason;
}

std::string_view TypeOf(Method method) {
  switch (method) {
    case Method::kEmptiness:
      return "empty";
    case Method::kMultiNode:
      return "multi";
    case Method::kSingleNode:
      return "single";
    default:
      return "";
  }
}

std::string_view ToString(Decision decision) {
  switch (decision) {
    case Decision::kDelete:
      return "delete";
    case Decision::kReplace:
      return "replace";
    case Decision::kTerminateFirst:
      return "terminate-first";
  }
  return "";
}

std::string CommandText(Decision decision, const std::string& node, size_t nodes,
                        size_t replacements) {
  if (nodes > 1) {
    return fmt::format("{}: [{}] (part of {}-node consolidation)", ToString(decision), node, nodes);
  }
  if (replacements == 0) return fmt::format("{}: [{}]", ToString(decision), node);
  return fmt::format("{}: [{}] -> [{} replacement{}]", ToString(decision), node, replacements,
                     replacements == 1 ? "" : "s");
}

void DisruptionRound::TellCandidates(const Command& command, DisruptionEvents& events) const {
  for (const Candidate& candidate : command.candidates) {
    const std::string text =
        CommandText(command.decision, world_.solver.nodes[candidate.machine].name(),
                    command.candidates.size(), command.replacements.size());
    events.push_back({.kind = DisruptionEventKind::kCandidate,
                      .machine = candidate.machine,
                      .text = fmt::format("Consolidation candidate: {} (savings: ${:.2f})", text,
                                          command.savings)});
  }
}

DisruptionRound::DisruptionRound(const DisruptionWorld& world, DisruptionOptions options)
    : world_(world), options_(std::move(options)), budgets_(world.budgets) {}

DisruptionRound::~DisruptionRound() = default;

Simulation& DisruptionRound::simulation() {
  if (simulation_ == nullptr) {
    simulation_ = std::make_unique<Simulation>(world_, budgets_, options_.solver);
  }
  return *simulation_;
}

MethodAnswer DisruptionRound::Wanted(Method method) {
  MethodAnswer answer;
  std::map<std::string, PoolTotals> totals;
  Look(method, answer, totals);
  return answer;
}

void DisruptionRound::Look(Method method, MethodAnswer& answer,
                           std::map<std::string, PoolTotals>& totals) {
  const bool repairs = method == Method::kRepair;
  if (repairs && options_.repair.empty()) return;
  CandidateList found =
      FindCandidates(world_, budgets_, ClassOf(method), options_.candidates, answer.events);
  for (Candidate& candidate : found.candidates) {
    const bool wanted =
        repairs ? WantsToRepair(candidate, answer.events) : Wants(method, candidate, answer.events);
    if (wanted) answer.candidates.push_back(std::move(candidate));
  }
  answer.budget_uses = BudgetsFor(world_, ReasonOf(method), answer.events);
  for (const auto& [pool, use] : answer.budget_uses) answer.budgets[pool] = use.left();
  totals = std::move(found.totals);
}

MethodAnswer DisruptionRound::Ask(Method method) {
  MethodAnswer answer;
  std::map<std::string, PoolTotals> totals;
  Look(method, answer, totals);
  if (answer.candidates.empty()) return answer;
  switch (method) {
    case Method::kRepair:
      Repair(answer);
      break;
    case Method::kEmptiness:
      Emptiness(answer);
      break;
    case Method::kStaticDrift:
      StaticDrift(answer);
      break;
    case Method::kDrift:
      Drift(answer);
      break;
    case Method::kMultiNode:
      MultiNode(answer, totals);
      break;
    case Method::kSingleNode:
      SingleNode(answer, totals);
      break;
  }
  return answer;
}

bool DisruptionRound::Wants(Method method, const Candidate& candidate,
                            DisruptionEvents& events) const {
  const model::NodePool& pool = *candidate.pool->pool;
  const auto& conditions = world_.machines[candidate.machine].claim->status.conditions;
  switch (method) {
    case Method::kStaticDrift:
      return model::IsStatic(pool) && model::IsTrue(conditions, names::kDrifted);
    case Method::kDrift:
      return !model::IsStatic(pool) && model::IsTrue(conditions, names::kDrifted);
    case Method::kMultiNode:
    case Method::kSingleNode:
      return WantsToConsolidate(candidate, events);
    case Method::kRepair:  // WantsToRepair
    case Method::kEmptiness:
      break;
  }
  if (model::IsStatic(pool)) return false;
  if (!model::LastingOf(pool.spec.disruption.consolidate_after)) {
    Unconsolidatable(candidate,
                     fmt::format("NodePool \"{}\" has consolidation disabled", pool.metadata.name),
                     events);
    return false;
  }
  if (world_.machines[candidate.machine].holds_buffer) {
    Unconsolidatable(
        candidate,
        fmt::format("Node \"{}\" has buffer pods", world_.solver.nodes[candidate.machine].name()),
        events);
    return false;
  }
  return candidate.IsEmpty() && model::IsTrue(conditions, names::kConsolidatable);
}

bool DisruptionRound::WantsToConsolidate(const Candidate& candidate,
                                         DisruptionEvents& events) const {
  const model::NodePool& pool = *candidate.pool->pool;
  if (model::IsStatic(pool)) return false;
  const model::Labels& labels = world_.solver.nodes[candidate.machine].labels();
  const auto no = [&](std::string text) {
    Unconsolidatable(candidate, std::move(text), events);
    return false;
  };
  // Without all three its price is not known.
  if (candidate.type == nullptr) {
    const std::string* type = labels.Find(model::kInstanceTypeLabel);
    return no(fmt::format("Instance Type \"{}\" not found", type == nullptr ? "" : *type));
  }
  for (const std::string_view label : {model::kCapacityTypeLabel, model::kZoneLabel}) {
    if (!labels.contains(label)) return no(fmt::format("Node does not have label \"{}\"", label));
  }
  if (!model::LastingOf(pool.spec.disruption.consolidate_after)) {
    return no(fmt::format("NodePool \"{}\" has consolidation disabled", pool.metadata.name));
  }
  if (candidate.IsEmpty()) return false;  // emptiness has a budget of its own
  if (pool.spec.disruption.consolidation_policy == "WhenEmpty") {
    return no(
        fmt::format("NodePool \"{}\" has consolidation policy WhenEmpty, but node is not empty",
                    pool.metadata.name));
  }
  return model::IsTrue(world_.machines[candidate.machine].claim->status.conditions,
                       names::kConsolidatable);
}

Command DisruptionRound::Finished(Command command) const {
  double price = 0;
  for (const Candidate& candidate : command.candidates) price += candidate.price;
  command.savings = price;
  for (const Replacement& replacement : command.replacements) {
    if (replacement.types.empty()) continue;
    const double cheapest = cloud::CheapestPrice(*replacement.types[0], replacement.requirements,
                                                 options_.solver.labels);
    if (cheapest != cloud::kNoPrice) command.savings -= cheapest;
  }
  if (!command.replacements.empty()) command.decision = Decision::kReplace;
  return command;
}

}  // namespace coppice::provision
