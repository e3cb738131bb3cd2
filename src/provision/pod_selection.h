// Which pods a node pool buys for: those that kube-scheduler gave up on, those of nodes that are
// leaving, and of these only the ones whose demands make sense.
//
// Pure functions of what is known. A pod that is refused here is never tried; the reason goes into
// its event.

#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "model/pod.h"
#include "model/policy.h"
#include "model/requirement.h"
#include "provision/storage_index.h"

namespace coppice::provision {

// kube-scheduler marked it Unschedulable, it is nowhere, preempts nobody, belongs to neither a
// DaemonSet nor a node, and could be read.
bool IsProvisionable(const model::Pod& pod);
bool IsTerminal(const model::Pod& pod);     // Failed or Succeeded
bool IsTerminating(const model::Pod& pod);  // deletionTimestamp is set
bool IsActive(const model::Pod& pod);
bool IsOwnedBy(const model::Pod& pod, std::string_view api_version, std::string_view kind);
// Would come up again elsewhere: active, or of a StatefulSet and on its way out; no daemon, no
// mirror pod.
bool IsReschedulable(const model::Pod& pod);
// What a pod's karpenter.sh/do-not-disrupt says: "true", or a duration since its start.
struct Protection {
  enum class What : uint8_t { kNone, kAlways, kUntil, kElapsed, kInvalid };
  What what = What::kNone;
  std::optional<TimePoint> until;  // absent: it has not started
  std::string wrong;               // with it

  bool active() const { return what == What::kAlways || what == What::kUntil; }
};
Protection ProtectionOf(const model::Pod& pod, TimePoint now);
// Also of a pod that could not be read.
bool IsDoNotDisruptActive(const model::Pod& pod, TimePoint now);
bool HasDeviceClaims(const model::Pod& pod);

// An eviction would be asked for: active, does not tolerate the disrupted taint, no mirror pod, not
// protected.
bool IsEvictable(const model::Pod& pod, TimePoint now);

using Budgets = std::vector<std::shared_ptr<const model::PodDisruptionBudget>>;
// Of a node that is leaving: it would come up again, and nothing keeps it there for good.
bool IsCurrentlyReschedulable(const model::Pod& pod, const Budgets& budgets, TimePoint now);

struct StorageRules {
  std::vector<std::string> unsupported_provisioners;
  std::vector<std::string> unsupported_topology_keys;
};

// Why this pod is not tried at all, or empty. `silent`: it does not want to be on a machine of a
// pool, which is no event.
struct PodRefusal {
  std::string text;
  bool silent = false;
};
std::optional<PodRefusal> Validate(const model::Pod& pod, const StorageIndex& storage,
                                   const model::LabelRules& labels, const StorageRules& rules);

}  // namespace coppice::provision
