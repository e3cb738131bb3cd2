// What a pod needs of the kubelet beyond what every kubelet can do, as kube-scheduler v1.36 infers
// it from the spec. Nodes say what they can do in status.declaredFeatures.

#pragma once

#include <string>
#include <vector>

#include "model/pod.h"

namespace coppice::model {

// Names of features, sorted. Almost always empty.
std::vector<std::string> NeededFeatures(const PodSpec& spec);

}  // namespace coppice::model
