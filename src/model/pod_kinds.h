// What kind of pod is this, for the rules of packing and draining: mirror, DaemonSet, expendable,
// ...

#pragma once

#include <cstdint>
#include <string_view>

#include "model/pod.h"

namespace coppice::model {

inline constexpr std::string_view kMirrorAnnotation = "kubernetes.io/config.mirror";
inline constexpr std::string_view kDaemonSetPodAnnotation =
    "cluster-autoscaler.kubernetes.io/daemonset-pod";

// What the API server gives a pod that does not say how long it takes to end.
inline constexpr int64_t kDefaultGraceSeconds = 30;

// Made by a kubelet from a file: nobody can move it.
bool IsMirrorPod(const Pod& pod);
// Owned by a DaemonSet, or said to behave like one.
bool IsDaemonSetPod(const Pod& pod);
// From a file or URL on the machine itself (kubernetes.io/config.source other than the API).
bool IsStaticPod(const Pod& pod);
// So unimportant that it neither causes a scale-up nor prevents a scale-down.
bool IsExpendable(const Pod& pod, int32_t priority_cutoff);

}  // namespace coppice::model
