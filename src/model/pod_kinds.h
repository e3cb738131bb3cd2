// What kind of pod is this, for the rules of packing and draining: mirror, DaemonSet, expendable,
// ...

#pragma once

#include <string_view>

#include "model/pod.h"

namespace coppice::model {

inline constexpr std::string_view kMirrorAnnotation = "kubernetes.io/config.mirror";
inline constexpr std::string_view kDaemonSetPodAnnotation =
    "cluster-autoscaler.kubernetes.io/daemonset-pod";

// Made by a kubelet from a file: nobody can move it.
bool IsMirrorPod(const model::Pod& pod);
// Owned by a DaemonSet, or said to behave like one.
bool IsDaemonSetPod(const model::Pod& pod);
// From a file or URL on the machine itself (kubernetes.io/config.source other than the API).
bool IsStaticPod(const model::Pod& pod);
// So unimportant that it neither causes a scale-up nor prevents a scale-down.
bool IsExpendable(const model::Pod& pod, int32_t priority_cutoff);

}  // namespace coppice::model
