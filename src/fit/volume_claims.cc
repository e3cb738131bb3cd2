#include "fit/volume_claims.h"

namespace coppice::fit {
namespace {

constexpr std::string_view kBetaClass = "volume.beta.kubernetes.io/storage-class";

std::string NotFoundText(std::string_view kind, std::string_view name) {
  return std::string(kind) + " " + Quoted(name) + " not found";
}

}  // namespace

std::optional<std::string> ClaimName(const model::Volume& volume, std::string_view pod_name) {
  if (volume.claim_name) return volume.claim_name;
  if (volume.ephemeral) return std::string(pod_name) + "-" + volume.name;
  return std::nullopt;
}

bool IsMadeFor(const model::PersistentVolumeClaim& claim, const cluster::PodView& pod) {
  const model::OwnerReference* owner = model::ControllerOf(claim.metadata);
  // A pod without uid has never been stored, so no claim can be its own.
  return owner != nullptr && !pod.uid.empty() && owner->uid == pod.uid;
}

std::string NotMadeForText(const model::PersistentVolumeClaim& claim, const cluster::PodView& pod) {
  return "PVC " + claim.metadata.namespace_ + "/" + claim.metadata.name +
         " was not created for pod " + std::string(pod.namespace_) + "/" + std::string(pod.name) +
         " (pod is not owner)";
}

std::string_view ClassOf(const model::PersistentVolumeClaim& claim) {
  if (const std::string* beta = claim.metadata.annotations.Find(kBetaClass)) return *beta;
  return claim.spec.storage_class_name ? std::string_view(*claim.spec.storage_class_name)
                                       : std::string_view();
}

std::string_view ClassOf(const model::PersistentVolume& volume) {
  if (const std::string* beta = volume.metadata.annotations.Find(kBetaClass)) return *beta;
  return volume.spec.storage_class_name;
}

std::string ClaimNotFound(std::string_view name) {
  return NotFoundText("persistentvolumeclaim", name);
}
std::string VolumeNotFound(std::string_view name) { return NotFoundText("persistentvolume", name); }
std::string ClassNotFound(std::string_view name) {
  return NotFoundText("storageclass.storage.k8s.io", name);
}
std::string BindingModeNotSet(std::string_view class_name) {
  return "VolumeBindingMode not set for StorageClass " + Quoted(class_name);
}

std::string Quoted(std::string_view text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return quoted + "\"";
}

}  // namespace coppice::fit
