// Static pools: as many machines as spec.replicas says, whoever needs them.

#include <algorithm>
#include <utility>

#include "provision/claim_builder.h"
#include "provision/disruption/candidate.h"
#include "provision/disruption/pod_rules.h"
#include "provision/provisioner.h"

namespace coppice::provision {

namespace {

namespace names = model::karpenter;

// What leaves first when a static pool shrinks.
struct Leaver {
  ClaimPtr claim;
  int rank = 0;  // not launched, empty, occupied, protected
  double cost = 0;
};

}  // namespace

void Provisioner::KeepStatic(const std::vector<ClaimPtr>& claims, TimePoint now) {
  if (!context().options().gates.static_capacity) return;
  for (const NodePoolPtr& pool : parts_.pools.pools()) {
    const std::string& name = pool->metadata.name;
    if (!model::IsStatic(*pool) || pool->metadata.deletion_timestamp || pool->metadata.unreadable ||
        static_busy_.contains(name))
      continue;
    std::vector<ClaimPtr> running;
    std::vector<ClaimPtr> free;  // no command is about them
    int64_t all = 0;
    int64_t leaving = 0;  // by a command that may still be taken back
    for (const ClaimPtr& claim : claims) {
      if (LabelOr(claim->metadata.labels, model::kNodePoolLabel) != name) continue;
      ++all;
      if (claim->metadata.deletion_timestamp) continue;
      if (parts_.marks.leaving.contains(claim->status.provider_id)) {
        ++leaving;
        continue;
      }
      running.push_back(claim);
      if (!parts_.marks.queued.contains(claim->status.provider_id)) free.push_back(claim);
    }
    const int64_t wanted = *pool->spec.replicas;
    const auto count = static_cast<int64_t>(running.size());
    // A machine in a command may have its replacement beside it already, also before the command
    // knows of it. Both count when it is about one more, neither is one too many: else the
    // replacement, which is empty, would go.
    const auto surplus = static_cast<int64_t>(free.size()) - wanted;
    if (count + leaving < wanted && model::IsTrue(pool->status.conditions, names::kReady)) {
      int64_t more = wanted - count;
      if (const auto* limit = pool->spec.limits.Find("nodes"))
        more = std::min(more, limit->Value() - all);
      if (more <= 0) continue;
      const TimePoint again = parts_.pools.SoldOutUntil(name);
      if (now < again && !context().options().upstream_exact) {
        context().WakeAt(again);
        continue;
      }
      static_busy_.insert(name);
      context().Spawn(GrowStatic(pool, more));
    } else if (surplus > 0) {
      static_busy_.insert(name);
      context().Spawn(ShrinkStatic(pool, std::move(free), surplus));
    }
  }
}

Task<void> Provisioner::GrowStatic(NodePoolPtr pool, int64_t count) {
  // All at once: a replacement that is bought meanwhile must not find the same room.
  std::vector<PoolLedger::Entry> entries(static_cast<size_t>(count),
                                         {pool->metadata.name, MostOf(cloud::TypeList())});
  std::vector<PoolLedger::Answer> answers = ledger_.TakeEach(std::move(entries));
  for (PoolLedger::Answer& answer : answers) {
    if (answer.grant == nullptr) break;
    PlannedClaim planned;
    planned.requirements = RequirementsOf(*pool, context().labels());
    Wish wish;
    wish.pool = pool;
    wish.reason = "provisioned";
    wish.claim = ClaimFrom(*pool, planned, context().labels());
    wish.most = answer.grant->most;
    const auto made = co_await Buy(std::move(wish), std::move(answer.grant));
    if (!made.ok()) {
      context().parts.log.Warning("a node claim of a static pool could not be created",
                                  {{"nodepool", pool->metadata.name}, {"error", made.status()}});
      answers.clear();
      co_await context().parts.executor.Sleep(std::chrono::seconds(10));
      break;
    }
  }
  static_busy_.erase(pool->metadata.name);
}

Task<void> Provisioner::ShrinkStatic(NodePoolPtr pool, std::vector<ClaimPtr> claims,
                                     int64_t count) {
  std::vector<Leaver> leavers;
  const TimePoint now = context().Now();
  for (const ClaimPtr& claim : claims) {
    if (claim->metadata.unreadable) continue;
    Leaver leaver{.claim = claim};
    if (!claim->status.provider_id.empty()) {
      leaver.rank = 1;
      for (const NodePtr& node : context().NodesOf(claim->status.provider_id)) {
        for (const auto* entry : context().world().BoundTo(node->metadata.name)) {
          const model::Pod& pod = *entry->pod;
          if (IsTerminal(pod)) continue;
          const bool is_protected = !IsDisruptable(pod, now);
          leaver.cost += EvictionCost(pod, context().options().gates.pod_deletion_cost_management);
          if (IsOwnedBy(pod, "apps/v1", "DaemonSet") && !is_protected) continue;
          leaver.rank = std::max(leaver.rank, is_protected ? 3 : 2);
        }
      }
      leaver.cost *= LifetimeLeft(*claim, now);
    }
    leavers.push_back(std::move(leaver));
  }
  std::ranges::sort(leavers, [](const Leaver& a, const Leaver& b) {
    if (a.rank != b.rank) return a.rank < b.rank;
    if (a.cost != b.cost) return a.cost < b.cost;
    return a.claim->metadata.name < b.claim->metadata.name;
  });
  leavers.resize(std::min(leavers.size(), static_cast<size_t>(count)));
  for (const Leaver& leaver : leavers) {
    if (parts_.marks.queued.contains(leaver.claim->status.provider_id)) continue;
    const Status status = co_await parts_.life.Disrupt(leaver.claim, "static_scaled_down");
    if (status.ok()) continue;
    context().parts.log.Warning("a node claim of a static pool could not be deleted",
                                {{"nodeclaim", leaver.claim->metadata.name}, {"error", status}});
    break;
  }
  static_busy_.erase(pool->metadata.name);
}

}  // namespace coppice::provision
