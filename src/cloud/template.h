// The node that a new machine of a group will register: what scale-from-zero and the simulation of
// upcoming nodes believe. Too generous and the autoscaler buys machines on which the pod then does
// not fit, for ever; so what the kubelet and the cloud-controller-manager would report is worked
// out here.
//
// Pure functions.

#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/status.h"
#include "cloud/group_config.h"
#include "cloud/types.h"
#include "model/node.h"

namespace coppice::cloud {

inline constexpr int64_t kDefaultMaxPods = 110;  // the kubelet's
inline constexpr char kGpuResource[] = "nvidia.com/gpu";

// Capacity is the hardware as sold, with the group's volume as disk. Allocatable is that less
// kubeReserved, systemReserved and evictionHard, never below zero. `gpu_label`: key of the label
// that marks GPU nodes on this cloud, "" for none.
Result<model::Node> MakeTemplate(const GroupConfig& group, const Flavor& flavor,
                                 std::string_view gpu_label);

// "rma1" -> "rma": how cloud-controller-managers of clouds without a notion of region name one.
std::string RegionOf(std::string_view zone);

// A text as a label's value: what is not allowed becomes '-', at most 63 characters.
std::string AsLabelValue(std::string_view text);

// Whether the group's reserved amounts can be read; a sentence that names key and remedy if not.
Status CheckReserved(const GroupConfig& group);

}  // namespace coppice::cloud
