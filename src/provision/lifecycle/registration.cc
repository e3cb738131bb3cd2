// Registration: the Node that came with the claim's provider id gets what the claim promised:
// labels, annotations, taints, owner, finalizer; then it is no longer kept from pods.

#include <algorithm>
#include <nlohmann/json.hpp>

#include "model/taints.h"
#include "provision/conditions.h"
#include "provision/lifecycle/claim_life.h"
#include "wire/wire.h"

namespace coppice::provision {

namespace {

using Json = nlohmann::json;
namespace names = model::karpenter;

model::Taint UnregisteredTaint() {
  model::Taint taint;
  taint.key = names::kUnregisteredTaint;
  taint.effect = model::kNoExecute;
  return taint;
}

bool HasTaint(const model::Node& node, const model::Taint& taint) {
  return std::ranges::any_of(node.spec.taints,
                             [&](const model::Taint& one) { return model::SameTaint(one, taint); });
}

bool IsLabelled(const model::Node& node, std::string_view label) {
  return LabelOr(node.metadata.labels, label) == "true";
}

// Labels and annotations (the claim's win), finalizer and owner.
Json SyncPatch(const model::NodeClaim& claim, const model::Node& node) {
  Json metadata = Json::object();
  for (const auto& [key, value] : claim.metadata.labels) {
    if (LabelOr(node.metadata.labels, key, "\x01") != value) metadata["labels"][key] = value;
  }
  for (const auto& [key, value] : claim.metadata.annotations) {
    if (LabelOr(node.metadata.annotations, key, "\x01") != value)
      metadata["annotations"][key] = value;
  }
  if (!IsLabelled(node, model::kRegisteredLabel))
    metadata["labels"][std::string(model::kRegisteredLabel)] = "true";
  bool lists = false;
  std::vector<std::string> finalizers = node.metadata.finalizers;
  if (std::ranges::find(finalizers, names::kFinalizer) == finalizers.end()) {
    finalizers.push_back(names::kFinalizer);
    metadata["finalizers"] = finalizers;
    lists = true;
  }
  const bool owned = std::ranges::any_of(
      node.metadata.owner_references,
      [&](const model::OwnerReference& owner) { return owner.uid == claim.metadata.uid; });
  if (!owned) {
    model::Node with_owner = node;
    with_owner.metadata.owner_references.push_back({.api_version = "karpenter.sh/v1",
                                                    .kind = "NodeClaim",
                                                    .name = claim.metadata.name,
                                                    .uid = claim.metadata.uid,
                                                    .block_owner_deletion = true});
    metadata["ownerReferences"] =
        Json::parse(wire::ToJson(with_owner)).at("metadata").at("ownerReferences");
    lists = true;
  }
  if (lists) metadata["resourceVersion"] = node.metadata.resource_version;
  return metadata;
}

}  // namespace

Task<Status> ClaimLife::WaitForNode(ClaimPtr claim, std::string status, std::string reason,
                                    std::string message) {
  model::NodeClaim after = *claim;
  SetClaimCondition(after, names::kRegistered, status, reason, message, context().Now());
  SettleClaimConditions(after, context().Now());
  co_return co_await parts_.store.Write(claim, std::move(after));
}

Task<Status> ClaimLife::MakeNode(ClaimPtr claim, model::Node node) {
  if (node.metadata.name.empty()) {
    node.metadata.name =
        LabelOr(claim->metadata.labels, model::kHostnameLabel, claim->metadata.name);
  }
  node.spec.provider_id = claim->status.provider_id;
  for (const auto* taints : {&claim->spec.taints, &claim->spec.startup_taints}) {
    for (const model::Taint& taint : *taints) {
      if (!HasTaint(node, taint)) node.spec.taints.push_back(taint);
    }
  }
  if (!HasTaint(node, UnregisteredTaint())) node.spec.taints.push_back(UnregisteredTaint());
  const auto made = co_await context().parts.writer.CreateObject(NameOf(node), wire::ToJson(node));
  if (!made.ok() && made.status().code() != Code::kAlreadyExists) co_return made.status();
  // Until the World shows it there is nothing else to do.
  if (made.ok()) co_return Status(Code::kAborted, "the node is on its way");
  // The kubelet was first, and nobody told it its id.
  Json patch;
  patch["spec"]["providerID"] = claim->status.provider_id;
  const auto written = co_await context().parts.writer.UpdateObject(NameOf(node), patch.dump());
  co_return written.ok() ? Status(Code::kAborted, "the node is on its way") : written.status();
}

Task<Status> ClaimLife::SyncNode(ClaimPtr claim, NodePtr node) {
  const bool registered = IsLabelled(*node, model::kRegisteredLabel);
  const bool sync_taints = !IsLabelled(*node, names::kDoNotSyncTaintsLabel);
  if (!registered && !HasTaint(*node, UnregisteredTaint())) {
    context().Tell(Context::Of(*claim), "Warning", "UnregisteredTaintMissing",
                   "Missing karpenter.sh/unregistered taint which prevents registration related "
                   "race conditions on Karpenter-managed nodes");
  }
  if (!registered && sync_taints) {
    cluster::NodeChange change;
    for (const auto* taints : {&claim->spec.taints, &claim->spec.startup_taints}) {
      for (const model::Taint& taint : *taints) {
        if (!HasTaint(*node, taint)) change.add_taints.push_back(taint);
      }
    }
    if (!change.add_taints.empty()) {
      const Status status =
          co_await context().parts.writer.ChangeNode(node->metadata.name, std::move(change));
      if (!status.ok()) co_return status;
    }
  }
  // With the version that it has after that.
  const auto live = co_await context().parts.writer.NodeNow(node->metadata.name);
  NodePtr now = node;
  if (live.ok()) {
    now = *live;
  } else if (live.status().code() != Code::kUnimplemented) {
    co_return live.status();
  }
  Json metadata = SyncPatch(*claim, *now);
  if (!metadata.empty()) {
    Json patch;
    patch["metadata"] = std::move(metadata);
    const auto written = co_await context().parts.writer.UpdateObject(NameOf(*now), patch.dump());
    if (!written.ok()) co_return written.status();
  }
  if (HasTaint(*now, UnregisteredTaint())) {
    cluster::NodeChange change;
    change.remove_taints.push_back(names::kUnregisteredTaint);
    co_return co_await context().parts.writer.ChangeNode(node->metadata.name, std::move(change));
  }
  co_return Status::Ok();
}

Task<Status> ClaimLife::Register(ClaimPtr claim, NodePtr node) {
  const Status synced = co_await SyncNode(claim, node);
  if (!synced.ok()) co_return synced;
  const ClaimPtr now = parts_.store.Find(*claim);
  if (now == nullptr) co_return Status::Ok();
  model::NodeClaim after = *now;
  SetClaimCondition(after, names::kRegistered, "True", names::kRegistered, "", context().Now());
  after.status.node_name = node->metadata.name;
  SettleClaimConditions(after, context().Now());
  const Status written = co_await parts_.store.Write(now, std::move(after));
  if (!written.ok()) co_return written;
  const std::string pool = LabelOr(claim->metadata.labels, model::kNodePoolLabel);
  MetricLabels labels;
  labels["nodepool"] = pool;
  labels["zone"] = LabelOr(claim->metadata.labels, model::kZoneLabel);
  context().Count("karpenter_nodes_created_total", "Number of nodes created in total by Karpenter.",
                  labels);
  parts_.pools.LaunchEnded(*claim, true, "", "");
  context().parts.log.Info("node registered",
                           {{"nodeclaim", claim->metadata.name}, {"node", node->metadata.name}});
  co_return Status::Ok();
}

}  // namespace coppice::provision
