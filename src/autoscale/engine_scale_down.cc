// The scale-down stage, and what the pass says at its end.

#include <algorithm>
#include <charconv>
#include <set>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "autoscale/engine_pass.h"
#include "autoscale/taints.h"
#include "autoscale/utilization.h"
#include "drain/evictor.h"
#include "model/pod_kinds.h"
#include "report/explain.h"

namespace coppice::autoscale {

namespace {

// The provider is asked whose a node is by the refresh of the next pass.
constexpr Duration kNextQuestion = std::chrono::seconds(1);
constexpr Duration kNextGroup = std::chrono::milliseconds(200);
// Between two bulks of soft taints; each is bounded to spare the API server.
constexpr Duration kNextTaints = std::chrono::seconds(1);

// As Go's %v prints a float: the shortest digits that read back the same.
std::string GoFloat(double value) {
  char buffer[64];
  const auto [end, error] =
      std::to_chars(buffer, buffer + sizeof(buffer), value, std::chars_format::fixed);
  return error == std::errc() ? std::string(buffer, end) : std::to_string(value);
}

std::string Print(const report::Utilization& use) {
  return "{" + GoFloat(use.cpu) + " " + GoFloat(use.memory) + " " + GoFloat(use.gpu) + " 0 " +
         use.resource + " " + GoFloat(use.value) + "}";
}

report::NodeCounts CountsOf(const ReadinessClasses& classes) {
  const auto size = [](const auto& list) { return static_cast<int>(list.size()); };
  return {size(classes.registered),       size(classes.ready),
          size(classes.not_started),      size(classes.suspended),
          size(classes.deleted),          size(classes.unready),
          size(classes.resource_unready), size(classes.long_unregistered),
          size(classes.unregistered)};
}

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

bool Engine::InCooldown(const PassState& pass) const {
  if (pass.no_scale_down) return true;
  if (parts_.options.scale_down_delay_type_local) return false;
  return last_scale_up_ + parts_.options.scale_down_delay_after_add > pass.now ||
         last_fail_ + parts_.options.scale_down_delay_after_failure > pass.now ||
         last_delete_ + parts_.options.scale_down_delay_after_delete > pass.now;
}

// Upstream says no word about a node that is not needed while nothing is removed at all.
void Engine::HoldInCooldown(PassState& pass) {
  struct Wait {
    TimePoint until;
    const char* why;
  };
  Wait longest{pass.now, "pending pods are new"};
  for (const Wait& wait :
       {Wait{last_scale_up_ + parts_.options.scale_down_delay_after_add, "after a scale-up"},
        Wait{last_fail_ + parts_.options.scale_down_delay_after_failure, "after a failure"},
        Wait{last_delete_ + parts_.options.scale_down_delay_after_delete, "after a deletion"}}) {
    if (wait.until > longest.until) longest = wait;
  }
  if (!down_.Unneeded().empty()) pass.wake.At(longest.until, "the cool-down ends");
  down_.HoldUnneeded(longest.why, longest.until - pass.now, pass.now);
}

// --scale-down-delay-type-local.
void Engine::NoteGroupDelays(PassState& pass) const {
  const auto note = [&](const std::map<std::string, TimePoint>& since, Duration wait) {
    for (const auto& [group, at] : since) pass.wake.At(at + wait, "the cool-down of a group ends");
  };
  note(group_scaled_up_, parts_.options.scale_down_delay_after_add);
  note(group_scaled_down_, parts_.options.scale_down_delay_after_delete);
  note(group_failed_, parts_.options.scale_down_delay_after_failure);
}

void Engine::HoldCropped(const std::vector<NodeAndGroup>& wanted, const CroppedDeletions& cropped) {
  std::set<std::string_view> going;
  for (const auto* batches : {&cropped.empty, &cropped.drain}) {
    for (const DeletionBatch& batch : *batches) {
      for (const RemovableNode& node : batch.nodes) going.insert(node.node);
    }
  }
  for (const auto& [node, group] : wanted) {
    if (going.contains(node)) continue;
    down_.Holds({.node = node,
                 .reason = report::Unremovable::kNextPass,
                 .detail = "as many nodes as may go at once are going",
                 .group = group});
  }
}

Engine::Described Engine::Describe(const RemovableNode& node, bool drain) {
  Described described;
  report::RemovedNode& removed = described.removed;
  removed.node = node.node;
  removed.group = node.group;
  const cluster::Snapshot& snapshot = parts_.world.snapshot();
  const cluster::NodeIndex index = snapshot.FindNode(node.node);
  if (index == cluster::kNone) return described;
  if (const report::Utilization* use = down_.UseOf(index)) removed.utilization = *use;
  if (!drain) return described;
  const std::vector<cluster::PodIndex> pods = parts_.world.PodsInOrder(index);
  // The report shares the objects, and the counts of their owners are in as many places of memory:
  // asked for together, they come together.
  for (const auto* list : {&node.to_reschedule, &pods}) {
    for (const cluster::PodIndex pod : *list) {
      if (const auto* entry = parts_.world.EntryOf(pod)) __builtin_prefetch(entry->pod.get(), 1);
    }
  }
  const size_t moves = std::min(node.to_reschedule.size(), node.destinations.size());
  removed.moves.reserve(moves);
  for (size_t i = 0; i < moves; ++i) {
    const cluster::NodeIndex to = node.destinations[i];
    removed.moves.push_back({parts_.world.EntryOf(node.to_reschedule[i])->pod,
                             snapshot.IsLive(to) ? snapshot.node(to).name : ""});
  }
  removed.evicted.reserve(pods.size());
  for (const cluster::PodIndex pod : pods) {
    const cluster::World::PodEntry* entry = parts_.world.EntryOf(pod);
    if (entry == nullptr) continue;
    const drain::PodTraits::Traits& traits = down_.traits().Of(snapshot, pod, *entry->pod);
    if (traits.mirror || traits.daemon_set) continue;
    removed.evicted.push_back(entry->pod);
    if (!described.pods.empty()) described.pods += ',';
    described.pods += entry->pod->metadata.name;
  }
  return described;
}

Task<void> Engine::ScaleDown(PassState& pass) {
  report::ScaleDown& report = pass.report->scale_down;
  const drain::WorldControllers controllers(parts_.world);
  ScaleDownPlanner::View view{.nodes = *pass.nodes,
                              .all_nodes = pass.all_nodes,
                              .budgets = pass.budgets,
                              .controllers = &controllers,
                              .deleting = pass.deleting,
                              .now = pass.now};

  std::set<std::string> delayed;
  if (parts_.options.scale_down_delay_type_local) {
    const TimePoint now = parts_.executor.clock().Now();
    const auto delay = [&](std::map<std::string, TimePoint>& since, Duration wait) {
      std::erase_if(since, [&](const auto& entry) { return entry.second + wait <= now; });
      for (const auto& [group, at] : since) delayed.insert(group);
    };
    delay(group_scaled_up_, parts_.options.scale_down_delay_after_add);
    delay(group_scaled_down_, parts_.options.scale_down_delay_after_delete);
    delay(group_failed_, parts_.options.scale_down_delay_after_failure);
  }
  std::vector<uint32_t> candidates = down_.Candidates(view, delayed);
  const PassView pass_view = ViewOf(pass);
  view.pass = &pass_view;
  if (slots_.scale_down_node) {
    std::vector<std::string> standard;
    for (const uint32_t place : candidates)
      standard.push_back(view.nodes[place].node->metadata.name);
    const auto chosen = PlacesOf(
        slots_.scale_down_node->Candidates(std::move(standard), view.nodes, pass_view), view.nodes);
    if (!chosen.ok()) {
      parts_.world.snapshot().RevertFork();
      parts_.world.ApplyHeld();
      pass.Fail("internalError", "scale-down candidates: " + chosen.status().message());
      report.result = report::ScaleDownResult::kError;
      co_return;
    }
    candidates = *chosen;
  }
  const Stopwatch evaluation(parts_.executor.clock());
  down_.Evaluate(view, candidates);
  evaluation.Note(pass.report->took, "findUnneeded");
  const Stopwatch removal(parts_.executor.clock());
  for (const auto& observer : slots_.scale_down_candidates)
    observer->UpdateCandidates(down_.Unneeded(), pass.now);

  CroppedDeletions deletions;
  std::unordered_map<std::string, Described> described;
  const bool cooldown = InCooldown(pass);
  const bool act = !cooldown && !candidates.empty();
  if (cooldown) HoldInCooldown(pass);
  if (!delayed.empty()) NoteGroupDelays(pass);
  if (act && slots_.node_group_manager) {
    const auto gone = slots_.node_group_manager->RemoveUnneeded();
    if (!gone.ok()) {
      parts_.log.Warning("unneeded node groups could not be removed", {{"error", gone.status()}});
    } else if (!gone->empty()) {
      parts_.log.Info("unneeded node groups removed", {{"groups", Join(*gone, ",")}});
      pass.report->groups_deleted += static_cast<int>(gone->size());
    }
  }
  if (act) {
    NodesToDelete nodes = down_.Choose(view);
    for (const RemovableNode& shown : actuator_.LeaveOutShown(nodes)) {
      down_.Holds({.node = shown.node,
                   .reason = report::Unremovable::kNextPass,
                   .detail = "a dry run, and its removal has been shown",
                   .group = shown.group});
    }
    std::vector<NodeAndGroup> wanted;
    for (const auto* list : {&nodes.empty, &nodes.drain}) {
      for (const RemovableNode& node : *list) wanted.emplace_back(node.node, node.group);
    }
    std::unordered_map<std::string_view, int> registered;
    for (const ListedNode& of : *pass.nodes) ++registered[of.group];
    const auto facts_of = [&](std::string_view group) {
      GroupFacts facts;
      facts.all_or_nothing = OptionsOf(group).zero_or_max_node_scaling;
      facts.target = groups_.TargetSize(group).ok() ? *groups_.TargetSize(group) : 0;
      const auto nodes_of = registered.find(group);
      facts.registered = nodes_of == registered.end() ? 0 : nodes_of->second;
      return facts;
    };
    deletions = CropToBudgets(std::move(nodes), actuator_.InProgress(), parts_.options, facts_of);
    HoldCropped(wanted, deletions);
    for (const auto& batch : deletions.empty) {
      for (const auto& node : batch.nodes) described[node.node] = Describe(node, false);
    }
    for (const auto& batch : deletions.drain) {
      for (const auto& node : batch.nodes) described[node.node] = Describe(node, true);
    }
  }
  // The plan is made; what was imagined for it goes before anything is touched.
  parts_.world.snapshot().RevertFork();
  parts_.world.ApplyHeld();
  if (act) {
    const Duration oldest = parts_.options.deviations.fuse_max_view_age;
    RemovalFuse::Moment moment;
    moment.now = pass.now;
    moment.nodes = pass.nodes->size();
    moment.stale = parts_.view_age && parts_.view_age() > oldest;
    moment.deleting = actuator_.InProgress();
    moment.stays = [this](const std::string& node, std::string why) {
      down_.Stays(node, report::Unremovable::kFused, std::move(why));
    };
    co_await fuse_.Crop(std::move(moment), deletions);
  }

  if (cooldown) {
    report.result = report::ScaleDownResult::kInCooldown;
  } else if (candidates.empty()) {
    report.result = report::ScaleDownResult::kNoCandidates;
  } else {
    const auto describe = [&](const RemovableNode& node, bool drain) {
      Described& what = described[node.node];
      if (!drain) {
        StatusEvent("Normal", "ScaleDownEmpty",
                    "Scale-down: removing empty node \"" + node.node + "\"");
      } else {
        StatusEvent("Normal", "ScaleDown",
                    "Scale-down: removing node " + node.node + ", utilization: " +
                        Print(what.removed.utilization) + ", pods to reschedule: " + what.pods);
      }
      return std::move(what.removed);  // asked for once
    };
    const Stopwatch deletion(parts_.executor.clock());
    Actuator::Started started = co_await actuator_.Start(std::move(deletions), describe);
    deletion.Note(pass.report->took, "scaleDown:nodeDeletion");
    removal.Note(pass.report->took, "scaleDown");
    report.result = started.result;
    report.removed = std::move(started.nodes);
    if (started.result == report::ScaleDownResult::kNodeDeleteStarted) {
      last_delete_ = pass.now;
      state_.RecalculateRanges();
    }
    if (!started.error.ok()) {
      last_fail_ = pass.now;
      pass.Fail("apiCallError", started.error.message());
    }
  }

  std::vector<cluster::NodePtr> needed;
  std::vector<cluster::NodePtr> unneeded;
  const std::vector<std::string> names = down_.Unneeded();
  const std::unordered_set<std::string_view> unneeded_names(names.begin(), names.end());
  for (const ListedNode& of : *pass.nodes) {
    if (of.group.empty()) continue;
    const bool is_unneeded = unneeded_names.contains(of.node->metadata.name);
    if (is_unneeded == of.candidate) continue;  // marked as it should be
    (is_unneeded ? unneeded : needed).push_back(of.node);
  }
  const Stopwatch tainting(parts_.executor.clock());
  const bool more = co_await actuator_.UpdateSoftTaints(std::move(needed), std::move(unneeded));
  if (more) pass.wake.In(kNextTaints, "nodes are still to be marked as unneeded or needed");
  tainting.Note(pass.report->took, "scaleDown:softTaintUnneeded");
}

void Engine::TellScaleUp(PassState& pass) {
  const report::ScaleUp& status = pass.report->scale_up;
  if (!slots_.scale_up_status) return EmitScaleUpEvents(status);
  slots_.scale_up_status->Process(
      status, [this](const report::ScaleUp& scale_up) { EmitScaleUpEvents(scale_up); },
      ViewOf(pass));
}

void Engine::EmitScaleUpEvents(const report::ScaleUp& scale_up) {
  using report::ScaleUpResult;
  if (scale_up.result != ScaleUpResult::kSuccessful && scale_up.result != ScaleUpResult::kError) {
    for (const report::Unhelped& unhelped : scale_up.unhelped) {
      const std::string text =
          report::NotTriggeredText(scale_up.result, unhelped, scale_up.considered_groups);
      for (const auto& pod : unhelped.pods) {
        parts_.writer.Emit(drain::PodEvent(*pod, "Normal", "NotTriggerScaleUp", text));
      }
    }
  }
  if (scale_up.resizes.empty()) return;
  const std::string text = report::TriggeredText(scale_up.resizes);
  for (const auto& pod : scale_up.triggered) {
    parts_.writer.Emit(drain::PodEvent(*pod, "Normal", "TriggeredScaleUp", text));
  }
}

report::ClusterStatus Engine::Status(const PassState& pass) {
  report::ClusterStatus status;
  status.running = true;
  status.healthy = state_.ClusterHealthy();
  status.counts = CountsOf(state_.total());
  status.probed = pass.now;
  status.scale_down_probed = down_.last_evaluation();
  std::map<std::string, int> candidates = down_.CandidatesByGroup();
  for (const auto& [group, count] : candidates) status.candidates += group.empty() ? 0 : count;
  for (const cloud::GroupInfo& info : groups_.Groups()) {
    if (slots_.async_node_groups && slots_.async_node_groups->IsUpcoming(info.id)) continue;
    report::GroupStatus group;
    group.group = info.id;
    group.min = info.min_size;
    group.max = info.max_size;
    group.healthy = state_.GroupHealthy(info.id);
    group.counts = CountsOf(state_.of(info.id));
    group.target = state_.range(info.id).target;
    group.candidates = candidates[info.id];
    const auto backoff = state_.BackedOff(info.id, pass.now);
    if (state_.GroupScalingUp(info.id)) {
      group.scale_up = "InProgress";
      status.scale_up_in_progress = true;
    } else if (!group.healthy) {
      group.scale_up = "Unhealthy";
    } else if (backoff) {
      group.scale_up = "Backoff";
      group.backoff_code = backoff->code;
      group.backoff_message = backoff->message;
    } else {
      group.scale_up = "NoActivity";
    }
    status.groups.push_back(std::move(group));
  }
  return status;
}

void Engine::NoteDue(PassState& pass) {
  state_.NoteDue(pass.wake);
  down_.NoteDue(pass.wake);
  fuse_.NoteDue(pass.wake);
  if (!pass.pending.empty()) state_.NoteBackoffs(pass.wake);
  if (pass.unknown_nodes > 0) pass.wake.In(kNextQuestion, "the provider has not placed a node yet");
  if (pass.report->unprocessed_pods > 0) pass.wake.In(Duration(1), "pods were not looked at");
  // The group that failed is left alone now; another one may do.
  if (!pass.report->scale_up.failed_groups.empty()) pass.wake.In(kNextGroup, "an order failed");
  if (!pass.report->error.empty()) pass.wake.In(kTryAgain, "the pass failed");
  pass.report->call_again = pass.wake.earliest();
}

void Engine::Finish(PassState& pass) {
  NoteDue(pass);
  pass.report->status = Status(pass);
  if (!pass.scale_up_tried) TellScaleUp(pass);
  pass.report->scale_down.outcomes = actuator_.TakeOutcomes();
  pass.report->scale_down.unneeded = down_.Unneeded();
  pass.report->scale_down.staying = down_.Staying();
  pass.report->scale_down.held = down_.Held();
  pass.report->scale_up.fitting = std::move(pass.fitting);
  pass.report->failed_additions = std::exchange(failed_additions_, {});
  pass.report->groups_created = std::exchange(groups_created_, 0);
  const PassView view = ViewOf(pass);
  if (slots_.scale_down_status) slots_.scale_down_status->Process(pass.report->scale_down, view);
  if (slots_.autoscaling_status) slots_.autoscaling_status->Process(*pass.report->status, view);
}

}  // namespace coppice::autoscale
