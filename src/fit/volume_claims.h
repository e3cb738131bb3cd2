// Claims behind a pod's volumes: what every volume filter asks about them, in kube-scheduler's
// words.
//
// Pure functions; the objects come from cluster::Facts.

#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "cluster/facts.h"
#include "cluster/snapshot.h"
#include "model/storage.h"

namespace coppice::fit {

// The claim that a volume stands for: the one it names, or "<pod>-<volume>" for an ephemeral
// volume. Nothing for volumes of another kind.
std::optional<std::string> ClaimName(const model::Volume& volume, std::string_view pod_name);

// An ephemeral volume's claim counts only if it was made for this very pod.
bool IsMadeFor(const model::PersistentVolumeClaim& claim, const cluster::PodView& pod);
std::string NotMadeForText(const model::PersistentVolumeClaim& claim, const cluster::PodView& pod);

// The annotation of the time before spec.storageClassName still wins. "" is no class.
std::string_view ClassOf(const model::PersistentVolumeClaim& claim);
std::string_view ClassOf(const model::PersistentVolume& volume);

inline constexpr std::string_view kWaitForFirstConsumer = "WaitForFirstConsumer";

// `persistentvolumeclaim "data" not found`, as the API machinery says it.
std::string ClaimNotFound(std::string_view name);
std::string VolumeNotFound(std::string_view name);
std::string ClassNotFound(std::string_view name);
std::string BindingModeNotSet(std::string_view class_name);

// As Go's %q prints a name.
std::string Quoted(std::string_view text);

}  // namespace coppice::fit
