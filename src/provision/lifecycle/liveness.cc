// Liveness and expiration: claims that never became nodes, and nodes that have had their time.

#include "provision/lifecycle/claim_life.h"

namespace coppice::provision {

Task<Status> ClaimLife::GiveUp(ClaimPtr claim, std::string reason, std::string cause,
                               std::string message) {
  const Status status = co_await Disrupt(claim, reason);
  if (!status.ok()) co_return status;
  parts_.pools.LaunchEnded(*claim, false, cause, message);
  context().parts.log.Warning(
      "a node claim has come to nothing and is given up",
      {{"nodeclaim", claim->metadata.name}, {"reason", reason}, {"cause", cause}});
  co_return status;
}

Task<Status> ClaimLife::Expire(ClaimPtr claim) {
  Disruption why{.reason = "expired", .pods = PodsToMove(*claim)};
  const Status status = co_await DisruptFor(claim, std::move(why));
  if (status.ok())
    context().parts.log.Info("node claim expired", {{"nodeclaim", claim->metadata.name}});
  co_return status;
}

}  // namespace coppice::provision
