#include "batch/volumes.h"

#include <algorithm>
#include <optional>
#include <utility>

#include <nlohmann/json.hpp>

#include "fit/volume_claims.h"
#include "model/kinds.h"
#include "model/node_selector.h"
#include "model/selector.h"

namespace coppice::batch {
namespace {

constexpr std::string_view kSelectedNode = "volume.kubernetes.io/selected-node";
constexpr std::string_view kBindCompleted = "pv.kubernetes.io/bind-completed";
constexpr std::string_view kBoundByController = "pv.kubernetes.io/bound-by-controller";
constexpr Duration kLookAgain = std::chrono::milliseconds(500);

using model::PersistentVolume;
using model::PersistentVolumeClaim;

bool IsBound(const PersistentVolumeClaim& claim) {
  return !claim.spec.volume_name.empty() && claim.metadata.annotations.contains(kBindCompleted);
}

model::Quantity StorageIn(const model::ResourceList& list) {  // absent is zero
  const model::Quantity* amount = list.Find("storage");
  return amount == nullptr ? model::Quantity() : *amount;
}

bool NamesClaim(const PersistentVolume& volume, const PersistentVolumeClaim& claim) {
  const auto& ref = volume.spec.claim_ref;
  return ref && ref->name == claim.metadata.name && ref->namespace_ == claim.metadata.namespace_ &&
         (ref->uid.empty() || ref->uid == claim.metadata.uid);
}

bool Suits(const PersistentVolume& volume, const PersistentVolumeClaim& claim) {
  const auto& modes = volume.spec.access_modes;
  if (StorageIn(volume.spec.capacity).Compare(StorageIn(claim.spec.resources.requests)) < 0 ||
      volume.spec.volume_mode.value_or("Filesystem") !=
          claim.spec.volume_mode.value_or("Filesystem") ||
      volume.spec.volume_attributes_class_name.value_or("") !=
          claim.spec.volume_attributes_class_name.value_or("") ||
      volume.metadata.deletion_timestamp || volume.status.phase != "Available") {
    return false;
  }
  if (claim.spec.selector) {
    const auto selector = model::Selector::From(*claim.spec.selector);
    if (!selector.ok() || !selector->Matches(volume.metadata.labels)) return false;
  }
  return std::ranges::all_of(claim.spec.access_modes, [&](const std::string& mode) {
    return std::ranges::find(modes, mode) != modes.end();
  });
}

bool NodeReaches(const PersistentVolume& volume, const model::Node& node) {
  if (!volume.spec.node_affinity) return true;
  return model::CompiledNodeSelector(*volume.spec.node_affinity)
      .Matches(node.metadata.labels, node.metadata.name);
}

cluster::ObjectName ClaimObject(const PersistentVolumeClaim& claim) {
  const model::ObjectMeta& meta = claim.metadata;
  return {"v1", "persistentvolumeclaims", meta.namespace_, meta.name, meta.uid};
}

}  // namespace

Result<std::vector<Volumes::ClaimPtr>> Volumes::Unbound(const model::Pod& pod) const {
  const cluster::Facts& facts = parts_.world.facts();
  std::vector<ClaimPtr> unbound;
  for (const model::Volume& volume : pod.spec.volumes) {
    const auto name = fit::ClaimName(volume, pod.metadata.name);
    if (!name) continue;
    ClaimPtr claim = facts.claims.Get(pod.metadata.namespace_, *name);
    if (claim == nullptr) return FailedPrecondition(fit::ClaimNotFound(*name));
    if (claim->status.phase == "Lost")
      return FailedPrecondition("persistentvolumeclaim " + fit::Quoted(*name) + " is lost");
    if (!IsBound(*claim)) unbound.push_back(std::move(claim));
  }
  return unbound;
}

std::string Volumes::FindVolume(const PersistentVolumeClaim& claim, const model::Node& node) const {
  const PersistentVolume* best = nullptr;
  for (const PersistentVolume* volume : parts_.world.facts().VolumesOfClass(fit::ClassOf(claim))) {
    if (NamesClaim(*volume, claim)) return volume->metadata.name;
    const auto promise = promised_.find(volume->metadata.name);
    if (promise != promised_.end() && promise->second != claim.metadata.uid) continue;
    if (volume->spec.claim_ref || !Suits(*volume, claim) || !NodeReaches(*volume, node)) continue;
    const auto smaller = [&] {
      const int order = StorageIn(volume->spec.capacity).Compare(StorageIn(best->spec.capacity));
      return order != 0 ? order < 0 : volume->metadata.name < best->metadata.name;
    };
    if (best == nullptr || smaller()) best = volume;
  }
  return best == nullptr ? "" : best->metadata.name;
}

coppice::Task<Status> Volumes::Give(ClaimPtr claim, std::string volume) {
  const model::ObjectMeta& meta = claim->metadata;
  const nlohmann::json patch = {
      {"metadata", {{"annotations", {{std::string(kBoundByController), "yes"}}}}},
      {"spec",
       {{"claimRef",
         {{"apiVersion", "v1"},
          {"kind", "PersistentVolumeClaim"},
          {"namespace", meta.namespace_},
          {"name", meta.name},
          {"uid", meta.uid}}}}}};
  cluster::ObjectName name{"v1", "persistentvolumes", "", volume};
  promised_[volume] = meta.uid;
  const auto written = co_await parts_.writer.UpdateObject(std::move(name), patch.dump());
  if (!written.ok()) promised_.erase(volume);
  co_return written.status();
}

coppice::Task<Status> Volumes::TellNode(ClaimPtr claim, std::string node) {
  const nlohmann::json patch = {
      {"metadata", {{"annotations", {{std::string(kSelectedNode), node}}}}}};
  const auto written = co_await parts_.writer.UpdateObject(ClaimObject(*claim), patch.dump());
  co_return written.status();
}

coppice::Task<Status> Volumes::Bind(cluster::PodPtr pod, std::string node_name) {
  CO_TRY(std::vector<ClaimPtr> unbound, Unbound(*pod));
  if (unbound.empty()) co_return Status::Ok();
  const cluster::NodePtr node = parts_.world.FindNode(node_name);
  if (node == nullptr) co_return NotFound("the node " + node_name + " is gone");
  std::vector<std::string> given;
  Status trouble;
  for (const ClaimPtr& claim : unbound) {
    const auto* storage_class = parts_.world.facts().storage_classes.Find(fit::ClassOf(*claim));
    const bool waits = storage_class != nullptr &&
                       storage_class->volume_binding_mode == fit::kWaitForFirstConsumer;
    if (!waits) continue;  // its volume is on its way without us
    std::string volume = FindVolume(*claim, *node);
    if (!volume.empty()) {
      given.push_back(volume);
      trouble = co_await Give(claim, std::move(volume));
    } else {
      trouble = co_await TellNode(claim, node_name);
    }
    if (!trouble.ok()) break;
  }
  const TimePoint give_up = Later(parts_.executor.clock().Now(), parts_.limit);
  while (trouble.ok()) {
    const auto left = Unbound(*pod);
    if (!left.ok()) trouble = left.status();
    if (!left.ok() || left->empty()) break;
    if (parts_.executor.clock().Now() >= give_up) {
      trouble =
          FailedPrecondition("persistentvolumeclaim " + fit::Quoted(left->front()->metadata.name) +
                             " got no volume in time");
      break;
    }
    co_await parts_.executor.Sleep(kLookAgain);
  }
  for (const std::string& volume : given) promised_.erase(volume);
  co_return trouble;
}

}  // namespace coppice::batch
