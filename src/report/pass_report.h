// What one pass of the autoscaler saw, decided and why: a value, published when the pass is over.
// Events, logs, metrics, the dashboard and `coppice explain` all read it and nothing else.

#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "model/node.h"
#include "model/pod.h"
#include "model/verdict.h"

namespace coppice::report {

using PodPtr = std::shared_ptr<const model::Pod>;

enum class ScaleUpResult {
  kNotTried,
  kNotNeeded,
  kInCooldown,  // every pending pod is new
  kLimitedByMaxNodesTotal,
  kNoOptionsAvailable,
  kSuccessful,
  kError,
};
std::string_view ToString(ScaleUpResult result);  // upstream's names

struct GroupResize {
  std::string group;
  int from = 0;
  int to = 0;
  int max = 0;
  friend bool operator==(const GroupResize&, const GroupResize&) = default;
};

// Pods of one kind that nothing was bought for, and what every group had against them.
struct Unhelped {
  std::vector<PodPtr> pods;
  std::map<std::string, model::Verdict> rejected;  // by group: the filter that refused
  std::shared_ptr<const std::map<std::string, std::vector<std::string>>>
      skipped;  // by group: not considered
};

// One option that was compared.
struct ConsideredOption {
  std::string group;
  int nodes = 0;
  size_t pods = 0;
};
struct ExpanderStep {
  std::string expander;
  std::vector<std::string> survivors;
};

struct ScaleUp {
  ScaleUpResult result = ScaleUpResult::kNotTried;
  std::vector<GroupResize> resizes;
  std::vector<PodPtr> triggered;
  std::vector<PodPtr> awaiting;  // could be helped, but by another group than the one chosen
  std::vector<Unhelped> unhelped;
  std::vector<std::string> considered_groups;
  std::vector<ConsideredOption> options;
  std::vector<ExpanderStep> chosen_by;
  std::vector<std::string> failed_groups;
  std::string error;
  std::string error_type;  // upstream's: cloudProviderError, transientError, ...
};

enum class ScaleDownResult {
  kNotTried,
  kInCooldown,
  kNoCandidates,
  kNoNodeDeleted,
  kNodeDeleteStarted,
  kError,
};
std::string_view ToString(ScaleDownResult result);

// Why a node stays. The names are upstream's.
enum class Unremovable {
  kNoReason,
  kScaleDownDisabledAnnotation,
  kScaleDownUnreadyDisabled,
  kNotAutoscaled,
  kNotUnneededLongEnough,
  kNotUnreadyLongEnough,
  kNodeGroupMinSizeReached,
  kAtomicScaleDownFailed,
  kMinimalResourceLimitExceeded,
  kCurrentlyBeingDeleted,
  kNotUnderutilized,
  kRecentlyUnremovable,
  kNoPlaceToMovePods,
  kBlockedByPod,
  kUnexpectedError,
  kNoNodeInfo,
  kBlockedByOnCompletionPod,
  kFused,  // ours: the planner wanted it gone, a fuse did not
};
std::string_view ToString(Unremovable reason);

struct Utilization {
  double cpu = 0;
  double memory = 0;
  double gpu = 0;
  std::string resource;  // the one that counts
  double value = 0;
};

struct StayingNode {
  std::string node;
  Unremovable reason = Unremovable::kNoReason;
  std::optional<Utilization> utilization;
  PodPtr blocking_pod;
  std::string blocking_reason;  // of the drain rule
  std::string detail;           // the number or sentence that decided, for people
};

struct RemovedNode {
  std::string node;
  std::string group;
  std::vector<PodPtr> evicted;
  Utilization utilization;
};

// How a deletion that was under way ended.
struct DeletionOutcome {
  std::string node;
  std::string result;  // upstream's: NodeDeleteOk, NodeDeleteErrorFailedToEvictPods, ...
  std::string error;
};

struct ScaleDown {
  ScaleDownResult result = ScaleDownResult::kNotTried;
  std::vector<RemovedNode> removed;
  std::vector<DeletionOutcome> outcomes;
  std::vector<std::string> unneeded;  // in the order in which they were found
  std::vector<StayingNode> staying;
};

struct NodeCounts {
  int registered = 0;
  int ready = 0;
  int not_started = 0;
  int suspended = 0;
  int being_deleted = 0;
  int unready = 0;
  int resource_unready = 0;
  int long_unregistered = 0;
  int unregistered = 0;
  friend bool operator==(const NodeCounts&, const NodeCounts&) = default;
};

struct GroupStatus {
  std::string group;
  bool healthy = true;
  NodeCounts counts;
  int target = 0;
  int min = 0;
  int max = 0;
  std::string scale_up;  // InProgress, Unhealthy, Backoff, NoActivity
  std::string backoff_code;
  std::string backoff_message;
  int candidates = 0;
};

// What the status ConfigMap says.
struct ClusterStatus {
  bool running = false;  // false: Initializing
  std::string message;
  bool healthy = true;
  NodeCounts counts;
  bool scale_up_in_progress = false;
  int candidates = 0;
  std::vector<GroupStatus> groups;
  TimePoint probed;             // cluster state
  TimePoint scale_down_probed;  // scale-down evaluation
};

struct PassReport {
  TimePoint at;
  std::string error;  // empty: the pass went through
  std::string error_type;
  ScaleUp scale_up;
  ScaleDown scale_down;
  std::map<std::string, int> upcoming;
  std::optional<ClusterStatus> status;  // absent: the pass ended before it was known
};

}  // namespace coppice::report
