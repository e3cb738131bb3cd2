#include "autoscale/scale_up.h"

#include <unordered_set>
#include <utility>

#include "autoscale/scale_up_draft.h"
#include "autoscale/scale_up_outcome.h"
#include "autoscale/similar.h"

namespace coppice::autoscale {

namespace {

using report::ScaleUpResult;

constexpr char kFilteredOut[] = "expansion options filtered out and no longer considered";

}  // namespace

Quotas ScaleUpPlanner::MaximaOf(const std::vector<Quotas::NodeOf>& nodes) const {
  return Quotas::ToMaxima(parts_.limits, nodes, parts_.groups.GpuLabel(),
                          DevicesFrom(parts_.slots, parts_.groups.GpuLabel()));
}

bool ScaleUpPlanner::Cap(Draft& draft, int& nodes, int current, const std::string& group) {
  const int limit = parts_.limits.max_nodes_total;
  if (limit > 0 && nodes + current > limit) {
    nodes = limit - current;
    draft.plan.events.push_back({"Warning", "MaxNodesTotalReached",
                                 "Max total nodes in cluster reached: " + std::to_string(limit)});
    if (nodes < 1) {
      EndWithError(draft.plan, "max node total count already reached", "transientError");
      return false;
    }
  }
  nodes = draft.quotas->Check({&TemplateOf(draft, group)->node, group}, nodes).allowed;
  return true;
}

void ScaleUpPlanner::Balance(Draft& draft, int nodes, TimePoint now) {
  std::vector<GroupSize> sizes;
  const auto add = [&](const std::string& id) {
    sizes.push_back({id, draft.targets[id], draft.info(id).max_size, 0});
  };
  add(draft.plan.chosen);
  for (const std::string& id : SimilarTo(draft, draft.plan.chosen, now)) {
    const NodeTemplate& node_template = *TemplateOf(draft, id);
    if (draft.quotas->Check({&node_template.node, id}, 1).exceeded.empty()) add(id);
  }
  const auto balanced = parts_.slots.node_group_set
                            ? parts_.slots.node_group_set->Balance(std::move(sizes), nodes)
                            : autoscale::Balance(std::move(sizes), nodes);
  if (!balanced.ok()) {
    EndWithError(draft.plan, balanced.status().message(), "internalError");
    return;
  }
  for (const GroupSize& size : *balanced) {
    const Quotas::NodeOf like{&TemplateOf(draft, size.group)->node, size.group};
    const int delta = draft.quotas->Check(like, size.planned - size.current).allowed;
    if (delta > 0) draft.quotas->Consume(like, delta);
    if (delta != 0) {
      draft.plan.resizes.push_back({size.group, size.current, size.current + delta, size.max});
    }
  }
}

ScaleUpPlanner::DraftPtr ScaleUpPlanner::Consider(const std::vector<fit::PendingPod>& pods,
                                                  const std::vector<Quotas::NodeOf>& nodes,
                                                  TimePoint now) {
  const auto shared = std::make_shared<Draft>();
  Draft& draft = *shared;
  ScaleUpPlan& plan = draft.plan;
  const TimePoint began = parts_.clock.Now();
  auto kinds = fit::GroupEquivalent(pods, &parts_.search.snapshot());
  plan.kinds.reserve(kinds.size());
  for (auto& kind : kinds) plan.kinds.push_back({.pods = std::move(kind)});
  plan.report.took.push_back({"scaleUp:buildPodEquivalenceGroups", parts_.clock.Now() - began});
  plan.skipped = std::make_shared<const SkipReasons>();
  draft.node_count = nodes.size();
  draft.pod_count = pods.size();
  draft.ended = true;
  if (const Status listed = ListGroups(draft, pods); !listed.ok()) {
    EndWithError(plan, "node group list: " + listed.message(), "internalError");
    return shared;
  }
  for (const auto& upcoming : parts_.state.UpcomingNodes(now)) {
    if (parts_.templates.Find(upcoming.group) != nullptr) continue;
    EndWithError(plan,
                 "could not get upcoming nodes: failed to find template node for node group " +
                     upcoming.group,
                 "internalError");
    return shared;
  }
  draft.quotas = MaximaOf(nodes);
  FilterGroups(draft, now);
  for (const auto& group : draft.groups) plan.report.considered_groups.push_back(group.id);
  FindTakers(draft);
  AskSkipped(draft);
  ComputeOptions(draft);
  if (draft.options.empty()) {
    plan.report.unserved = UnservedOf(plan);
    EndWithout(plan, ScaleUpResult::kNoOptionsAvailable);
    return shared;
  }
  draft.ended = false;
  return shared;
}

void ScaleUpPlanner::Choose(Draft& draft, const expand::Choice& choice, TimePoint now) {
  ScaleUpPlan& plan = draft.plan;
  for (const auto& step : choice.steps) {
    plan.report.chosen_by.push_back({step.expander, step.survivors, step.note});
    for (const auto& m : step.measured)
      plan.report.chosen_by.back().scores.push_back({m.group, m.value, m.text});
  }
  if (choice.chosen == nullptr || choice.chosen->node_count <= 0) {
    GiveUpAll(plan.kinds, kFilteredOut);
    EndWithout(plan, ScaleUpResult::kNoOptionsAvailable);
    return;
  }
  const expand::Option& best = *choice.chosen;
  plan.chosen = best.group;
  plan.report.chosen = best.group;
  plan.report.by_lot = choice.by_lot;
  const bool all_helped = best.pods.size() == draft.pod_count;
  std::unordered_set<const model::Pod*> helped;
  if (!all_helped) helped.insert(best.pods.begin(), best.pods.end());
  plan.report.triggered.reserve(best.pods.size());
  for (const auto& kind : plan.kinds) {
    for (const auto& pending : kind.pods) {
      if (all_helped || helped.contains(pending.pod.get()))
        plan.report.triggered.push_back(pending.pod);
    }
  }
  int wanted = best.node_count;
  if (!Cap(draft, wanted, static_cast<int>(draft.node_count), best.group)) return;
  Balance(draft, wanted, now);
}

Task<ScaleUpPlan> ScaleUpPlanner::Decide(DraftPtr draft, const expand::Surroundings& around,
                                         TimePoint now) {
  if (!draft->ended) {
    std::optional<OneAtATime::Turn> turn;
    if (parts_.choosing != nullptr) turn = co_await parts_.choosing->Enter();
    expand::Options options;
    for (const auto& option : draft->options) options.push_back(&option);
    const expand::Choice choice = co_await parts_.expanders.ChooseElsewhere(
        options, around, parts_.elsewhere, parts_.first_of_tie);
    Choose(*draft, choice, now);
  }
  co_return std::move(draft->plan);
}

ScaleUpPlan ScaleUpPlanner::PlanMinSizes(const std::vector<Quotas::NodeOf>& nodes, TimePoint now) {
  Draft draft;
  draft.groups = parts_.groups.Groups();
  draft.quotas = MaximaOf(nodes);
  for (const cloud::GroupInfo& group : draft.groups) {
    draft.plan.report.considered_groups.push_back(group.id);
    const auto target = parts_.groups.TargetSize(group.id);
    const TemplatePtr node_template = parts_.templates.Find(group.id);
    if (!target.ok() || *target >= group.min_size || !parts_.state.SafeToScaleUp(group.id, now) ||
        node_template == nullptr) {
      continue;
    }
    const Quotas::NodeOf like{&node_template->node, group.id};
    if (!draft.quotas->Check(like, 1).exceeded.empty()) continue;
    int delta = draft.quotas->Check(like, group.min_size - *target).allowed;
    // Upstream's quirk, kept: the cluster's limit is held against this group's own size.
    const int limit = parts_.limits.max_nodes_total;
    if (limit > 0 && delta + *target > limit) {
      delta = limit - *target;
      draft.plan.events.push_back({"Warning", "MaxNodesTotalReached",
                                   "Max total nodes in cluster reached: " + std::to_string(limit)});
      if (delta < 1) continue;
    }
    draft.plan.resizes.push_back({group.id, *target, *target + delta, group.max_size});
  }
  if (draft.plan.resizes.empty()) draft.plan.report.result = ScaleUpResult::kNotNeeded;
  draft.plan.skipped = std::make_shared<const SkipReasons>();
  return std::move(draft.plan);
}

}  // namespace coppice::autoscale
