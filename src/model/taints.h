// Taints and tolerations: who is kept off a node.
//
// As kube-scheduler v1.36 with default gates: an empty key tolerates every key whatever the
// operator; Lt and Gt tolerate nothing.

#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "model/node.h"
#include "model/pod.h"

namespace coppice::model {

inline constexpr std::string_view kNoSchedule = "NoSchedule";
inline constexpr std::string_view kPreferNoSchedule = "PreferNoSchedule";
inline constexpr std::string_view kNoExecute = "NoExecute";

bool Tolerates(const Toleration& toleration, const Taint& taint);
bool Tolerates(const std::vector<Toleration>& tolerations, const Taint& taint);  // one is enough

// NoSchedule and NoExecute: what the scheduler obeys. PreferNoSchedule is a wish.
bool KeepsOut(const Taint& taint);

// The first taint that keeps out a pod with these tolerations, or null.
const Taint* FirstUntolerated(const std::vector<Taint>& taints,
                              const std::vector<Toleration>& tolerations);

bool SameTaint(const Taint& a, const Taint& b);  // key and effect: what a taint is identified by
std::string ToString(const Taint& taint);        // key=value:effect, key:effect, ...

}  // namespace coppice::model
