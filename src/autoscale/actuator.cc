#include "autoscale/actuator.h"

#include <algorithm>

#include "autoscale/taints.h"
#include "autoscale/world_controllers.h"

namespace coppice::autoscale {

namespace {

constexpr std::string_view kDelayDeletionPrefix =
    "delay-deletion.cluster-autoscaler.kubernetes.io/";
constexpr Duration kDelayPoll = std::chrono::seconds(5);

int64_t UnixSeconds(TimePoint now) {
  return std::chrono::duration_cast<std::chrono::seconds>(now.time_since_epoch()).count();
}

cluster::Event CleanUpEvent(const model::Node& node, std::string_view taint) {
  return {"Node",
          "",
          node.metadata.name,
          node.metadata.uid,
          "Normal",
          "ClusterAutoscalerCleanup",
          "removed " + std::string(taint) + " taint from node " + node.metadata.name};
}

// Upstream's numbers for the wait that adapts itself.
constexpr Duration kTaintPoll = std::chrono::milliseconds(50);
constexpr Duration kTaintSeenWithin = std::chrono::seconds(30);
constexpr Duration kPassEndsWithin = std::chrono::minutes(5);  // a cloud may take its time
constexpr Duration kLatencyCounts = std::chrono::hours(1);

}  // namespace

Actuator::Actuator(Parts parts)
    : parts_(std::move(parts)),
      evictor_(parts_.options, parts_.writer, parts_.executor),
      rules_(DefaultDrainRules(DrainOptions::From(parts_.options))) {}

cluster::Event Actuator::NodeEvent(const std::string& node, std::string type, std::string reason,
                                   std::string text) const {
  const cluster::NodePtr object = parts_.world.FindNode(node);
  return {"Node",
          "",
          node,
          object ? object->metadata.uid : "",
          std::move(type),
          std::move(reason),
          std::move(text)};
}

DeletionsInProgress Actuator::InProgress() const {
  DeletionsInProgress now;
  for (const auto& [node, under] : under_way_) {
    (under.drain ? now.drained : now.empty).push_back(node);
    ++now.by_group[under.group];
  }
  return now;
}

std::vector<report::DeletionOutcome> Actuator::TakeOutcomes() {
  return std::exchange(outcomes_, {});
}

Task<Status> Actuator::TaintOne(std::string node) {
  cluster::NodeChange change;
  change.add_taints.push_back({.key = std::string(kToBeDeletedTaint),
                               .value = std::to_string(UnixSeconds(parts_.executor.clock().Now())),
                               .effect = "NoSchedule"});
  if (parts_.options.cordon_node_before_terminating) change.unschedulable = true;
  const Status status = co_await parts_.writer.ChangeNode(node, std::move(change));
  cluster::Event event =
      status.ok()
          ? NodeEvent(node, "Normal", "ScaleDown", "marked the node as toBeDeleted/unschedulable")
          : NodeEvent(node, "Warning", "ScaleDownFailed",
                      "failed to mark the node as toBeDeleted/unschedulable: " + status.message());
  parts_.writer.Emit(std::move(event));
  co_return status;
}

Task<void> Actuator::Untaint(std::string node) {
  cluster::NodeChange change;
  change.remove_taints.emplace_back(kToBeDeletedTaint);
  if (parts_.options.cordon_node_before_terminating) change.unschedulable = false;
  const Status ignored = co_await parts_.writer.ChangeNode(std::move(node), std::move(change));
  (void)ignored;  // the next start cleans up what stayed
}

// How long it takes until what we wrote comes back by the watch: then the scheduler has most likely
// seen it, too.
Task<void> Actuator::MeasureTaintLatency(std::vector<std::string> nodes, TimePoint started) {
  const auto seen = [this](const std::string& name) {
    const cluster::NodePtr node = parts_.world.FindNode(name);
    return node == nullptr || HasToBeDeletedTaint(*node);
  };
  while (!std::ranges::all_of(nodes, seen)) {
    if (parts_.executor.clock().Now() - started > kTaintSeenWithin) co_return;  // nothing learnt
    co_await parts_.executor.Sleep(kTaintPoll);
  }
  const TimePoint now = parts_.executor.clock().Now();
  taint_latencies_.emplace_back(now, now - started);
  std::erase_if(taint_latencies_, [now](const auto& l) { return now - l.first >= kLatencyCounts; });
}

// Three times the way there and back, one of which has gone by when the nodes are tainted.
Duration Actuator::DelayAfterTaint() const {
  if (!parts_.options.dynamic_node_delete_delay_after_taint_enabled || taint_latencies_.empty())
    return parts_.options.node_delete_delay_after_taint;
  const auto longest =
      std::ranges::max_element(taint_latencies_, {}, &std::pair<TimePoint, Duration>::second);
  return 2 * longest->second;
}

// All of them or none: a node that could not be marked would get new pods while its fellows go.
Task<Status> Actuator::Taint(std::vector<std::string> names) {
  std::vector<Task<Status>> taints;
  taints.reserve(names.size());
  for (const std::string& name : names) taints.push_back(TaintOne(name));
  const TimePoint started = parts_.executor.clock().Now();
  const std::vector<Status> results = co_await WhenAll(std::move(taints));
  const auto failures = std::ranges::count_if(results, [](const Status& s) { return !s.ok(); });
  if (failures == 0) {
    if (parts_.options.dynamic_node_delete_delay_after_taint_enabled)
      co_await MeasureTaintLatency(std::move(names), started);
    co_return Status::Ok();
  }
  for (size_t i = 0; i < names.size(); ++i) {
    if (results[i].ok()) co_await Untaint(names[i]);
  }
  co_return Status(Code::kUnavailable,
                   "couldn't taint " + std::to_string(failures) + " nodes with ToBeDeleted");
}

Task<Actuator::Started> Actuator::Start(CroppedDeletions deletions, Describe describe) {
  failed_groups_.clear();
  Started started;
  if (deletions.empty.empty() && deletions.drain.empty()) co_return started;
  for (const bool drain : {false, true}) {
    std::vector<DeletionBatch>& batches = drain ? deletions.drain : deletions.empty;
    if (batches.empty()) continue;
    std::vector<std::string> names;
    for (const DeletionBatch& batch : batches) {
      for (const RemovableNode& node : batch.nodes) names.push_back(node.node);
    }
    const Status tainted = co_await Taint(std::move(names));
    if (!tainted.ok()) {
      started.result = report::ScaleDownResult::kError;
      started.error = tainted;
      co_return started;
    }
    for (const DeletionBatch& batch : batches) {
      for (const RemovableNode& node : batch.nodes) {
        started.nodes.push_back(describe(node, drain));
        under_way_.emplace_back(node.node, Under{batch.group, drain});
      }
    }
    for (DeletionBatch& batch : batches)
      parts_.executor.Spawn(DeleteBatch(std::move(batch), drain));
  }
  started.result = report::ScaleDownResult::kNodeDeleteStarted;
  co_return started;
}

// The world may have moved on since the plan: nothing is deleted on yesterday's word.
Status Actuator::StillMayGo(const RemovableNode& node, bool drain,
                            std::vector<cluster::PodPtr>& pods) {
  if (parts_.world.behind()) {
    return Unavailable(
        "the view of the cluster waits for the end of a pass, and may miss pods on \"" + node.node +
        "\"");
  }
  const cluster::NodePtr object = parts_.world.FindNode(node.node);
  if (parts_.options.deviations.fuses && object != nullptr && !HasToBeDeletedTaint(*object)) {
    return Unavailable("the view of the cluster is from before \"" + node.node +
                       "\" was marked, and may miss pods");
  }
  std::vector<const model::Pod*> listed;
  for (const cluster::World::PodEntry* entry : parts_.world.BoundTo(node.node)) {
    if (parts_.counts && !parts_.counts(*entry->pod)) continue;
    pods.push_back(entry->pod);
    listed.push_back(entry->pod.get());
  }
  PdbTracker budgets;
  const WorldControllers controllers(parts_.world);
  if (drain) {
    auto fresh = PdbTracker::Create(parts_.world.budgets.List());
    if (!fresh.ok()) return fresh.status();
    budgets = std::move(*fresh);
  }
  const PodsToMove move = FindPodsToMove(
      rules_, listed, {budgets, drain ? &controllers : nullptr, parts_.executor.clock().Now()});
  if (move.blocking != nullptr) {
    return FailedPrecondition("GetPodsToMove for \"" + node.node +
                              "\" returned error: " + move.blocked_by.text);
  }
  if (!drain && !move.movable.empty()) {
    return FailedPrecondition("failed to delete empty node \"" + node.node +
                              "\", new pods scheduled");
  }
  if (!drain && !move.on_completion.empty()) {
    return FailedPrecondition("failed to delete empty node \"" + node.node +
                              "\", active on-completion pods present");
  }
  return Status::Ok();
}

// A look at a view from before the taint proves nothing: pods may have come until the scheduler saw
// it. Where the view is behind, it is given some time to show what we wrote.
Task<void> Actuator::WaitForView(std::vector<std::string> nodes) {
  const auto shows = [this](const std::string& name) {
    const cluster::NodePtr node = parts_.world.FindNode(name);
    return node == nullptr || HasToBeDeletedTaint(*node);
  };
  const TimePoint give_up = parts_.executor.clock().Now() + kTaintSeenWithin;
  while (!std::ranges::all_of(nodes, shows) && parts_.executor.clock().Now() < give_up)
    co_await parts_.executor.Sleep(std::chrono::seconds(1));
}

// A pass that waits for the cloud keeps the view as it was when it began.
Task<void> Actuator::WaitForPass() {
  const TimePoint give_up = parts_.executor.clock().Now() + kPassEndsWithin;
  while (parts_.world.behind() && parts_.executor.clock().Now() < give_up)
    co_await parts_.executor.Sleep(std::chrono::milliseconds(20));
}

Task<void> Actuator::DeleteBatch(DeletionBatch batch, bool drain) {
  if (DelayAfterTaint() > Duration::zero()) co_await parts_.executor.Sleep(DelayAfterTaint());
  if (parts_.options.deviations.fuses) {
    std::vector<std::string> names;
    for (const RemovableNode& node : batch.nodes) names.push_back(node.node);
    co_await WaitForPass();
    co_await WaitForView(std::move(names));
  }
  for (RemovableNode& node : batch.nodes) {
    co_await WaitForPass();
    std::vector<cluster::PodPtr> pods;
    const Status status = StillMayGo(node, drain, pods);
    if (!status.ok()) {
      co_await Abort(node.node, batch.group, drain, "Internal", status.message());
      continue;
    }
    parts_.executor.Spawn(DeleteOne(std::move(node), std::move(pods), batch.whole_group, drain));
  }
}

Task<void> Actuator::DeleteOne(RemovableNode node, std::vector<cluster::PodPtr> pods,
                               int whole_group, bool drain) {
  if (drain) {
    const Status drained = co_await evictor_.Drain(node.node, std::move(pods));
    if (!drained.ok()) {
      co_await Abort(node.node, node.group, drain, "FailedToEvictPods", drained.message());
      co_return;
    }
  } else {
    co_await evictor_.EvictDaemonSetPods(node.node, std::move(pods));
  }
  co_await WaitForDelayAnnotations(node.node);
  co_await HandOver(node.node, node.group, whole_group, drain);
}

Task<void> Actuator::WaitForDelayAnnotations(std::string node) {
  const TimePoint give_up =
      parts_.executor.clock().Now() + parts_.options.node_deletion_delay_timeout;
  while (parts_.executor.clock().Now() < give_up) {
    const cluster::NodePtr object = parts_.world.FindNode(node);
    const bool delayed =
        object != nullptr && std::ranges::any_of(object->metadata.annotations, [](const auto& a) {
          return a.first.starts_with(kDelayDeletionPrefix);
        });
    if (!delayed) co_return;
    co_await parts_.executor.Sleep(kDelayPoll);
  }
}

// All-or-nothing groups wait until every node is ready; the others go on, at once or in batches.
Task<void> Actuator::HandOver(std::string node, std::string group, int whole_group, bool drain) {
  std::vector<std::string> ready = {node};
  if (whole_group > 0) {
    if (failed_groups_[group]) {
      co_await Abort(node, group, drain, "FailedToDelete",
                     "couldn't scale down other nodes in this node group");
      co_return;
    }
    auto& waiting = waiting_for_rest_[group];
    waiting.push_back(node);
    if (static_cast<int>(waiting.size()) < whole_group) co_return;
    ready = std::exchange(waiting, {});
  }
  if (parts_.options.node_deletion_batcher_interval > Duration::zero()) {
    auto& batch = waiting_for_batch_[group];
    const bool first = batch.empty();
    batch.insert(batch.end(), ready.begin(), ready.end());
    if (!first) co_return;
    co_await parts_.executor.Sleep(parts_.options.node_deletion_batcher_interval);
    ready = std::exchange(waiting_for_batch_[group], {});
  }
  co_await DeleteMachines(std::move(ready), std::move(group), drain);
}

Task<void> Actuator::DeleteMachines(std::vector<std::string> nodes, std::string group, bool drain) {
  std::vector<cloud::NodeRef> refs;
  std::string refusal;
  for (const std::string& node : nodes) {
    const cluster::NodePtr object = parts_.world.FindNode(node);
    cloud::NodeRef ref{
        .provider_id = object ? object->spec.provider_id : "", .name = node, .node = object};
    if (parts_.may_delete && refusal.empty()) refusal = parts_.may_delete(ref, group);
    refs.push_back(std::move(ref));
  }
  Status status = FailedPrecondition(refusal);
  if (refusal.empty()) status = co_await parts_.cloud.Delete(group, std::move(refs));
  const TimePoint now = parts_.executor.clock().Now();
  if (!status.ok()) parts_.failed(group, now);
  for (const std::string& node : nodes) {
    const auto under = std::ranges::find(under_way_, node, &std::pair<std::string, Under>::first);
    const bool drained = under != under_way_.end() ? under->second.drain : drain;
    if (!status.ok()) {
      co_await Abort(node, group, drained, "FailedToDelete",
                     "failed to delete nodes from group " + group + ": " + status.message());
      continue;
    }
    cluster::Event event =
        NodeEvent(node, "Normal", "ScaleDown", "nodes removed by cluster autoscaler");
    parts_.writer.Emit(std::move(event));
    parts_.removed(group, node, now);
    if (drained) {
      parts_.status_event("Normal", "ScaleDown",
                          "Scale-down: node " + node + " removed with drain");
    } else {
      parts_.status_event("Normal", "ScaleDownEmpty",
                          "Scale-down: empty node " + node + " removed");
    }
    std::erase_if(under_way_, [&](const auto& entry) { return entry.first == node; });
    outcomes_.push_back({node, "Ok", ""});
    if (parts_.ended) parts_.ended();
  }
}

Task<void> Actuator::Abort(std::string node, std::string group, bool drain, std::string result,
                           std::string error) {
  failed_groups_[group] = true;
  const std::vector<std::string> others = std::exchange(waiting_for_rest_[group], {});
  cluster::Event event = NodeEvent(
      node, "Warning", "ScaleDownFailed",
      (drain ? "failed to drain and delete node: " : "failed to delete empty node: ") + error);
  parts_.writer.Emit(std::move(event));
  co_await Untaint(node);
  std::erase_if(under_way_, [&](const auto& entry) { return entry.first == node; });
  outcomes_.push_back({node, std::move(result), std::move(error)});
  if (parts_.ended) parts_.ended();
  for (const std::string& other : others) {
    if (other == node) continue;
    co_await Abort(other, group, drain, "FailedToDelete",
                   "couldn't scale down other nodes in this node group");
  }
}

Task<bool> Actuator::UpdateSoftTaints(std::vector<cluster::NodePtr> needed,
                                      std::vector<cluster::NodePtr> unneeded) {
  int calls = parts_.options.max_bulk_soft_taint_count;
  if (calls == 0) co_return false;
  const TimePoint deadline =
      parts_.executor.clock().Now() + parts_.options.max_bulk_soft_taint_time;
  bool more = false;
  const auto within_budget = [&] {
    const bool within = calls > 0 && parts_.executor.clock().Now() < deadline;
    more = more || !within;
    return within;
  };
  for (const cluster::NodePtr& node : needed) {
    if (HasToBeDeletedTaint(*node) || !HasTaint(*node, kDeletionCandidateTaint) || !within_budget())
      continue;
    --calls;
    cluster::NodeChange change;
    change.remove_taints.emplace_back(kDeletionCandidateTaint);
    const Status ignored =
        co_await parts_.writer.ChangeNode(node->metadata.name, std::move(change));
    (void)ignored;  // tried again in the next pass
  }
  for (const cluster::NodePtr& node : unneeded) {
    if (HasToBeDeletedTaint(*node) || HasTaint(*node, kDeletionCandidateTaint) || !within_budget())
      continue;
    --calls;
    cluster::NodeChange change;
    change.add_taints.push_back(
        {.key = std::string(kDeletionCandidateTaint),
         .value = std::to_string(UnixSeconds(parts_.executor.clock().Now())),
         .effect = "PreferNoSchedule"});
    const Status ignored =
        co_await parts_.writer.ChangeNode(node->metadata.name, std::move(change));
    (void)ignored;
  }
  co_return more;
}

Task<void> Actuator::CleanUp(std::vector<cluster::NodePtr> owned,
                             std::vector<cluster::NodePtr> all) {
  for (const cluster::NodePtr& node : owned) {
    if (!HasToBeDeletedTaint(*node)) continue;
    co_await Untaint(node->metadata.name);
    cluster::Event event = CleanUpEvent(*node, kToBeDeletedTaint);
    parts_.writer.Emit(std::move(event));
  }
  if (parts_.options.max_bulk_soft_taint_count != 0) co_return;
  const TimePoint now = parts_.executor.clock().Now();
  for (const cluster::NodePtr& node : all) {
    if (!HasTaint(*node, kDeletionCandidateTaint)) continue;
    const auto since = TaintTime(*node, kDeletionCandidateTaint);
    const Duration ttl = parts_.options.node_deletion_candidate_ttl;
    if (ttl > Duration::zero() && since && now - *since < ttl) continue;
    cluster::NodeChange change;
    change.remove_taints.emplace_back(kDeletionCandidateTaint);
    const Status ignored =
        co_await parts_.writer.ChangeNode(node->metadata.name, std::move(change));
    (void)ignored;
    cluster::Event event = CleanUpEvent(*node, kDeletionCandidateTaint);
    parts_.writer.Emit(std::move(event));
  }
}

}  // namespace coppice::autoscale
