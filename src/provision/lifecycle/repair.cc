#include "provision/lifecycle/repair.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "wire/time_text.h"

namespace coppice::provision {

namespace {

namespace names = model::karpenter;

constexpr Duration kBlockedAgain = std::chrono::minutes(15);
constexpr Duration kBlockedPoll = std::chrono::minutes(5);

struct Sick {
  TimePoint due;
  std::string condition;
};

// The policy whose time is up first; none if no condition is bad.
std::optional<Sick> SicknessOf(const model::Node& node,
                               const std::vector<cloud::RepairPolicy>& policies) {
  std::optional<Sick> first;
  for (const cloud::RepairPolicy& policy : policies) {
    for (const model::NodeCondition& condition : node.status.conditions) {
      if (condition.type != policy.condition_type || condition.status != policy.condition_status ||
          !condition.last_transition_time)
        continue;
      const TimePoint due = Later(condition.last_transition_time->at, policy.toleration);
      if (!first || due < first->due) first = Sick{due, condition.type};
    }
  }
  return first;
}

struct Counts {
  int64_t all = 0;
  int64_t sick = 0;
};

Counts CountAll(const cluster::World& world, const std::vector<cloud::RepairPolicy>& policies) {
  Counts counts;
  world.ForEachNode([&](const NodePtr& node) {
    ++counts.all;
    if (!node->metadata.unreadable && SicknessOf(*node, policies)) ++counts.sick;
  });
  return counts;
}

}  // namespace

void Repair::Look(const std::vector<ClaimPtr>& claims, const Context::NodeIndexById& nodes,
                  TimePoint now) {
  Context& context = parts_.context;
  if (!context.options().gates.node_repair || !context.options().legacy_node_repair) return;
  const auto policies = context.parts.claims.RepairPolicies();
  if (policies.empty()) return;
  std::map<std::string, Counts> pools;
  struct Found {
    ClaimPtr claim;
    NodePtr node;
    Sick sick;
  };
  std::vector<Found> due;
  for (const ClaimPtr& claim : claims) {
    const auto node = nodes.find(claim->status.provider_id);
    if (claim->status.provider_id.empty() || node == nodes.end()) continue;
    Counts& counts = pools[LabelOr(claim->metadata.labels, model::kNodePoolLabel)];
    ++counts.all;
    if (claim->metadata.unreadable || node->second.front()->metadata.unreadable) continue;
    const auto sick = SicknessOf(*node->second.front(), policies);
    if (!sick) continue;
    ++counts.sick;
    if (claim->metadata.deletion_timestamp || busy_.contains(claim->metadata.uid)) continue;
    if (now < sick->due) {
      context.WakeAt(sick->due);
    } else {
      due.push_back({claim, node->second.front(), *sick});
    }
  }
  // Who belongs to no pool is judged by all nodes of the cluster.
  const bool of_none = std::ranges::any_of(due, [](const Found& found) {
    return LabelOr(found.claim->metadata.labels, model::kNodePoolLabel).empty();
  });
  if (of_none) pools[""] = CountAll(context.world(), policies);
  for (Found& found : due) {
    const std::string pool = LabelOr(found.claim->metadata.labels, model::kNodePoolLabel);
    const Counts& counts = pools[pool];
    if (counts.sick > (counts.all + 4) / 5) {  // a fifth, rounded up
      const std::string whose = pool.empty() ? "of the cluster" : "of nodepool \"" + pool + "\"";
      context.Tell(Context::Of(*found.node), "Warning", "NodeRepairBlocked",
                   fmt::format("more than 20% of the nodes {} are unhealthy", whose),
                   kBlockedAgain);
      context.WakeAt(Later(now, kBlockedPoll));
      continue;
    }
    busy_.insert(found.claim->metadata.uid);
    context.Spawn(Replace(found.claim, found.node, found.sick.condition));
  }
}

Task<void> Repair::Replace(ClaimPtr claim, NodePtr node, std::string condition) {
  Context& context = parts_.context;
  const TimePoint now = context.Now();
  const std::string* there =
      claim->metadata.annotations.Find(names::kTerminationTimestampAnnotation);
  const auto at = there == nullptr ? std::nullopt : wire::ParseRfc3339(*there);
  Status status;
  if (!at || *at > now) {
    model::NodeClaim after = *claim;
    after.metadata.annotations[names::kTerminationTimestampAnnotation] = wire::FormatRfc3339(now);
    status = co_await parts_.store.Write(claim, std::move(after));
  }
  if (status.ok()) {
    ClaimLife::Disruption why{.reason = "unhealthy", .pods = parts_.life.PodsToMove(*claim)};
    status = co_await parts_.life.DisruptFor(claim, std::move(why));
  }
  if (status.ok()) {
    MetricLabels labels;
    labels["condition"] = condition;
    labels["nodepool"] = LabelOr(claim->metadata.labels, model::kNodePoolLabel);
    labels["capacity_type"] = LabelOr(claim->metadata.labels, model::kCapacityTypeLabel);
    labels["image_id"] = claim->status.image_id;
    context.Count("karpenter_nodeclaims_unhealthy_disrupted_total",
                  "Number of unhealthy nodeclaims disrupted in total by Karpenter.", labels);
    context.parts.log.Warning("an unhealthy node is replaced",
                              {{"node", node->metadata.name}, {"condition", condition}});
  } else {
    co_await context.parts.executor.Sleep(std::chrono::seconds(10));
  }
  busy_.erase(claim->metadata.uid);
}

}  // namespace coppice::provision
