#include "autoscale/stage_scale_up.h"

#include <algorithm>
#include <utility>

#include "autoscale/surroundings.h"

namespace coppice::autoscale {

void ScaleUpStage::AddUpcoming(Pass& pass, Outcome& outcome) {
  std::set<std::string> replaced;
  for (const GroupStates::Upcoming& group : parts_.state.UpcomingNodes(pass.now)) {
    pass.report->upcoming[group.group] = group.count;
    replaced.insert(group.replaced.begin(), group.replaced.end());
    const TemplatePtr node_template = parts_.templates.Find(group.group);
    if (node_template == nullptr) continue;
    const int reserved = parts_.reserved.Of(group.group);
    for (int i = 0; i < group.count; ++i) {
      pack::NodeTemplate copy = pack::FreshCopy(*node_template, "upcoming-" + std::to_string(i));
      if (i < reserved) copy.node.spec.unschedulable = true;  // some gang's: nobody else's room
      copy.node.metadata.annotations[kUpcomingAnnotation] = "true";
      outcome.imagined.Add(group.group, std::move(copy));
    }
  }
  for (const std::string& name : replaced) outcome.imagined.Replace(name);
  outcome.roster.Update(parts_.nodes.nodes(), outcome.imagined);
}

bool ScaleUpStage::ShouldBuy(Pass& pass, const PodsToHelp::List& list) {
  const bool wanted = WantsToBuy(pass, list);
  const bool forced = shared_.slots.scale_up_enforcer &&
                      shared_.slots.scale_up_enforcer->ForceScaleUp(list.pods, pass.View());
  if (!wanted && !forced) return false;
  if (parts_.help.LeavesToScaleDown()) {
    pass.report->scale_up.result = report::ScaleUpResult::kInCooldown;
    return false;
  }
  return true;
}

bool ScaleUpStage::WantsToBuy(Pass& pass, const PodsToHelp::List& list) {
  report::ScaleUp& report = pass.report->scale_up;
  const int limit = shared_.options.limits.max_nodes_total;
  if (list.pods.empty()) {
    report.result = report::ScaleUpResult::kNotNeeded;
    return false;
  }
  if (limit > 0 && static_cast<int>(parts_.nodes.ready()) >= limit) {
    report.result = report::ScaleUpResult::kLimitedByMaxNodesTotal;
    shared_.tell.Status("Warning", "MaxNodesTotalReached",
                        "Max total nodes in cluster reached: " + std::to_string(limit));
    for (const auto& pending : list.pods) report.unhelped.push_back({{pending.pod}, {}, nullptr});
    return false;
  }
  if (shared_.options.pods.bypassed_scheduler_names.empty() && parts_.help.AllNew(list, pass.now)) {
    report.result = report::ScaleUpResult::kInCooldown;
    pass.no_scale_down = true;
    const Deviations& d = shared_.options.deviations;
    pass.wake.At(list.youngest + d.new_pod_quiet, "pending pods are new");
    pass.wake.At(list.oldest + d.new_pod_wait, "pending pods are new");
    return false;
  }
  return true;
}

Result<ScaleUpStage::Plan> ScaleUpStage::MakePlan(Pass& pass, Observation& seen,
                                                  const std::vector<std::string>& drained,
                                                  Outcome& outcome) {
  const StandStill::Plan still(parts_.still);
  TRY(parts_.observe.ListAgain(seen));
  const Imagined::Fork fork(outcome.imagined);
  AddUpcoming(pass, outcome);
  const Stopwatch filter(shared_.executor.clock());
  PodsToHelp::List list = parts_.help.Sort(
      pass, std::move(seen.pending), {outcome.roster.registered(), drained}, outcome.imagined);
  filter.Note(pass.report->took, "filterOutSchedulable");
  Plan plan;
  if (ShouldBuy(pass, list)) {
    plan.stopwatch.emplace(shared_.executor.clock());
    plan.draft = parts_.planner.Consider(list.pods, outcome.roster.all(), pass.now);
  }
  outcome.unhelped.reserve(list.pods.size());
  for (fit::PendingPod& pod : list.pods) {
    const Imagined::Source source = outcome.imagined.SourceOf(pod);
    outcome.unhelped.push_back({std::move(pod.pod), source});
  }
  outcome.fitting = std::move(list.fitting);
  outcome.planned = true;
  return plan;
}

Task<report::ScaleUp> ScaleUpStage::CarryOut(ScaleUpPlan plan, TimePoint now) {
  for (const PlannedEvent& event : plan.events)
    shared_.tell.Status(event.type, event.reason, event.text);
  if (!plan.resizes.empty()) co_return co_await parts_.buyer.Buy(std::move(plan), now);
  // A plan that a limit reduced to nothing is still a success upstream: it asked for no more than
  // it may.
  const bool capped = plan.report.result == report::ScaleUpResult::kNotTried;
  co_return capped ? ScaleUpPlanner::Succeeded(std::move(plan)) : std::move(plan.report);
}

// The nodes just bought stand in the snapshot for the next round, with the pods they were bought
// for.
bool ScaleUpStage::PlaceOnBought(const report::ScaleUp& done, int round, const Pods& helped,
                                 Outcome& outcome) {
  cluster::Snapshot& snapshot = shared_.world.snapshot();
  const size_t first = snapshot.nodes().size();
  for (const report::GroupResize& resize : done.resizes) {
    const TemplatePtr node_template = parts_.templates.Find(resize.group);
    if (node_template == nullptr || resize.to <= resize.from) return false;
    for (int i = 0; i < resize.to - resize.from; ++i) {
      pack::NodeTemplate copy =
          pack::FreshCopy(*node_template, std::to_string(i) + "-salvo-" + std::to_string(round));
      copy.node.metadata.annotations[kUpcomingAnnotation] = "true";
      if (!outcome.imagined.Add(resize.group, std::move(copy))) return false;
    }
  }
  for (const fit::PendingPod& pod : helped) {
    const cluster::NodeIndex node = parts_.search.Find(pod.index, {.from_position = first});
    if (node == cluster::kNone) return false;
    outcome.imagined.Place(pod, node);
  }
  return true;
}

ScaleUpPlanner::DraftPtr ScaleUpStage::PlanSalvo(Pass& pass, const report::ScaleUp& done, int round,
                                                 Outcome& outcome) {
  const StandStill::Plan still(parts_.still);
  const Imagined::Fork fork(outcome.imagined);
  const std::set<cluster::PodPtr> triggered(done.triggered.begin(), done.triggered.end());
  Pods helped;
  Pods others;
  std::vector<Outcome::Unhelped> still_unhelped;
  for (const Outcome::Unhelped& one : outcome.unhelped) {
    const cluster::PodIndex index = outcome.imagined.IndexOf(one.pod, one.source);
    if (index == cluster::kNone) continue;  // gone, or no longer without a node
    const bool is_helped = triggered.contains(one.pod);
    (is_helped ? helped : others).push_back({one.pod, index});
    if (!is_helped) still_unhelped.push_back(one);
  }
  if (!PlaceOnBought(done, round, helped, outcome)) return nullptr;
  outcome.unhelped = std::move(still_unhelped);
  outcome.roster.Update(parts_.nodes.nodes(), outcome.imagined);
  return parts_.planner.Consider(others, outcome.roster.all(), pass.now);
}

Task<void> ScaleUpStage::Buy(Pass& pass, ScaleUpPlanner::DraftPtr draft, Outcome& outcome) {
  outcome.tried = true;
  const TimePoint budget_ends =
      shared_.executor.clock().Now() + shared_.options.buying.salvo_scale_up_budget;
  report::ScaleUp& report = pass.report->scale_up;
  for (int round = 0; draft != nullptr; ++round) {
    const expand::Surroundings around = SurroundingsOf(shared_, parts_.templates);
    ScaleUpPlan plan = co_await parts_.planner.Decide(std::move(draft), around, pass.now);
    if (round > 0) pass.report->earlier_rounds.push_back(std::move(report));
    report = co_await CarryOut(std::move(plan), pass.now);
    shared_.tell.ScaleUp(report, pass.View());
    if (report.result != report::ScaleUpResult::kSuccessful) break;
    parts_.cooldowns.ScaledUp(pass.now);
    if (shared_.options.deviations.larger_pods_first) parts_.help.ordered().Bought(report);
    if (!shared_.options.buying.salvo_scale_up || report.triggered.empty() ||
        report.triggered.size() == outcome.unhelped.size() ||
        shared_.executor.clock().Now() > budget_ends) {
      break;
    }
    draft = PlanSalvo(pass, report, round, outcome);
  }
  if (report.result == report::ScaleUpResult::kSuccessful)
    pass.report->scale_down.result = report::ScaleDownResult::kInCooldown;
}

// Why nothing helps the others is asked on the same imagined cluster, but after the orders: groups
// that have just failed, or that are full now, are part of the answer.
void ScaleUpStage::Explain(Pass& pass, Outcome& outcome) {
  report::ScaleUp& report = pass.report->scale_up;
  if (report.unhelped.empty() && report.unserved.empty()) return;
  const StandStill::Plan still(parts_.still);
  const Imagined::Fork fork(outcome.imagined);
  parts_.nearest.Explain(report, outcome.roster.all(), parts_.nodes.ready(), pass.now);
}

Task<bool> ScaleUpStage::Run(Pass& pass, Observation& seen, std::vector<std::string> drained,
                             Outcome& outcome) {
  Result<Plan> plan = MakePlan(pass, seen, drained, outcome);
  if (!plan.ok()) {
    pass.Fail("internalError", plan.status().message());
    co_return false;
  }
  if (plan->draft != nullptr) {
    co_await Buy(pass, std::move(plan->draft), outcome);
    plan->stopwatch->Note(pass.report->took, "scaleUp");
  }
  Explain(pass, outcome);
  co_return true;
}

Task<void> ScaleUpStage::RaiseToMinima(Pass& pass, Outcome& outcome) {
  outcome.tried = true;
  ScaleUpPlan plan = parts_.planner.PlanMinSizes(outcome.roster.all(), pass.now);
  report::ScaleUp& report = pass.report->scale_up;
  pass.report->earlier_rounds.push_back(std::move(report));
  const bool buys = !plan.resizes.empty();
  report = co_await CarryOut(std::move(plan), pass.now);
  if (buys && report.result == report::ScaleUpResult::kSuccessful)
    parts_.cooldowns.ScaledUp(pass.now);
  shared_.tell.ScaleUp(report, pass.View());
}

}  // namespace coppice::autoscale
