// The end of a claim: its Nodes go first and are waited for, then its machine, then the finalizer.
// Each time only as far as it goes now; the provider is asked until it says that the machine is not
// there any more.

#include <algorithm>

#include "provision/conditions.h"
#include "provision/lifecycle/claim_life.h"
#include "wire/time_text.h"

namespace coppice::provision {

namespace {

namespace names = model::karpenter;

constexpr Duration kAskAgain = std::chrono::seconds(5);

}  // namespace

Task<Status> ClaimLife::End(ClaimPtr claim) {
  const TimePoint deleted = claim->metadata.deletion_timestamp->at;
  const auto grace = model::LastingOf(claim->spec.termination_grace_period);
  if (grace && !claim->metadata.annotations.contains(names::kTerminationTimestampAnnotation)) {
    model::NodeClaim after = *claim;
    const std::string at = wire::FormatRfc3339(Later(deleted, *grace));
    after.metadata.annotations[names::kTerminationTimestampAnnotation] = at;
    const Status written = co_await parts_.store.Write(claim, std::move(after));
    if (!written.ok()) co_return written;
    context().Tell(Context::Of(*claim), "Warning", "TerminationGracePeriodExpiring",
                   "All pods will be deleted by " + at);
    claim = parts_.store.Find(*claim);
    if (claim == nullptr) co_return Status::Ok();
  }
  if (model::IsTrue(claim->status.conditions, names::kRegistered)) {
    const auto nodes = context().NodesOf(claim->status.provider_id);
    for (const NodePtr& node : nodes) {
      if (node->metadata.deletion_timestamp) continue;
      const Status status = co_await context().parts.writer.DeleteObject(NameOf(*node));
      if (!status.ok() && status.code() != Code::kNotFound) co_return status;
    }
    if (!nodes.empty()) co_return Status(Code::kAborted, "its nodes are there still");
  }
  const Status ended = co_await EndMachine(claim);
  if (!ended.ok()) co_return ended;
  const Status removed = co_await parts_.store.RemoveFinalizer(claim);
  if (!removed.ok()) co_return removed;
  const std::string pool = LabelOr(claim->metadata.labels, model::kNodePoolLabel);
  MetricLabels labels;
  labels["nodepool"] = pool;
  labels["capacity_type"] = LabelOr(claim->metadata.labels, model::kCapacityTypeLabel);
  labels["zone"] = LabelOr(claim->metadata.labels, model::kZoneLabel);
  context().Count("karpenter_nodeclaims_terminated_total",
                  "Number of nodeclaims terminated in total by Karpenter.", labels);
  context().Observe("karpenter_nodeclaims_termination_duration_seconds",
                    "Duration of NodeClaim termination in seconds.",
                    Seconds(context().Now() - deleted), {{"nodepool", pool}});
  context().parts.log.Info("node claim ended", {{"nodeclaim", claim->metadata.name},
                                                {"provider_id", claim->status.provider_id}});
  co_return Status::Ok();
}

Task<Status> ClaimLife::EndMachine(ClaimPtr claim) {
  model::NodeClaim machine = *claim;
  if (machine.status.provider_id.empty()) {
    // A Create whose answer was lost, maybe that of a process before us, has a machine all the same.
    if (!parts_.cloud.HasRoom()) co_return Status(Code::kAborted, "too many calls are under way");
    auto all = co_await parts_.cloud.List();
    if (!all.ok()) co_return all.status();
    const auto mine = std::ranges::find_if(*all, [&](const model::NodeClaim& one) {
      return one.metadata.name == claim->metadata.name && !one.status.provider_id.empty();
    });
    if (mine == all->end()) co_return Status::Ok();
    machine.status.provider_id = mine->status.provider_id;
  }
  if (!parts_.cloud.HasRoom()) co_return Status(Code::kAborted, "too many calls are under way");
  const Status status = co_await parts_.cloud.Delete(std::move(machine));
  if (status.code() == Code::kNotFound) {
    CountMachineEnd(*claim);
    co_return Status::Ok();
  }
  if (!status.ok()) co_return status;
  if (const ClaimPtr now = parts_.store.Find(*claim);
      now != nullptr && !model::IsTrue(now->status.conditions, names::kInstanceTerminating)) {
    model::NodeClaim after = *now;
    SetClaimCondition(after, names::kInstanceTerminating, "True", names::kInstanceTerminating, "",
                      context().Now());
    const Status written = co_await parts_.store.Write(now, std::move(after));
    if (!written.ok() && written.code() != Code::kAborted) co_return written;
  }
  memory_[claim->metadata.uid].retry_at = Later(context().Now(), kAskAgain);
  co_return Status(Code::kAborted, "the machine is ending");
}

// From the moment when the provider was first asked to end it.
void ClaimLife::CountMachineEnd(const model::NodeClaim& claim) {
  const auto* ending = model::FindCondition(claim.status.conditions, names::kInstanceTerminating);
  if (ending == nullptr || !ending->last_transition_time) return;
  static const std::vector<double> kBuckets = {1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024};
  context()
      .parts.metrics
      .GetHistogram("karpenter_nodeclaims_instance_termination_duration_seconds",
                    "Duration of CloudProvider Instance termination in seconds.", kBuckets,
                    {{"nodepool", LabelOr(claim.metadata.labels, model::kNodePoolLabel)}})
      .Observe(Seconds(context().Now() - ending->last_transition_time->at));
}

}  // namespace coppice::provision
