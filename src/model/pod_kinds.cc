#include "model/pod_kinds.h"

namespace coppice::model {

bool IsMirrorPod(const Pod& pod) { return pod.metadata.annotations.contains(kMirrorAnnotation); }

bool IsDaemonSetPod(const Pod& pod) {
  const OwnerReference* owner = ControllerOf(pod.metadata);
  if (owner != nullptr && owner->kind == "DaemonSet") return true;
  const std::string* said = pod.metadata.annotations.Find(kDaemonSetPodAnnotation);
  return said != nullptr && *said == "true";
}

bool IsStaticPod(const Pod& pod) {
  const std::string* source = pod.metadata.annotations.Find("kubernetes.io/config.source");
  return source != nullptr && *source != "api";
}

bool IsExpendable(const Pod& pod, int32_t priority_cutoff) {
  return pod.spec.priority && *pod.spec.priority < priority_cutoff;
}

}  // namespace coppice::model
