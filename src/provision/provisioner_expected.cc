// Claims on their way: for whom they are, and what still fits on them before anybody knows which
// machine they become. What they count against the limits: pool_ledger.

#include <algorithm>
#include <utility>

#include "provision/claim_builder.h"
#include "provision/provisioner.h"

namespace coppice::provision {

bool IsUnlaunched(const model::NodeClaim& claim) {
  return claim.status.provider_id.empty() && !claim.metadata.deletion_timestamp;
}

model::ResourceList LeastOf(const cloud::TypeList& types) {
  std::optional<model::ResourceList> least;
  for (const cloud::InstanceType* type : types) {
    for (const cloud::AllocatableGroup& group : cloud::AllocatableGroups(*type)) {
      if (!least) {
        least = group.allocatable;
        continue;
      }
      model::ResourceList both;
      for (const auto& [name, amount] : *least) {
        const model::Quantity* other = group.allocatable.Find(name);
        if (other != nullptr) both[name] = other->Compare(amount) < 0 ? *other : amount;
      }
      least = std::move(both);
    }
  }
  return least.value_or(model::ResourceList());
}

std::set<std::string> Provisioner::OnTheirWay() {
  std::set<std::string> pods;
  std::map<std::string, Expected> left;
  for (const ClaimPtr& claim : parts_.store.List()) {
    const auto it = expected_.find(claim->metadata.uid);
    if (it == expected_.end() || !IsUnlaunched(*claim)) continue;
    if (context().pretends() && NobodyWaits(it->second)) {
      parts_.store.Forget(claim);
      continue;
    }
    for (const auto& [uid, pod] : it->second.pods) pods.insert(uid);
    left.insert(expected_.extract(it));
  }
  expected_ = std::move(left);
  return pods;
}

bool Provisioner::NobodyWaits(const Expected& expected) const {
  return std::ranges::none_of(context().world().Unbound(), [&](const auto* entry) {
    return expected.pods.contains(entry->pod->metadata.uid);
  });
}

std::set<std::string> Provisioner::UnsyncedPools() {
  std::set<std::string> pools = parts_.store.UnsurePools();
  for (const ClaimPtr& claim : parts_.store.List()) {
    if (IsUnlaunched(*claim) && !expected_.contains(claim->metadata.uid))
      pools.insert(LabelOr(claim->metadata.labels, model::kNodePoolLabel));
  }
  return pools;
}

// As they would be bound there: else rules between pods would not see them. Who is gone or has found
// another place takes no room.
std::vector<PodPtr> Provisioner::StillExpected(const std::string& claim, Expected& expected) const {
  std::vector<PodPtr> pods;
  for (auto& [uid, pod] : expected.pods) {
    const auto& meta = pod.asked->metadata;
    const PodPtr now = context().world().FindPod(meta.namespace_, meta.name);
    if (now == nullptr || now->metadata.uid != uid ||
        now->spec.node_name != pod.asked->spec.node_name)
      continue;
    if (pod.placed == nullptr) {
      auto placed = std::make_shared<model::Pod>(*pod.asked);
      placed->spec.node_name = claim;
      pod.placed = std::move(placed);
    }
    pods.push_back(pod.placed);
  }
  return pods;
}

// The peer buys nothing before they are launched, and then packs.
void Provisioner::ShowExpected(DisruptionWorld& world) {
  if (context().options().upstream_exact) return;
  for (const ClaimPtr& claim : parts_.store.List()) {
    const auto it = expected_.find(claim->metadata.uid);
    if (it == expected_.end() || it->second.least.empty() || !IsUnlaunched(*claim)) continue;
    ClaimFacts facts{.name = claim->metadata.name,
                     .labels = claim->metadata.labels,
                     .taints = claim->spec.taints,
                     .startup_taints = claim->spec.startup_taints,
                     .capacity = it->second.most,
                     .allocatable = it->second.least,
                     .ephemeral = context().ephemeral_taints()};
    SettleLabels(model::NodeRequirements::From(claim->spec.requirements, context().labels()),
                 facts.labels);
    auto node = std::make_shared<model::Node>();
    node->metadata.name = facts.name;
    node->metadata.labels = facts.labels;
    node->spec.taints = facts.taints;
    world.solver.nodes.push_back({.node = std::move(node),
                                  .claim = std::make_shared<const ClaimFacts>(std::move(facts)),
                                  .pods = StillExpected(claim->metadata.name, it->second)});
    world.machines.push_back({.claim = claim});
  }
}

void Provisioner::Expect(const model::NodeClaim& claim, const ExistingPlacement& placement,
                         const SolveRequest& request, report::Provisioning& told) {
  const auto expected = expected_.find(claim.metadata.uid);
  const ClaimPtr now = parts_.store.Find(claim);
  // It has come to nothing while the solver worked: they are asked for again.
  if (expected == expected_.end() || now == nullptr || now->metadata.deletion_timestamp) return;
  for (const size_t pod : placement.pods) {
    const PodPtr& asked = request.pods[pod];
    expected->second.pods[asked->metadata.uid].asked = asked;
    context().Tell(Context::Of(*asked), "Normal", "Nominated",
                   "Pod should schedule on: nodeclaim/" + claim.metadata.name);
    told.placed.push_back({asked, claim.metadata.name});
  }
}

}  // namespace coppice::provision
