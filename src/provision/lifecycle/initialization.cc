// Initialization: the node is ready, nothing that goes away by itself is left on it, and it has what
// its pods were promised. Once so, always so: a node that is not ready later stays initialised.

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "model/taints.h"
#include "provision/conditions.h"
#include "provision/lifecycle/claim_life.h"
#include "provision/tolerance.h"

namespace coppice::provision {

namespace {

namespace names = model::karpenter;

}  // namespace

std::optional<NotYet> WhyNotInitialized(const model::NodeClaim& claim, const model::Node& node,
                                        const EphemeralTaints* ephemeral) {
  if (!IsReadyNode(node)) return NotYet{"NodeNotReady", "Node status is NotReady"};
  for (const model::Taint& taint : node.spec.taints) {
    if (std::ranges::any_of(claim.spec.startup_taints, [&](const model::Taint& startup) {
          return model::SameTaint(startup, taint);
        })) {
      return NotYet{"StartupTaintsExist",
                    fmt::format("StartupTaint \"{}\" still exists", model::ToString(taint))};
    }
  }
  for (const model::Taint& taint : node.spec.taints) {
    if (IsEphemeral(taint, ephemeral)) {
      return NotYet{"KnownEphemeralTaintsExist",
                    fmt::format("KnownEphemeralTaint \"{}\" still exists", model::ToString(taint))};
    }
  }
  for (const auto& [resource, amount] : claim.spec.requests) {
    if (amount.IsZero()) continue;
    const model::Quantity* there = node.status.allocatable.Find(resource);
    if (there == nullptr || there->IsZero()) {
      return NotYet{"ResourceNotRegistered",
                    fmt::format("Resource \"{}\" was requested but not registered", resource)};
    }
  }
  return std::nullopt;
}

Task<Status> ClaimLife::Initialize(ClaimPtr claim, NodePtr node) {
  model::NodeClaim after = *claim;
  const auto not_yet = WhyNotInitialized(*claim, *node, context().ephemeral_taints().get());
  if (not_yet) {
    SetClaimCondition(after, names::kInitialized, "Unknown", not_yet->reason, not_yet->message,
                      context().Now());
    SettleClaimConditions(after, context().Now());
    const Status written = co_await parts_.store.Write(claim, std::move(after));
    // What is missing comes with the Node, and that wakes us; else look again soon.
    co_return written.ok() ? Status(Code::kAborted, "not yet") : written;
  }
  if (LabelOr(node->metadata.labels, model::kInitializedLabel) != "true") {
    nlohmann::json patch;
    patch["metadata"]["labels"][std::string(model::kInitializedLabel)] = "true";
    const auto written = co_await context().parts.writer.UpdateObject(NameOf(*node), patch.dump());
    if (!written.ok()) co_return written.status();
  }
  SetClaimCondition(after, names::kInitialized, "True", names::kInitialized, "", context().Now());
  SettleClaimConditions(after, context().Now());
  const Status written = co_await parts_.store.Write(claim, std::move(after));
  if (written.ok()) {
    context().parts.log.Info("node initialized",
                             {{"nodeclaim", claim->metadata.name}, {"node", node->metadata.name}});
  }
  co_return written;
}

}  // namespace coppice::provision
