// karpenter.sh/v1 NodeClaim: one machine that somebody has asked for. Conventions: meta.h.
//
// Durations stay the text that they came as ("720h", "43200m", "Never"): tools that compare what is
// stored with what is in Git would otherwise see a difference that nobody made. LastingOf() reads
// them.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "model/kinds.h"
#include "model/meta.h"
#include "model/node.h"
#include "model/pod.h"
#include "model/requirement.h"

namespace coppice::model {

struct NodeClassReference {
  std::string group;
  std::string kind;
  std::string name;
  friend bool operator==(const NodeClassReference&, const NodeClassReference&) = default;
};

// What a pool's template and a claim have in common.
struct NodeClaimTemplateSpec {
  std::vector<Taint> taints;
  std::vector<Taint> startup_taints;  // expected to go away by themselves; pods need not tolerate
  std::vector<RequirementSpec> requirements;
  std::optional<NodeClassReference> node_class_ref;
  std::optional<std::string> termination_grace_period;
  std::optional<std::string> expire_after;
  friend bool operator==(const NodeClaimTemplateSpec&, const NodeClaimTemplateSpec&) = default;
};

struct NodeClaimSpec : NodeClaimTemplateSpec {
  ResourceList requests;  // resources.requests: the pods it was bought for, and daemons
  friend bool operator==(const NodeClaimSpec&, const NodeClaimSpec&) = default;
};

struct NodeClaimStatus {
  std::string node_name;
  std::string provider_id;
  std::string image_id;
  ResourceList capacity;
  ResourceList allocatable;
  std::vector<Condition> conditions;
  std::optional<Time> last_pod_event_time;
  friend bool operator==(const NodeClaimStatus&, const NodeClaimStatus&) = default;
};

struct NodeClaim {
  ObjectMeta metadata;
  NodeClaimSpec spec;
  NodeClaimStatus status;
  friend bool operator==(const NodeClaim&, const NodeClaim&) = default;
};

template <>
inline constexpr Kind kKind<NodeClaim> = {"karpenter.sh/v1", "NodeClaim", "nodeclaims", false};

// What a duration field says; none if it is absent, "Never", or no duration at all (which
// validation complains about: a limit that cannot be read is not one that has passed).
std::optional<Duration> LastingOf(const std::optional<std::string>& text);

// Fills what the API server fills for whom it stores the object: expireAfter 720h.
void FillDefaults(NodeClaimTemplateSpec& spec);

// Conditions of claims, pools and classes.
const Condition* FindCondition(const std::vector<Condition>& conditions, std::string_view type);
bool IsTrue(const std::vector<Condition>& conditions, std::string_view type);
// The time stays that of the last change of status; reason and message may change without it.
void SetCondition(std::vector<Condition>& conditions, Condition condition, TimePoint now);
bool ClearCondition(std::vector<Condition>& conditions, std::string_view type);

// Names of the API group. Labels, annotations, taints and the finalizer are those of Karpenter, so
// that one may follow the other on the same objects. More of the labels: requirement.h.
namespace karpenter {
inline constexpr char kGroup[] = "karpenter.sh";
inline constexpr char kDoNotSyncTaintsLabel[] = "karpenter.sh/do-not-sync-taints";
inline constexpr char kDoNotDisruptAnnotation[] = "karpenter.sh/do-not-disrupt";
inline constexpr char kDoNotRepairAnnotation[] = "karpenter.sh/do-not-repair";
inline constexpr char kDisruptionCostAnnotation[] = "karpenter.sh/disruption-cost";
inline constexpr char kHashAnnotation[] = "karpenter.sh/nodepool-hash";
inline constexpr char kHashVersionAnnotation[] = "karpenter.sh/nodepool-hash-version";
inline constexpr char kTerminationTimestampAnnotation[] =
    "karpenter.sh/nodeclaim-termination-timestamp";
inline constexpr char kMinValuesRelaxedAnnotation[] = "karpenter.sh/nodeclaim-min-values-relaxed";
inline constexpr char kDisruptedTaint[] = "karpenter.sh/disrupted";        // NoSchedule
inline constexpr char kUnregisteredTaint[] = "karpenter.sh/unregistered";  // NoExecute
inline constexpr char kFinalizer[] = "karpenter.sh/termination";

// Conditions of a NodeClaim.
inline constexpr char kLaunched[] = "Launched";
inline constexpr char kRegistered[] = "Registered";
inline constexpr char kInitialized[] = "Initialized";
inline constexpr char kReady[] = "Ready";
inline constexpr char kConsolidatable[] = "Consolidatable";
inline constexpr char kDrifted[] = "Drifted";
inline constexpr char kDrained[] = "Drained";
inline constexpr char kVolumesDetached[] = "VolumesDetached";
inline constexpr char kInstanceTerminating[] = "InstanceTerminating";
inline constexpr char kConsistentStateFound[] = "ConsistentStateFound";
inline constexpr char kDisruptionReason[] = "DisruptionReason";
}  // namespace karpenter

}  // namespace coppice::model
