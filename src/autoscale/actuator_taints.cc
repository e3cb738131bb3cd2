// What the actuator writes on nodes: the mark of those that go, the soft one of those that may.

#include <algorithm>

#include "autoscale/actuator.h"
#include "autoscale/taints.h"

namespace coppice::autoscale {

namespace {

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
constexpr Duration kLatencyCounts = std::chrono::hours(1);
// A mark that could not be taken back is tried again: the API server may have been away.
constexpr Duration kUntaintAgain = std::chrono::seconds(10);
constexpr int kUntaintTries = 60;

}  // namespace

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

Task<Status> Actuator::Untaint(std::string node) {
  cluster::NodeChange change;
  change.remove_taints.emplace_back(kToBeDeletedTaint);
  if (parts_.options.cordon_node_before_terminating) change.unschedulable = false;
  return parts_.writer.ChangeNode(std::move(node), std::move(change));
}

// The start of the next process cleans up what stayed; until then nothing would run on the node.
Task<void> Actuator::TakeMarkBack(std::string node) {
  const Status status = co_await Untaint(node);
  if (!parts_.deviations.fuses || status.ok() || status.code() == Code::kNotFound) co_return;
  parts_.executor.Spawn(TryToTakeMarkBack(std::move(node)));
}

Task<void> Actuator::TryToTakeMarkBack(std::string node) {
  for (int i = 0; i < kUntaintTries; ++i) {
    co_await parts_.executor.Sleep(kUntaintAgain);
    const bool again =
        std::ranges::any_of(under_way_, [&](const auto& entry) { return entry.first == node; });
    if (again) co_return;  // marked anew, and taken back by who did it
    const Status status = co_await Untaint(node);
    if (status.ok() || status.code() == Code::kNotFound) co_return;
  }
}

// In a dry run nothing is ever written: there the mark is taken for seen.
bool Actuator::ShowsMark(const std::string& name) const {
  const cluster::NodePtr node = parts_.world.FindNode(name);
  return node == nullptr || HasToBeDeletedTaint(*node) || parts_.writer.pretends();
}

// A look at a view from before the taint proves nothing: pods may have come until the scheduler saw
// it. Where the view is behind, it is given some time to show what we wrote.
Task<void> Actuator::WaitForView(std::vector<std::string> nodes) {
  const auto shows = [this](const std::string& name) { return ShowsMark(name); };
  const TimePoint give_up = parts_.executor.clock().Now() + kTaintSeenWithin;
  while (!std::ranges::all_of(nodes, shows) && parts_.executor.clock().Now() < give_up)
    co_await parts_.executor.Sleep(std::chrono::seconds(1));
}

// How long it takes until what we wrote comes back by the watch: then the scheduler has most likely
// seen it, too.
Task<void> Actuator::MeasureTaintLatency(std::vector<std::string> nodes, TimePoint started) {
  const auto seen = [this](const std::string& name) { return ShowsMark(name); };
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
    if (results[i].ok()) co_await TakeMarkBack(names[i]);
  }
  co_return Status(Code::kUnavailable,
                   "couldn't taint " + std::to_string(failures) + " nodes with ToBeDeleted");
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
    const Status ignored = co_await Untaint(node->metadata.name);
    (void)ignored;
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
