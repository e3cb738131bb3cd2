#include "plugins/filters/volume_limits/attachable.h"

#include <algorithm>
#include <optional>

#include "fit/volume_claims.h"

namespace coppice::filters::volume_limits {
namespace {

using fit::CsiVolume;
using model::Verdict;
using model::VerdictCode;

Verdict Failed(std::string why) { return Verdict::No(kName, VerdictCode::kError, std::move(why)); }

// A claim without a volume: it will be one of its class's driver. The handle only has to differ
// from all real ones and be the same for all pods that use the claim.
std::optional<CsiVolume> FromClass(const model::PersistentVolumeClaim& claim,
                                   const cluster::Facts& facts, CsiOnNode csi) {
  const std::string_view class_name = fit::ClassOf(claim);
  if (class_name.empty()) return std::nullopt;
  const model::StorageClass* storage_class = facts.storage_classes.Find(class_name);
  if (storage_class == nullptr) return std::nullopt;
  std::string_view driver = storage_class->provisioner;
  if (fit::IsInTree(driver)) driver = csi == CsiOnNode::kYes ? fit::MigratedDriver(driver) : "";
  if (driver.empty()) return std::nullopt;
  return CsiVolume{std::string(driver), std::string("\0unbound ", 9) + claim.metadata.namespace_ +
                                            "/" + claim.metadata.name};
}

std::optional<CsiVolume> FromClaim(const model::PersistentVolumeClaim& claim,
                                   const cluster::Facts& facts, CsiOnNode csi) {
  if (claim.spec.volume_name.empty()) return FromClass(claim, facts, csi);
  const model::PersistentVolume* volume = facts.volumes.Find(claim.spec.volume_name);
  if (volume == nullptr) return FromClass(claim, facts, csi);
  std::optional<CsiVolume> found;
  if (volume->spec.csi) {
    found = CsiVolume{volume->spec.csi->driver, volume->spec.csi->volume_handle};
  } else if (csi == CsiOnNode::kYes && !fit::InTreePlugin(*volume).empty()) {
    if (auto translated = fit::ToCsi(*volume); translated.ok()) found = *std::move(translated);
  }
  if (found && (found->driver.empty() || found->handle.empty())) found.reset();
  return found;
}

void MakeAttachableSet(std::vector<CsiVolume>& volumes) {
  std::ranges::sort(volumes);
  volumes.erase(std::unique(volumes.begin(), volumes.end()), volumes.end());
}

}  // namespace

AttachableVolumes Attachable(const cluster::PodView& pod, const cluster::Facts& facts,
                             CsiOnNode csi, Asking asking) {
  AttachableVolumes result;
  for (const model::Volume& volume : pod.volumes.volumes) {
    const std::optional<std::string> claim_name = fit::ClaimName(volume, pod.name);
    if (!claim_name) {
      if (csi == CsiOnNode::kNo || fit::InTreePlugin(volume).empty()) continue;
      auto translated = fit::ToCsi(volume);
      if (!translated.ok()) {
        result.problem = Failed(translated.status().message());
        return result;
      }
      result.volumes.push_back(*std::move(translated));
      continue;
    }
    if (claim_name->empty()) {
      result.problem = Failed("PersistentVolumeClaim had no name");
      return result;
    }
    const model::PersistentVolumeClaim* claim = facts.claims.Find(pod.namespace_, *claim_name);
    if (claim == nullptr) {
      if (asking == Asking::kNo) continue;
      result.problem = Verdict::No(kName, VerdictCode::kUnschedulableAndUnresolvable,
                                   "looking up PVC " + std::string(pod.namespace_) + "/" +
                                       *claim_name + ": " + fit::ClaimNotFound(*claim_name));
      return result;
    }
    if (!volume.claim_name && !fit::IsMadeFor(*claim, pod)) {
      result.problem = Failed(fit::NotMadeForText(*claim, pod));
      return result;
    }
    if (auto found = FromClaim(*claim, facts, csi)) result.volumes.push_back(*std::move(found));
  }
  MakeAttachableSet(result.volumes);
  return result;
}

}  // namespace coppice::filters::volume_limits
