#include "provision/lifecycle/garbage.h"

#include <set>
#include <utility>

namespace coppice::provision {

namespace {
constexpr Duration kRefreshRetry = std::chrono::seconds(5);
}  // namespace

void Garbage::Look(TimePoint now) {
  const EngineOptions& options = parts_.context.options();
  if (!refreshing_ && (wanted_ || now >= next_refresh_)) {
    refreshing_ = true;
    wanted_ = false;
    parts_.context.Spawn(Refresh());
  }
  // The first sweep one interval after the start: by then the World is complete.
  if (next_sweep_ == TimePoint::min()) next_sweep_ = Later(now, options.garbage_every);
  if (!sweeping_ && now >= next_sweep_) {
    sweeping_ = true;
    next_sweep_ = Later(now, options.garbage_every);
    parts_.context.Spawn(Sweep());
  }
  parts_.context.WakeAt(next_sweep_);
  if (!refreshing_) parts_.context.WakeAt(next_refresh_);
}

Task<void> Garbage::Refresh() {
  std::vector<cloud::ClaimRef> claims;
  for (const ClaimPtr& claim : parts_.store.List())
    claims.push_back({claim->metadata.uid, claim->status.provider_id});
  // One whose class cannot be read counts as nobody's, but its machine is not.
  parts_.context.world().objects<model::NodeClaim>().ForEach([&](const ClaimPtr& claim) {
    if (claim->metadata.unreadable && !parts_.context.Manages(claim->spec.node_class_ref))
      claims.push_back({claim->metadata.uid, claim->status.provider_id});
  });
  parts_.context.parts.claims.SetClaims(std::move(claims));
  refresh_status_ = co_await parts_.cloud.Refresh();
  refreshing_ = false;
  const TimePoint now = parts_.context.Now();
  if (refresh_status_.ok()) {
    refreshed_ = true;
    next_refresh_ = Later(now, parts_.context.options().refresh_every);
  } else {
    next_refresh_ = Later(now, kRefreshRetry);
    parts_.context.parts.log.Warning("what can be bought could not be read from the cloud",
                                     {{"error", refresh_status_}});
  }
  parts_.context.Wake();
}

Task<void> Garbage::Sweep() {
  // Claims first: a machine that is launched while the list is under way has no claim in it.
  std::vector<ClaimPtr> claims = parts_.store.List();
  const auto machines = co_await parts_.cloud.List();
  sweeping_ = false;
  if (!parts_.context.Stale().empty()) co_return;  // nodes and claims are not what they seem
  if (!machines.ok()) {
    parts_.context.parts.log.Warning("the machines of the cloud could not be listed",
                                     {{"error", machines.status()}});
    co_return;
  }
  std::set<std::string> there;
  for (const model::NodeClaim& machine : *machines) {
    if (!machine.metadata.deletion_timestamp) there.insert(machine.status.provider_id);
  }
  for (const ClaimPtr& claim : claims) {
    if (claim->metadata.unreadable ||  // its machine's id may be what is missing
        !model::IsTrue(claim->status.conditions, model::karpenter::kRegistered) ||
        claim->metadata.deletion_timestamp || there.contains(claim->status.provider_id))
      continue;
    const auto nodes = parts_.context.NodesOf(claim->status.provider_id);
    if (!nodes.empty() && IsReadyNode(*nodes.front())) continue;
    const ClaimPtr now = parts_.store.Find(*claim);
    if (now == nullptr || now->metadata.deletion_timestamp || now->metadata.unreadable) continue;
    ClaimLife::Disruption why{.reason = "garbage_collected", .pods = parts_.life.PodsToMove(*now)};
    const Status status = co_await parts_.life.DisruptFor(now, std::move(why));
    if (status.ok()) {
      parts_.context.parts.log.Info(
          "a node claim whose machine is gone was deleted",
          {{"nodeclaim", claim->metadata.name}, {"provider_id", claim->status.provider_id}});
    }
  }
}

}  // namespace coppice::provision
