// CSI migration: volumes that still name an in-tree driver are served, counted and located by the
// CSI driver that took over from it.
//
// kube-scheduler does this wherever it counts or locates volumes, so that moving a cluster to CSI
// does not change where pods fit. Pure functions.

#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/status.h"
#include "model/pod.h"
#include "model/storage.h"

namespace coppice::fit {

// A volume as its CSI driver knows it; two with equal fields are the same volume.
struct CsiVolume {
  std::string driver;
  std::string handle;
  friend auto operator<=>(const CsiVolume&, const CsiVolume&) = default;
};

// Of a provisioner or in-tree plug-in ("kubernetes.io/aws-ebs").
bool IsInTree(std::string_view provisioner);  // some CSI driver has taken over
std::string_view MigratedDriver(
    std::string_view provisioner);  // that driver, if kube-scheduler counts for it; or ""

// Name of the in-tree plug-in behind a volume, or "" (also for CSI volumes).
std::string_view InTreePlugin(const model::PersistentVolume& volume);
std::string_view InTreePlugin(const model::Volume& volume);

// What the volume is to CSI. Only for volumes with an InTreePlugin; fails on ids that cannot be
// translated.
Result<CsiVolume> ToCsi(const model::PersistentVolume& volume);
Result<CsiVolume> ToCsi(const model::Volume& volume);

// The nodes that reach the volume once the CSI driver serves it: zones under the driver's own
// label.
std::optional<model::NodeSelector> MigratedAffinity(const model::PersistentVolume& volume);

// Whether the node's kubelet has handed this plug-in over to CSI.
bool MigratedOn(const model::CsiNode* node, std::string_view plugin);

}  // namespace coppice::fit
