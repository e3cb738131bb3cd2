#include "provision/lifecycle/claim_life.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "provision/conditions.h"
#include "provision/pod_selection.h"

namespace coppice::provision {

namespace {

namespace names = model::karpenter;

constexpr Duration kFirstRetry = std::chrono::seconds(1);
constexpr Duration kLongestRetry = std::chrono::minutes(1);
constexpr Duration kTellOfClaim = std::chrono::minutes(10);

bool HasFinalizer(const model::NodeClaim& claim) {
  return std::ranges::find(claim.metadata.finalizers, names::kFinalizer) !=
         claim.metadata.finalizers.end();
}

// Who was made before there was that label gets it.
std::string LabelOfItsClass(const model::NodeClaim& claim) {
  return ClassLabel(*claim.spec.node_class_ref);
}

std::string StatusOf(const model::NodeClaim& claim, std::string_view type) {
  const auto* condition = model::FindCondition(claim.status.conditions, type);
  return condition == nullptr ? "" : condition->status;
}

}  // namespace

void ClaimLife::Look(const std::vector<ClaimPtr>& claims, const Context::NodeIndexById& nodes,
                     TimePoint now) {
  CompareRules();
  for (const ClaimPtr& claim : claims) {
    Memory& memory = memory_[claim->metadata.uid];
    if (memory.busy) continue;
    if (now < memory.retry_at) {
      context().WakeAt(memory.retry_at);
      continue;
    }
    const auto found = nodes.find(claim->status.provider_id);
    static const std::vector<NodePtr> kNone;
    const auto& of_claim =
        found == nodes.end() || claim->status.provider_id.empty() ? kNone : found->second;
    if (IsQuiet(claim, of_claim, memory, now)) {
      context().WakeAt(memory.quiet.until);
      continue;
    }
    if (claim->metadata.unreadable) {
      context().Tell(Context::Of(*claim), "Warning", "Unreadable",
                     "the node claim cannot be read, so that nothing is done with it or its "
                     "machine: " +
                         claim->metadata.unreadable->what,
                     kTellOfClaim);
      // Somebody has decided that it goes; which machine that is must be known.
      if (!claim->metadata.deletion_timestamp || claim->status.provider_id.empty()) continue;
    }
    if (claim->metadata.deletion_timestamp) {
      if (HasFinalizer(*claim) && !context().pretends()) Begin(claim, End(claim));
    } else {
      LookAtLiving(claim, of_claim, memory, now);
    }
  }
  if (memory_.size() <= claims.size()) return;  // nobody has gone
  std::set<std::string_view> there;
  for (const ClaimPtr& claim : claims) there.insert(claim->metadata.uid);
  std::erase_if(memory_, [&](const auto& entry) {
    return !entry.second.busy && !there.contains(entry.first);
  });
}

bool ClaimLife::IsQuiet(const ClaimPtr& claim, const std::vector<NodePtr>& nodes,
                        const Memory& memory, TimePoint now) const {
  const Memory::Quiet& quiet = memory.quiet;
  return now < quiet.until && quiet.claim == claim && quiet.rules == rules_ && nodes.size() == 1 &&
         nodes.front() == quiet.node &&
         quiet.pod_event == parts_.pod_events.LastOn(claim->status.provider_id);
}

void ClaimLife::CompareRules() {
  std::string text;
  for (const NodePoolPtr& pool : parts_.pools.pools())
    text += pool->metadata.name + "/" + std::to_string(pool->metadata.generation) + "/";
  for (const auto& [name, facts] : context().classes)
    text += name + "/" + std::to_string(facts.generation) + "/";
  if (text == rules_text_) return;
  rules_text_ = std::move(text);
  ++rules_;
}

void ClaimLife::LookAt(const ClaimPtr& claim, TimePoint now) {
  Memory& memory = memory_[claim->metadata.uid];
  if (!memory.busy && !claim->metadata.deletion_timestamp && !claim->metadata.unreadable)
    LookAtLiving(claim, {}, memory, now);
}

void ClaimLife::LookAtLiving(const ClaimPtr& claim, const std::vector<NodePtr>& nodes,
                             Memory& memory, TimePoint now) {
  const TimePoint created =
      claim->metadata.creation_timestamp ? claim->metadata.creation_timestamp->at : now;
  if (const auto lasts = model::LastingOf(claim->spec.expire_after)) {
    const TimePoint end = Later(created, *lasts);
    if (now >= end) return Begin(claim, Expire(claim));
    context().WakeAt(end);
  }
  if (context().pretends()) return;  // whoever acts looks after it
  if (!HasFinalizer(*claim) || !claim->metadata.labels.contains(LabelOfItsClass(*claim)))
    return Begin(claim, TakeIn(claim));
  if (StatusOf(*claim, names::kLaunched) != "True") {
    const TimePoint end = Later(created, context().traits().launch_timeout);
    if (now >= end) {
      const auto* launched = model::FindCondition(claim->status.conditions, names::kLaunched);
      return Begin(claim, GiveUp(claim, "launch_timeout",
                                 launched == nullptr ? "LaunchFailed" : launched->reason,
                                 launched == nullptr ? "" : launched->message));
    }
    context().WakeAt(end);
    if (parts_.cloud.HasRoom()) Begin(claim, Launch(claim));
    return;
  }
  if (StatusOf(*claim, names::kRegistered) != "True") {
    const TimePoint end = Later(created, context().traits().registration_timeout);
    if (now >= end) {
      return Begin(claim, GiveUp(claim, "registration_timeout", "RegistrationFailed",
                                 "no node with its provider id has come"));
    }
    context().WakeAt(end);
    if (StatusOf(*claim, names::kRegistered) == "False") return;  // several nodes: for good
    if (nodes.empty()) {
      if (auto wanted = context().parts.claims.NodeFor(*claim)) {
        const TimePoint at = Later(created, wanted->after);
        if (now < at) return context().WakeAt(at);
        return Begin(claim, MakeNode(claim, std::move(wanted->node)));
      }
      const auto* condition = model::FindCondition(claim->status.conditions, names::kRegistered);
      if (condition != nullptr && condition->reason == "NodeNotFound") return;
      return Begin(
          claim, WaitForNode(claim, "Unknown", "NodeNotFound", "Node not registered with cluster"));
    }
    if (nodes.size() > 1) {
      return Begin(claim, WaitForNode(claim, "False", "MultipleNodesFound",
                                      "Invariant violated, matched multiple nodes"));
    }
    return Begin(claim, Register(claim, nodes.front()));
  }
  if (nodes.size() == 1 && !nodes.front()->metadata.labels.contains(LabelOfItsClass(*claim)))
    return Begin(claim, LabelNode(claim, nodes.front()));
  if (StatusOf(*claim, names::kInitialized) != "True" && nodes.size() == 1) {
    return Begin(claim, Initialize(claim, nodes.front()));
  }
  Tend(claim, nodes.empty() ? nullptr : nodes.front(), memory, now);
}

void ClaimLife::Begin(const ClaimPtr& claim, Task<Status> step) {
  memory_[claim->metadata.uid].busy = true;
  context().Spawn(Step(claim->metadata.uid, claim->metadata.name, std::move(step)));
}

Task<void> ClaimLife::Step(std::string uid, std::string name, Task<Status> step) {
  const Status status = co_await std::move(step);
  Memory& memory = memory_[uid];
  memory.busy = false;
  if (status.ok()) {
    memory.failures = 0;
    co_return;
  }
  if (status.code() == Code::kNotFound || status.code() == Code::kAborted) {
    // It is gone, or somebody else was faster: look again as soon as the World shows what.
    memory.retry_at = std::max(memory.retry_at, Later(context().Now(), kFirstRetry));
  } else {
    Duration wait = kFirstRetry;
    for (int i = 0; i < memory.failures && wait < kLongestRetry; ++i) wait *= 2;
    memory.retry_at = Later(context().Now(), std::min(wait, kLongestRetry));
    ++memory.failures;
    context().parts.log.Warning("a step in the life of a node claim failed",
                                {{"nodeclaim", name}, {"error", status}});
  }
  context().WakeAt(memory.retry_at);
}

Task<Status> ClaimLife::TakeIn(ClaimPtr claim) {
  model::NodeClaim after = *claim;
  if (!HasFinalizer(*claim)) after.metadata.finalizers.push_back(names::kFinalizer);
  if (!after.metadata.labels.contains(LabelOfItsClass(*claim)))
    after.metadata.labels[LabelOfItsClass(*claim)] = claim->spec.node_class_ref->name;
  SettleClaimConditions(after, context().Now());
  co_return co_await parts_.store.Write(claim, std::move(after));
}

Task<Status> ClaimLife::LabelNode(ClaimPtr claim, NodePtr node) {
  nlohmann::json patch;
  patch["metadata"]["labels"][LabelOfItsClass(*claim)] = claim->spec.node_class_ref->name;
  const auto written = co_await context().parts.writer.UpdateObject(NameOf(*node), patch.dump());
  if (!written.ok()) co_return written.status();
  co_return Status(Code::kAborted, "the label is on its way");  // look again in a moment
}

Task<Status> ClaimLife::WriteClaim(ClaimPtr before, model::NodeClaim after) {
  co_return co_await parts_.store.Write(std::move(before), std::move(after));
}

Task<Status> ClaimLife::DisruptFor(ClaimPtr claim, Disruption why) {
  const Status status = co_await parts_.store.Delete(claim);
  if (!status.ok()) co_return status;
  const auto pool = parts_.pools.Find(LabelOr(claim->metadata.labels, model::kNodePoolLabel));
  MetricLabels labels;
  labels["reason"] = std::move(why.reason);
  labels["nodepool"] = LabelOr(claim->metadata.labels, model::kNodePoolLabel);
  labels["capacity_type"] = LabelOr(claim->metadata.labels, model::kCapacityTypeLabel);
  labels["consolidation_policy"] = pool == nullptr || !why.consolidates
                                       ? ""
                                       : SnakeCase(pool->spec.disruption.consolidation_policy);
  labels["termination_mode"] =
      TerminationMode(model::LastingOf(claim->spec.termination_grace_period));
  context().Count("karpenter_nodeclaims_disrupted_total",
                  "Number of nodeclaims disrupted in total by Karpenter.", labels);
  if (why.pods > 0) {
    context()
        .parts.metrics
        .GetCounter("karpenter_pods_disruption_initiated_total",
                    "Number of pods whose eviction a disruption of their node has begun.", labels)
        .Add(static_cast<double>(why.pods));
  }
  co_return status;
}

size_t ClaimLife::PodsToMove(const model::NodeClaim& claim) const {
  if (claim.status.node_name.empty()) return 0;
  const auto pods = context().world().BoundTo(claim.status.node_name);
  return static_cast<size_t>(
      std::ranges::count_if(pods, [](const auto* entry) { return IsReschedulable(*entry->pod); }));
}

}  // namespace coppice::provision
