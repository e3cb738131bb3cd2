#include "autoscale/actuator.h"

#include <algorithm>
#include <iterator>

#include "autoscale/drain_options.h"
#include "autoscale/hold_nodes.h"
#include "autoscale/taints.h"
#include "base/promise.h"
#include "drain/world_controllers.h"

namespace coppice::autoscale {

namespace {

constexpr std::string_view kDelayDeletionPrefix =
    "delay-deletion.cluster-autoscaler.kubernetes.io/";
constexpr Duration kDelayPoll = std::chrono::seconds(5);
constexpr std::string_view kOthersFailed = "couldn't scale down other nodes in this node group";

constexpr Duration kPassEndsWithin = std::chrono::minutes(5);  // a cloud may take its time

}  // namespace

Actuator::Actuator(Parts parts)
    : parts_(std::move(parts)),
      evictor_(EvictionOptionsFrom(parts_.drain), parts_.writer, parts_.executor),
      look_(parts_.pods, parts_.deviations, parts_.writer, parts_.world),
      shown_(parts_.world),
      rules_(drain::DefaultRules(RuleOptionsFrom(parts_.drain))) {}

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

// One for each all-or-nothing group; its nodes may be in two batches, the empty and the occupied.
Actuator::Attempts Actuator::AttemptsOf(const CroppedDeletions& deletions) {
  Attempts attempts;
  for (const auto* batches : {&deletions.empty, &deletions.drain}) {
    for (const DeletionBatch& batch : *batches) {
      if (batch.whole_group == 0) continue;
      std::shared_ptr<Attempt>& attempt = attempts[batch.group];
      if (attempt == nullptr) attempt = std::make_shared<Attempt>();
      attempt->expected += batch.nodes.size();
    }
  }
  return attempts;
}

Task<Actuator::Started> Actuator::Start(CroppedDeletions deletions, Describe describe) {
  Started started;
  if (deletions.empty.empty() && deletions.drain.empty()) co_return started;
  std::ranges::move(HoldNodes(parts_.world.held_nodes(), deletions), std::back_inserter(outcomes_));
  if (deletions.empty.empty() && deletions.drain.empty()) co_return started;
  const Attempts attempts = AttemptsOf(deletions);
  for (const bool drain : {false, true}) {
    std::vector<DeletionBatch>& batches = drain ? deletions.drain : deletions.empty;
    if (batches.empty()) continue;
    std::vector<std::string> names;
    for (const DeletionBatch& batch : batches) {
      for (const RemovableNode& node : batch.nodes) names.push_back(node.node);
    }
    const Status tainted = co_await Taint(std::move(names));
    if (!tainted.ok()) {
      // Nodes of the same groups may have been started: nobody will come to complete them.
      for (const DeletionBatch& batch : batches) {
        if (batch.whole_group > 0) co_await GiveUp(attempts.at(batch.group));
      }
      ReleaseNodes(parts_.world.held_nodes(), batches);
      if (!drain) ReleaseNodes(parts_.world.held_nodes(), deletions.drain);
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
    for (DeletionBatch& batch : batches) {
      AttemptPtr attempt = batch.whole_group > 0 ? attempts.at(batch.group) : nullptr;
      parts_.executor.Spawn(DeleteBatch(std::move(batch), std::move(attempt), drain));
    }
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
  if (parts_.deviations.fuses && !ShowsMark(node.node)) {
    return Unavailable("the view of the cluster is from before \"" + node.node +
                       "\" was marked, and may miss pods");
  }
  std::vector<const model::Pod*> listed;
  for (const cluster::World::PodEntry* entry : parts_.world.BoundTo(node.node)) {
    if (parts_.counts && !parts_.counts(*entry->pod)) continue;
    pods.push_back(entry->pod);
    listed.push_back(entry->pod.get());
  }
  drain::PdbTracker budgets;
  const drain::WorldControllers controllers(parts_.world);
  if (drain) {
    auto fresh = BudgetsOf(parts_.deviations, parts_.world);
    if (!fresh.ok()) return fresh.status();
    budgets = std::move(*fresh);
  }
  const drain::PodsToMove move = drain::FindPodsToMove(
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

// A pass that waits for the cloud keeps the view as it was when it began.
Task<void> Actuator::WaitForPass() {
  const TimePoint give_up = parts_.executor.clock().Now() + kPassEndsWithin;
  while (parts_.world.behind() && parts_.executor.clock().Now() < give_up) {
    const Promise<bool> applied(parts_.executor);
    parts_.world.WhenApplied([applied] { applied.Set(true); });
    const Future<bool> news = applied.future();
    co_await news.Until(give_up);
  }
}

Task<void> Actuator::DeleteBatch(DeletionBatch batch, AttemptPtr attempt, bool drain) {
  if (DelayAfterTaint() > Duration::zero()) co_await parts_.executor.Sleep(DelayAfterTaint());
  if (parts_.deviations.fuses) {
    std::vector<std::string> names;
    for (const RemovableNode& node : batch.nodes) names.push_back(node.node);
    co_await WaitForPass();
    co_await WaitForView(std::move(names));
  }
  for (RemovableNode& node : batch.nodes) {
    co_await WaitForPass();
    Leaving leaving{node.node, batch.group, node.uid, node.provider_id, drain};
    std::vector<cluster::PodPtr> pods;
    const Status status = StillMayGo(node, drain, pods);
    if (!status.ok()) {
      co_await Abort(std::move(leaving), attempt, drain, "Internal", status.message());
      continue;
    }
    parts_.executor.Spawn(DeleteOne(std::move(leaving), std::move(pods), attempt));
  }
}

Task<void> Actuator::DeleteOne(Leaving leaving, std::vector<cluster::PodPtr> pods,
                               AttemptPtr attempt) {
  if (leaving.drain) {
    const Status drained = co_await evictor_.Drain(leaving.node, std::move(pods));
    if (!drained.ok()) {
      co_await Abort(std::move(leaving), std::move(attempt), true, "FailedToEvictPods",
                     drained.message());
      co_return;
    }
  } else {
    co_await evictor_.EvictDaemonSetPods(leaving.node, std::move(pods));
  }
  co_await WaitForDelayAnnotations(leaving.node);
  co_await HandOver(std::move(leaving), std::move(attempt));
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
Task<void> Actuator::HandOver(Leaving leaving, AttemptPtr attempt) {
  const std::string group = leaving.group;
  std::vector<Ready> ready;
  if (attempt == nullptr) {
    ready.push_back({std::move(leaving), nullptr});
  } else {
    if (attempt->failed) {
      const bool drain = leaving.drain;
      co_await Abort(std::move(leaving), std::move(attempt), drain, "FailedToDelete",
                     std::string(kOthersFailed));
      co_return;
    }
    attempt->arrived.push_back(std::move(leaving));
    if (attempt->arrived.size() < attempt->expected) co_return;
    for (Leaving& one : std::exchange(attempt->arrived, {}))
      ready.push_back({std::move(one), attempt});
  }
  if (parts_.options.node_deletion_batcher_interval > Duration::zero()) {
    auto& batch = waiting_for_batch_[group];
    const bool first = batch.empty();
    std::ranges::move(ready, std::back_inserter(batch));
    if (!first) co_return;
    co_await parts_.executor.Sleep(parts_.options.node_deletion_batcher_interval);
    ready = std::exchange(waiting_for_batch_[group], {});
  }
  co_await DeleteMachines(std::move(ready), group);
}

// Those of them that may go; the others are told to stay, and with one of an all-or-nothing group
// all of it.
Task<std::vector<cloud::NodeRef>> Actuator::LookAgain(std::vector<Ready>& ready) {
  std::vector<Task<Result<cloud::NodeRef>>> looks;
  for (const Ready& one : ready) looks.push_back(look_.At(one.leaving));
  std::vector<Result<cloud::NodeRef>> seen = co_await WhenAll(std::move(looks));
  for (size_t i = 0; i < ready.size(); ++i) {
    if (!seen[i].ok() && ready[i].attempt != nullptr) ready[i].attempt->failed = true;
  }
  std::vector<Ready> going;
  std::vector<cloud::NodeRef> refs;
  for (size_t i = 0; i < ready.size(); ++i) {
    const bool others_failed = ready[i].attempt != nullptr && ready[i].attempt->failed;
    if (seen[i].ok() && !others_failed) {
      going.push_back(std::move(ready[i]));
      refs.push_back(*std::move(seen[i]));
      continue;
    }
    const bool drain = ready[i].leaving.drain;
    std::string result = seen[i].ok() ? "FailedToDelete" : "Internal";
    std::string why = seen[i].ok() ? std::string(kOthersFailed) : seen[i].status().message();
    co_await Abort(std::move(ready[i].leaving), std::move(ready[i].attempt), drain,
                   std::move(result), std::move(why));
  }
  ready = std::move(going);
  co_return refs;
}

Task<void> Actuator::DeleteMachines(std::vector<Ready> ready, std::string group) {
  std::vector<cloud::NodeRef> refs = co_await LookAgain(ready);
  if (ready.empty()) co_return;
  std::string refusal;
  for (const cloud::NodeRef& ref : refs) {
    if (parts_.may_delete && refusal.empty()) refusal = parts_.may_delete(ref, group);
  }
  Status status = FailedPrecondition(refusal);
  if (refusal.empty()) status = co_await parts_.cloud.Delete(group, std::move(refs));
  const TimePoint now = parts_.executor.clock().Now();
  if (!status.ok()) parts_.failed(group, now);
  for (Ready& one : ready) {
    const bool drained = one.leaving.drain;
    const std::string node = one.leaving.node;
    if (!status.ok()) {
      co_await Abort(std::move(one.leaving), std::move(one.attempt), drained, "FailedToDelete",
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
    // A node whose machine goes is held until it is gone.
    if (parts_.writer.pretends()) {
      shown_.Add(node);
      parts_.world.held_nodes().Release(node, kHolder);
    }
    std::erase_if(under_way_, [&](const auto& entry) { return entry.first == node; });
    outcomes_.push_back({node, "Ok", ""});
    if (parts_.ended) parts_.ended();
  }
}

// `drain`: how the one went that failed first, as upstream words it for all of its group.
Task<void> Actuator::Abort(Leaving leaving, AttemptPtr attempt, bool drain, std::string result,
                           std::string error) {
  std::vector<Leaving> others;
  if (attempt != nullptr) {
    attempt->failed = true;
    others = std::exchange(attempt->arrived, {});
  }
  cluster::Event event = NodeEvent(
      leaving.node, "Warning", "ScaleDownFailed",
      (drain ? "failed to drain and delete node: " : "failed to delete empty node: ") + error);
  parts_.writer.Emit(std::move(event));
  co_await TakeMarkBack(leaving.node);
  parts_.world.held_nodes().Release(leaving.node, kHolder);
  std::erase_if(under_way_, [&](const auto& entry) { return entry.first == leaving.node; });
  outcomes_.push_back({leaving.node, std::move(result), std::move(error)});
  if (parts_.ended) parts_.ended();
  for (Leaving& other : others) {
    co_await Abort(std::move(other), attempt, drain, "FailedToDelete", std::string(kOthersFailed));
  }
}

// Not all of the group could be started: those that have been stay.
Task<void> Actuator::GiveUp(AttemptPtr attempt) {
  attempt->failed = true;
  for (Leaving& one : std::exchange(attempt->arrived, {})) {
    const bool drain = one.drain;
    co_await Abort(std::move(one), attempt, drain, "FailedToDelete", std::string(kOthersFailed));
  }
}

}  // namespace coppice::autoscale
