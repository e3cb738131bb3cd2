// Launch: one claim, one machine. Create may be asked again for the same claim, by this process or
// the next; what it answered is kept until it is written.

#include "provision/conditions.h"
#include "provision/lifecycle/claim_life.h"

namespace coppice::provision {

namespace {
namespace names = model::karpenter;
}  // namespace

Task<Status> ClaimLife::Launch(ClaimPtr claim) {
  const std::string uid = claim->metadata.uid;
  if (!memory_[uid].created) {
    auto created = co_await parts_.cloud.Create(*claim);
    if (!created.ok()) co_return co_await LaunchFailed(claim, created.status());
    if (created->status.provider_id.empty())
      co_return co_await LaunchFailed(claim,
                                      Status(Code::kInternal, "the provider named no machine"));
    memory_[uid].created = *std::move(created);
  }
  model::NodeClaim created = *memory_[uid].created;
  const Status status = co_await Launched(claim, std::move(created));
  if (status.ok()) memory_[uid].created.reset();
  co_return status;
}

Task<Status> ClaimLife::LaunchFailed(ClaimPtr claim, Status why) {
  const cloud::LaunchTrouble trouble = cloud::TroubleOf(why);
  const ClaimPtr now = parts_.store.Find(*claim);
  if (now == nullptr) co_return Status::Ok();
  if (trouble.give_up) {
    if (trouble.disruption == "insufficient_capacity") {
      context().Tell(Context::Of(*claim), "Warning", "InsufficientCapacityError",
                     "NodeClaim " + claim->metadata.name + " event: " + trouble.message);
      parts_.pools.LaunchSoldOut(LabelOr(claim->metadata.labels, model::kNodePoolLabel),
                                 context().Now());
    }
    context().parts.log.Warning(
        "a node claim cannot be launched and is given up",
        {{"nodeclaim", claim->metadata.name}, {"reason", trouble.disruption}, {"error", why}});
    co_return co_await Disrupt(now, trouble.disruption);
  }
  model::NodeClaim after = *now;
  SetClaimCondition(after, names::kLaunched, "Unknown", trouble.reason, trouble.message,
                    context().Now());
  SettleClaimConditions(after, context().Now());
  const Status written = co_await parts_.store.Write(now, std::move(after));
  if (!written.ok() && written.code() != Code::kAborted) co_return written;
  co_return why.code() == Code::kNotFound ? Unavailable(why.message()) : why;
}

Task<Status> ClaimLife::Launched(ClaimPtr claim, model::NodeClaim created) {
  const ClaimPtr now = parts_.store.Find(*claim);
  if (now == nullptr) {
    // Somebody took the finalizer off in the meantime: nobody else will end this machine.
    created.metadata.name = claim->metadata.name;
    created.metadata.uid = claim->metadata.uid;
    const Status ended = co_await parts_.cloud.Delete(std::move(created));
    co_return ended.code() == Code::kNotFound ? Status::Ok() : ended;
  }
  model::NodeClaim after = *now;
  const Status taken = cloud::TakeOver(created, after);
  if (!taken.ok()) co_return taken;
  SetClaimCondition(after, names::kLaunched, "True", names::kLaunched, "", context().Now());
  SettleClaimConditions(after, context().Now());
  const Status written = co_await parts_.store.Write(now, std::move(after));
  if (!written.ok()) co_return written;
  parts_.pools.LaunchedOne(LabelOr(claim->metadata.labels, model::kNodePoolLabel));
  context().parts.log.Info(
      "node claim launched",
      {{"nodeclaim", claim->metadata.name},
       {"provider_id", created.status.provider_id},
       {"instance_type", LabelOr(created.metadata.labels, model::kInstanceTypeLabel)},
       {"zone", LabelOr(created.metadata.labels, model::kZoneLabel)},
       {"capacity_type", LabelOr(created.metadata.labels, model::kCapacityTypeLabel)}});
  co_return Status::Ok();
}

}  // namespace coppice::provision
