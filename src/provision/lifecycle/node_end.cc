#include "provision/lifecycle/node_end.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "base/strings.h"
#include "model/pod_kinds.h"
#include "model/taints.h"
#include "provision/conditions.h"
#include "provision/pod_selection.h"
#include "wire/time_text.h"

namespace coppice::provision {

namespace {

namespace names = model::karpenter;

constexpr Duration kPoll = std::chrono::seconds(1);
constexpr Duration kInstancePoll = std::chrono::seconds(5);
constexpr Duration kLongest = std::chrono::seconds(10);
constexpr Duration kLeastDrain = std::chrono::seconds(5);
constexpr Duration kStuckAfter = std::chrono::minutes(1);
constexpr char kExcludeLabel[] = "node.kubernetes.io/exclude-from-external-load-balancers";

model::Taint DisruptedTaint() {
  model::Taint taint;
  taint.key = names::kDisruptedTaint;
  taint.effect = model::kNoSchedule;
  return taint;
}

bool IsCritical(const model::Pod& pod) {
  return pod.spec.priority_class_name == "system-cluster-critical" ||
         pod.spec.priority_class_name == "system-node-critical";
}

bool IsOurs(const model::Node& node) {
  return std::ranges::find(node.metadata.finalizers, names::kFinalizer) !=
         node.metadata.finalizers.end();
}

Status Wait(std::string what) { return {Code::kAborted, std::move(what)}; }

}  // namespace

bool IsDrainable(const model::Pod& pod, TimePoint now) {
  if (IsOwnedBy(pod, "v1", "Node") || model::IsMirrorPod(pod)) return false;
  if (model::Tolerates(pod.spec.tolerations, DisruptedTaint())) return false;
  return !pod.metadata.deletion_timestamp ||
         now < Later(pod.metadata.deletion_timestamp->at, kStuckAfter);
}

bool WaitsForEviction(const model::Pod& pod, TimePoint now) {
  return !IsTerminal(pod) && IsDrainable(pod, now);
}

std::vector<PodPtr> FirstTier(const std::vector<PodPtr>& pods) {
  std::array<std::vector<PodPtr>, 4> tiers;
  for (const PodPtr& pod : pods) {
    const size_t tier =
        (IsCritical(*pod) ? 2 : 0) + (IsOwnedBy(*pod, "apps/v1", "DaemonSet") ? 1 : 0);
    tiers[tier].push_back(pod);
  }
  for (auto& tier : tiers) {
    if (!tier.empty()) return std::move(tier);
  }
  return {};
}

void NodeEnd::Look(const std::vector<ClaimPtr>& claims, TimePoint now) {
  if (context().pretends()) return;
  const bool any = [&] {
    bool found = false;
    context().world().ForEachNode([&](const NodePtr& node) {
      found = found || (node->metadata.deletion_timestamp && IsOurs(*node));
    });
    return found;
  }();
  std::map<std::string_view, ClaimPtr> by_id;
  for (const ClaimPtr& claim : claims) {
    if (any && !claim->status.provider_id.empty()) by_id[claim->status.provider_id] = claim;
  }
  std::set<std::string_view> there;
  std::vector<std::pair<NodePtr, ClaimPtr>> due;
  context().world().ForEachNode([&](const NodePtr& node) {
    if (!node->metadata.deletion_timestamp || !IsOurs(*node)) return;
    // An old one may not name its class; then its claim speaks for it.
    if (!context().Manages(*node) && !by_id.contains(node->spec.provider_id)) return;
    there.insert(node->metadata.uid);
    Memory& memory = memory_[node->metadata.uid];
    if (memory.busy) return;
    if (now < memory.retry_at) return context().WakeAt(memory.retry_at);
    const auto claim = by_id.find(node->spec.provider_id);
    due.emplace_back(node, claim == by_id.end() ? nullptr : claim->second);
  });
  for (auto& [node, claim] : due) {
    memory_[node->metadata.uid].busy = true;
    context().Spawn(Step(std::move(node), std::move(claim)));
  }
  std::erase_if(memory_, [&](const auto& entry) {
    return !entry.second.busy && !there.contains(entry.first);
  });
  evictions_.ForgetOld();
}

Task<void> NodeEnd::Step(NodePtr node, ClaimPtr claim) {
  const Status status = co_await Walk(node, claim);
  Memory& memory = memory_[node->metadata.uid];
  memory.busy = false;
  const TimePoint now = context().Now();
  if (status.ok() || status.code() == Code::kAborted) {
    memory.failures = 0;
    memory.retry_at = std::max(memory.retry_at, Later(now, kPoll));
  } else {
    Duration wait = std::chrono::milliseconds(100);
    for (int i = 0; i < memory.failures && wait < kLongest; ++i) wait *= 2;
    ++memory.failures;
    memory.retry_at = Later(now, std::min(wait, kLongest));
    context().parts.log.Warning("a node cannot be ended for now",
                                {{"node", node->metadata.name}, {"error", status}});
  }
  context().WakeAt(memory.retry_at);
}

Task<Status> NodeEnd::Walk(NodePtr node, ClaimPtr claim) {
  if (claim != nullptr && !claim->metadata.deletion_timestamp) {
    const Status status = co_await parts_.store.Delete(claim);
    if (!status.ok()) co_return status;
  }
  if (!IsReadyNode(*node) && !node->spec.provider_id.empty() && parts_.cloud.HasRoom()) {
    const auto machine = co_await parts_.cloud.Get(node->spec.provider_id);
    if (!machine.ok() && machine.status().code() == Code::kNotFound)
      co_return co_await LetGo(node);  // nothing is left that could be drained
    if (!machine.ok()) co_return machine.status();
  }
  const Status marked = co_await Mark(node);
  if (!marked.ok()) co_return marked;
  if (claim != nullptr) claim = parts_.store.Find(*claim);
  const Status drained = co_await Drain(node, claim);
  if (!drained.ok()) co_return drained;
  if (claim != nullptr) claim = parts_.store.Find(*claim);
  const Status detached = co_await Detach(node, claim);
  if (!detached.ok()) co_return detached;
  const Status empty = co_await AskWhetherEmpty(node, claim);
  if (!empty.ok()) co_return empty;
  if (claim != nullptr) claim = parts_.store.Find(*claim);
  const Status ended = co_await EndMachine(node, claim);
  if (!ended.ok()) co_return ended;
  co_return co_await LetGo(node);
}

Task<Status> NodeEnd::Mark(NodePtr node) {
  Memory& memory = memory_[node->metadata.uid];
  // Held also by another engine: whoever deleted the Node has decided.
  const Status held =
      context().world().held_nodes().Hold(node->metadata.name, node->metadata.uid, Engine::kName);
  (void)held;
  const bool tainted = std::ranges::any_of(node->spec.taints, [](const model::Taint& taint) {
    return model::SameTaint(taint, DisruptedTaint());
  });
  if (memory.marked || (tainted && node->metadata.labels.contains(kExcludeLabel)))
    co_return Status::Ok();
  if (!tainted) {
    cluster::NodeChange change;
    change.add_taints.push_back(DisruptedTaint());
    const Status status =
        co_await context().parts.writer.ChangeNode(node->metadata.name, std::move(change));
    if (!status.ok()) co_return status;
  }
  nlohmann::json patch;
  patch["metadata"]["labels"][kExcludeLabel] = "karpenter";
  const auto written = co_await context().parts.writer.UpdateObject(NameOf(*node), patch.dump());
  if (!written.ok()) co_return written.status();
  memory_[node->metadata.uid].marked = true;
  co_return Status::Ok();
}

std::optional<TimePoint> NodeEnd::DeadlineOf(const ClaimPtr& claim) {
  if (claim == nullptr) return std::nullopt;
  const std::string* text =
      claim->metadata.annotations.Find(names::kTerminationTimestampAnnotation);
  return text == nullptr ? std::nullopt : wire::ParseRfc3339(*text);
}

Task<Status> NodeEnd::SetCondition(ClaimPtr claim, std::string type, std::string status,
                                   std::string reason) {
  const auto* there = model::FindCondition(claim->status.conditions, type);
  if (there != nullptr && there->status == status && there->reason == reason)
    co_return Status::Ok();
  model::NodeClaim after = *claim;
  SetClaimCondition(after, type, status, reason, "", context().Now());
  const Status written = co_await parts_.store.Write(claim, std::move(after));
  // Somebody else was faster: the next look says it. A claim that is gone needs no condition.
  const bool harmless = written.code() == Code::kAborted || written.code() == Code::kNotFound;
  co_return harmless ? Status::Ok() : written;
}

// Also once it was drained: what comes after that goes as well before the machine does.
Task<Status> NodeEnd::Drain(NodePtr node, ClaimPtr claim) {
  const TimePoint now = context().Now();
  const auto deadline = DeadlineOf(claim);
  if (deadline) {
    context().Tell(Context::Of(*node), "Warning", "TerminationGracePeriodExpiring",
                   "All pods will be deleted by " + wire::FormatRfc3339(*deadline));
  }
  std::vector<PodPtr> waiting;
  for (const auto* entry : context().world().BoundTo(node->metadata.name)) {
    if (WaitsForEviction(*entry->pod, now)) waiting.push_back(entry->pod);
  }
  std::vector<PodPtr> tier;
  TimePoint again = Later(now, kPoll);
  for (const PodPtr& pod : waiting) {
    if (deadline && drain::EvictionQueue::IsForced(*pod, *deadline, now)) {
      drain::EvictionQueue::Wanted wanted{pod, deadline, false};
      again = std::min(again, evictions_.Want(wanted));
    } else {
      tier.push_back(pod);
    }
  }
  for (const PodPtr& pod : FirstTier(tier)) {
    drain::EvictionQueue::Wanted wanted{pod, deadline, IsEvictable(*pod, now)};
    again = std::min(again, evictions_.Want(wanted));
  }
  if (claim != nullptr &&
      model::FindCondition(claim->status.conditions, names::kDrained) == nullptr) {
    const Status status = co_await SetCondition(claim, names::kDrained, "Unknown", "Draining");
    if (!status.ok()) co_return status;
  }
  if (!waiting.empty()) {
    context().Tell(Context::Of(*node), "Warning", "FailedDraining",
                   "Failed to drain node, " + std::to_string(waiting.size()) +
                       " pods are waiting to be evicted");
    context().WakeAt(again);
    co_return Wait("pods are still there");
  }
  if (claim != nullptr) claim = parts_.store.Find(*claim);
  if (claim == nullptr || model::IsTrue(claim->status.conditions, names::kDrained))
    co_return Status::Ok();
  const auto* draining = model::FindCondition(claim->status.conditions, names::kDrained);
  const TimePoint since = draining == nullptr || !draining->last_transition_time
                              ? now
                              : draining->last_transition_time->at;
  if (context().Now() < Later(since, kLeastDrain)) co_return Wait("pods may still come");
  const Status status = co_await SetCondition(claim, names::kDrained, "True", names::kDrained);
  if (!status.ok()) co_return status;
  context().Count("karpenter_nodes_drained_total", "The total number of nodes drained by Karpenter",
                  {{"nodepool", LabelOr(node->metadata.labels, model::kNodePoolLabel)}});
  co_return Status::Ok();
}

// The World may be behind, and behind a volume it was waited for: whether a pod is there of which it
// knows nothing the API server is asked, last of all before the machine is told to end.
Task<Status> NodeEnd::AskWhetherEmpty(NodePtr node, ClaimPtr claim) {
  if (claim != nullptr && model::IsTrue(claim->status.conditions, names::kInstanceTerminating))
    co_return Status::Ok();
  const auto live = co_await context().parts.writer.PodsOn(node->metadata.name);
  if (!live.ok()) {
    co_return live.status().code() == Code::kUnimplemented ? Status::Ok() : live.status();
  }
  const bool any = std::ranges::any_of(
      *live, [&](const cluster::LivePod& pod) { return WaitsForEviction(*pod, context().Now()); });
  co_return any ? Wait("a pod has come that is not seen yet") : Status::Ok();
}

std::vector<std::string> NodeEnd::AttachedVolumes(const model::Node& node) const {
  const cluster::Facts& facts = context().world().facts();
  std::set<std::string> staying;  // of pods that are not drained
  for (const auto* entry : context().world().BoundTo(node.metadata.name)) {
    const model::Pod& pod = *entry->pod;
    if (IsDrainable(pod, context().Now())) continue;
    for (const model::Volume& volume : pod.spec.volumes) {
      if (!volume.claim_name && !volume.ephemeral) continue;
      const std::string name =
          volume.ephemeral ? pod.metadata.name + "-" + volume.name : *volume.claim_name;
      const auto* claim = facts.claims.Find(pod.metadata.namespace_, name);
      if (claim != nullptr) staying.insert(claim->spec.volume_name);
    }
  }
  std::vector<std::string> volumes;
  for (const auto* attachment : facts.AttachmentsOf(node.metadata.name)) {
    const auto& name = attachment->spec.source.persistent_volume_name;
    if (name && !staying.contains(*name)) volumes.push_back(*name);
  }
  return volumes;
}

Task<Status> NodeEnd::Detach(NodePtr node, ClaimPtr claim) {
  const auto volumes = AttachedVolumes(*node);
  if (volumes.empty()) {
    if (claim == nullptr) co_return Status::Ok();
    co_return co_await SetCondition(claim, names::kVolumesDetached, "True",
                                    names::kVolumesDetached);
  }
  const auto deadline = DeadlineOf(claim);
  if (deadline && context().Now() >= *deadline) {
    co_return co_await SetCondition(claim, names::kVolumesDetached, "False",
                                    "TerminationGracePeriodElapsed");
  }
  context().Tell(Context::Of(*node), "Normal", "AwaitingVolumeDetachment",
                 "Awaiting deletion of VolumeAttachments of " + Join(volumes, ", "));
  if (claim != nullptr) {
    const Status status = co_await SetCondition(claim, names::kVolumesDetached, "Unknown",
                                                "AwaitingVolumeDetachment");
    if (!status.ok()) co_return status;
  }
  co_return Wait("volumes are still attached");
}

Task<Status> NodeEnd::EndMachine(NodePtr node, ClaimPtr claim) {
  model::NodeClaim machine;
  if (claim != nullptr) machine = *claim;
  if (claim == nullptr) {
    machine.metadata.name = node->metadata.name;
    machine.metadata.labels = node->metadata.labels;
    machine.status.provider_id = node->spec.provider_id;
  }
  if (machine.status.provider_id.empty()) co_return Status::Ok();
  if (!parts_.cloud.HasRoom()) co_return Wait("too many calls are under way");
  const Status status = co_await parts_.cloud.Delete(std::move(machine));
  if (status.code() == Code::kNotFound) co_return Status::Ok();
  if (!status.ok()) co_return status;
  if (claim != nullptr) {
    const ClaimPtr now = parts_.store.Find(*claim);
    if (now != nullptr) {
      const Status written = co_await SetCondition(now, names::kInstanceTerminating, "True",
                                                   names::kInstanceTerminating);
      if (!written.ok()) co_return written;
    }
  }
  memory_[node->metadata.uid].retry_at = Later(context().Now(), kInstancePoll);
  co_return Wait("the machine is ending");
}

Task<Status> NodeEnd::LetGo(NodePtr node) {
  cluster::FinalizerChange change;
  change.remove.push_back(names::kFinalizer);
  const Status status =
      co_await context().parts.writer.ChangeFinalizers(NameOf(*node), std::move(change));
  if (!status.ok() && status.code() != Code::kNotFound) co_return status;
  context().world().held_nodes().NodeGone(node->metadata.name, node->metadata.uid);
  const std::string pool = LabelOr(node->metadata.labels, model::kNodePoolLabel);
  MetricLabels labels;
  labels["nodepool"] = pool;
  labels["zone"] = LabelOr(node->metadata.labels, model::kZoneLabel);
  context().Count("karpenter_nodes_terminated_total",
                  "Number of nodes terminated in total by Karpenter.", labels);
  const TimePoint now = context().Now();
  context()
      .parts.metrics
      .GetSummary(
          "karpenter_nodes_termination_duration_seconds",
          "The time taken between a node's deletion request and the removal of its finalizer",
          {{"nodepool", pool}})
      .Observe(Seconds(now - node->metadata.deletion_timestamp->at));
  if (node->metadata.creation_timestamp) {
    context()
        .parts.metrics
        .GetHistogram("karpenter_nodes_lifetime_duration_seconds",
                      "The lifetime duration of the nodes since creation.",
                      {900, 1800, 3600, 7200, 14400, 28800, 43200, 86400, 172800, 259200, 604800,
                       1209600, 2592000},
                      {{"nodepool", pool}})
        .Observe(Seconds(now - node->metadata.creation_timestamp->at));
  }
  context().parts.log.Info("node ended", {{"node", node->metadata.name}});
  co_return Status::Ok();
}

}  // namespace coppice::provision
