#include "autoscale/stage_scale_down.h"

#include <algorithm>
#include <unordered_set>

#include "drain/world_controllers.h"

namespace coppice::autoscale {

namespace {

// Between two bulks of soft taints; each is bounded to spare the API server.
constexpr Duration kNextTaints = std::chrono::seconds(1);

// A processor names nodes; the planner wants places in the list. A name twice counts once.
Result<std::vector<uint32_t>> PlacesOf(const Result<std::vector<std::string>>& names,
                                       const std::vector<ListedNode>& nodes) {
  if (!names.ok()) return names.status();
  std::unordered_map<std::string_view, uint32_t> places;
  for (uint32_t place = 0; place < nodes.size(); ++place)
    places.emplace(nodes[place].node->metadata.name, place);
  std::vector<uint32_t> chosen;
  std::vector<uint8_t> taken(nodes.size(), 0);
  for (const std::string& name : *names) {
    const auto place = places.find(name);
    if (place == places.end())
      return InvalidArgument("the processor names node \"" + name + "\", which is not in the list");
    if (!std::exchange(taken[place->second], uint8_t{1})) chosen.push_back(place->second);
  }
  return chosen;
}

}  // namespace

// Upstream says no word about a node that is not needed while nothing is removed at all.
void ScaleDownStage::HoldInCooldown(Pass& pass) {
  const Cooldowns::Wait longest = parts_.cooldowns.Longest({pass.now, "pending pods are new"});
  if (!parts_.planner.Unneeded().empty()) pass.wake.At(longest.until, "the cool-down ends");
  parts_.planner.UnneededStay(longest.why, longest.until - pass.now, pass.now);
}

void ScaleDownStage::HoldCropped(const std::vector<NodeAndGroup>& wanted,
                                 const CroppedDeletions& cropped) {
  std::set<std::string_view> going;
  for (const auto* batches : {&cropped.empty, &cropped.drain}) {
    for (const DeletionBatch& batch : *batches) {
      for (const RemovableNode& node : batch.nodes) going.insert(node.node);
    }
  }
  for (const auto& [node, group] : wanted) {
    if (going.contains(node)) continue;
    parts_.planner.StaysUntold({.node = node,
                                .reason = report::StayReason::kNextPass,
                                .detail = "as many nodes as may go at once are going",
                                .group = group});
  }
}

Result<std::vector<uint32_t>> ScaleDownStage::Candidates(
    Pass& pass, ScaleDownPlanner::View& view, const std::set<std::string>& delayed_groups) {
  std::vector<uint32_t> candidates = parts_.planner.Candidates(view, delayed_groups);
  if (!shared_.slots.scale_down_node) return candidates;
  std::vector<std::string> standard;
  for (const uint32_t place : candidates) standard.push_back(view.nodes[place].node->metadata.name);
  return PlacesOf(
      shared_.slots.scale_down_node->Candidates(std::move(standard), view.nodes, pass.View()),
      view.nodes);
}

void ScaleDownStage::RemoveUnneededGroups(Pass& pass) {
  if (!shared_.slots.node_group_manager) return;
  const auto gone = shared_.slots.node_group_manager->RemoveUnneeded();
  if (!gone.ok()) {
    shared_.log.Warning("unneeded node groups could not be removed", {{"error", gone.status()}});
  } else if (!gone->empty()) {
    shared_.log.Info("unneeded node groups removed", {{"groups", Join(*gone, ",")}});
    pass.report->groups_deleted += static_cast<int>(gone->size());
  }
}

void ScaleDownStage::Choose(const ScaleDownPlanner::View& view, Plan& plan) {
  NodesToDelete nodes = parts_.planner.Choose(view);
  for (const RemovableNode& shown : parts_.actuator.LeaveOutShown(nodes)) {
    parts_.planner.StaysUntold({.node = shown.node,
                                .reason = report::StayReason::kNextPass,
                                .detail = "a dry run, and its removal has been shown",
                                .group = shown.group});
  }
  std::vector<NodeAndGroup> wanted;
  for (const auto* list : {&nodes.empty, &nodes.drain}) {
    for (const RemovableNode& node : *list) wanted.emplace_back(node.node, node.group);
  }
  std::unordered_map<std::string_view, int> registered;
  for (const ListedNode& of : view.nodes) ++registered[of.group];
  const auto facts_of = [&](std::string_view group) {
    GroupFacts facts;
    facts.all_or_nothing = shared_.options_of(group).zero_or_max_node_scaling;
    facts.target = shared_.groups.TargetSize(group).ok() ? *shared_.groups.TargetSize(group) : 0;
    const auto nodes_of = registered.find(group);
    facts.registered = nodes_of == registered.end() ? 0 : nodes_of->second;
    return facts;
  };
  plan.deletions = CropToLimits(std::move(nodes), parts_.actuator.InProgress(),
                                shared_.options.deletions, facts_of);
  HoldCropped(wanted, plan.deletions);
  for (const bool drain : {false, true}) {
    for (const auto& batch : drain ? plan.deletions.drain : plan.deletions.empty) {
      for (const auto& node : batch.nodes)
        plan.described[node.node] = DescribeRemoval(node, drain, shared_.world, parts_.planner);
    }
  }
}

Result<ScaleDownStage::Plan> ScaleDownStage::MakePlan(Pass& pass, Observation& seen,
                                                      ScaleUpStage::Outcome& above) {
  const StandStill::Plan still(parts_.still);
  const bool news = TRY(parts_.observe.LookAgain(seen));
  if (news) above.roster.Update(parts_.nodes.nodes(), above.imagined);
  const Imagined::Fork fork(above.imagined);
  const drain::WorldControllers controllers(shared_.world);
  const PassView pass_view = pass.View();
  ScaleDownPlanner::View view{.nodes = above.roster.registered(),
                              .all_nodes = above.roster.all(),
                              .budgets = seen.budgets,
                              .controllers = &controllers,
                              .deleting = seen.deleting,
                              .now = pass.now,
                              .pass = &pass_view};
  const std::set<std::string> delayed =
      parts_.cooldowns.DelayedGroups(shared_.executor.clock().Now());
  const std::vector<uint32_t> candidates =
      TRY(Candidates(pass, view, delayed).Context("scale-down candidates"));
  const Stopwatch evaluation(shared_.executor.clock());
  parts_.planner.Evaluate(view, candidates);
  evaluation.Note(pass.report->took, "findUnneeded");
  Plan plan{.removal = Stopwatch(shared_.executor.clock())};
  for (const auto& observer : shared_.slots.scale_down_candidates)
    observer->UpdateCandidates(parts_.planner.Unneeded(), pass.now);
  plan.cooldown = pass.no_scale_down || parts_.cooldowns.Active(pass.now);
  plan.candidates = !candidates.empty();
  if (plan.cooldown) HoldInCooldown(pass);
  if (!delayed.empty()) parts_.cooldowns.NoteGroupDelays(pass.wake);
  if (!plan.acts()) return plan;
  RemoveUnneededGroups(pass);
  Choose(view, plan);
  return plan;
}

// What the planner wants is not enough.
Task<void> ScaleDownStage::AskFuse(Pass& pass, Plan& plan, size_t nodes) {
  RemovalFuse::Moment moment;
  moment.now = pass.now;
  moment.nodes = nodes;
  moment.stale = parts_.view.TooOld();
  moment.deleting = parts_.actuator.InProgress();
  moment.stays = [this](const std::string& node, std::string why) {
    parts_.planner.Stays(node, report::StayReason::kFused, std::move(why));
  };
  co_await parts_.fuse.Crop(std::move(moment), plan.deletions);
}

report::RemovedNode ScaleDownStage::Announce(const RemovableNode& node, bool drain, Plan& plan) {
  DescribedRemoval& what = plan.described[node.node];
  if (!drain) {
    shared_.tell.Status("Normal", "ScaleDownEmpty",
                        "Scale-down: removing empty node \"" + node.node + "\"");
  } else {
    shared_.tell.Status("Normal", "ScaleDown",
                        "Scale-down: removing node " + node.node +
                            ", utilization: " + PrintUtilization(what.removed.utilization) +
                            ", pods to reschedule: " + what.pods);
  }
  return std::move(what.removed);  // asked for once
}

Task<void> ScaleDownStage::Act(Pass& pass, Plan& plan, size_t nodes) {
  report::ScaleDown& report = pass.report->scale_down;
  if (plan.cooldown) {
    report.result = report::ScaleDownResult::kInCooldown;
    co_return;
  }
  if (!plan.candidates) {
    report.result = report::ScaleDownResult::kNoCandidates;
    co_return;
  }
  co_await AskFuse(pass, plan, nodes);
  const Stopwatch deletion(shared_.executor.clock());
  const auto announce = [this, &plan](const RemovableNode& node, bool drain) {
    return Announce(node, drain, plan);
  };
  Actuator::Started started = co_await parts_.actuator.Start(std::move(plan.deletions), announce);
  deletion.Note(pass.report->took, "scaleDown:nodeDeletion");
  plan.removal.Note(pass.report->took, "scaleDown");
  report.result = started.result;
  report.removed = std::move(started.nodes);
  if (started.result == report::ScaleDownResult::kNodeDeleteStarted) {
    parts_.cooldowns.DeletionStarted(pass.now);
    parts_.state.RecalculateRanges();
  }
  if (!started.error.ok()) {
    parts_.cooldowns.DeletionNotStarted(pass.now);
    pass.Fail("apiCallError", started.error.message());
  }
}

Task<void> ScaleDownStage::MarkUnneeded(Pass& pass, const std::vector<ListedNode>& nodes) {
  std::vector<cluster::NodePtr> needed;
  std::vector<cluster::NodePtr> unneeded;
  const std::vector<std::string> names = parts_.planner.Unneeded();
  const std::unordered_set<std::string_view> unneeded_names(names.begin(), names.end());
  for (const ListedNode& of : nodes) {
    if (of.group.empty()) continue;
    const bool is_unneeded = unneeded_names.contains(of.node->metadata.name);
    if (is_unneeded == of.candidate) continue;  // marked as it should be
    (is_unneeded ? unneeded : needed).push_back(of.node);
  }
  const Stopwatch tainting(shared_.executor.clock());
  const bool more =
      co_await parts_.actuator.UpdateSoftTaints(std::move(needed), std::move(unneeded));
  if (more) pass.wake.In(kNextTaints, "nodes are still to be marked as unneeded or needed");
  tainting.Note(pass.report->took, "scaleDown:softTaintUnneeded");
}

Task<void> ScaleDownStage::Run(Pass& pass, Observation& seen, ScaleUpStage::Outcome& above) {
  Result<Plan> plan = MakePlan(pass, seen, above);
  parts_.still.End();
  if (!plan.ok()) {
    pass.Fail("internalError", plan.status().message());
    pass.report->scale_down.result = report::ScaleDownResult::kError;
    co_return;
  }
  const std::vector<ListedNode>& nodes = above.roster.registered();
  co_await Act(pass, *plan, nodes.size());
  co_await MarkUnneeded(pass, nodes);
}

}  // namespace coppice::autoscale
