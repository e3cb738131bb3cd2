// What one pass of the autoscaler saw, decided and why: a value, published when the pass is over.
// Events, logs, metrics, the dashboard and `coppice explain` all read it and nothing else.

#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "model/change.h"
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

using model::Change;
using model::ChangeKind;

// What keeps a group from taking a kind of pods: all these changes together, tried out.
struct NearMiss {
  std::string group;
  std::vector<Change> changes;
  friend bool operator==(const NearMiss&, const NearMiss&) = default;
};

// Pods of one kind that nothing was bought for, and what every group had against them.
struct Unhelped {
  std::vector<PodPtr> pods;
  std::map<std::string, model::Verdict> rejected;  // by group: the filter that refused
  std::shared_ptr<const std::map<std::string, std::vector<std::string>>>
      skipped;  // by group: not considered
  // The nearest first. A group is missing if no change that is known of helps, and if the pass had
  // no time to look (Options::explain_checks).
  std::vector<NearMiss> misses = {};
};

// One option that was compared.
struct ConsideredOption {
  std::string group;
  int nodes = 0;
  size_t pods = 0;
};
// What an expander measured of an option: "wastes 12.5%".
struct Score {
  std::string group;
  double value = 0;
  std::string text;
};
struct ExpanderStep {
  std::string expander;
  std::vector<std::string> survivors;
  std::string note = {};  // what the expander had to say: why it kept all, for example
  std::vector<Score> scores = {};
};

// A pending pod that needs no new node: one that exists or is on its way takes it.
struct FittingPod {
  PodPtr pod;
  std::string node;
};

// How long a part of the pass took, under upstream's name for it.
struct Took {
  std::string_view part;
  Duration time{};
};

// What was packed together on nodes of one kind.
struct Packing {
  std::string instance_type;  // "" if the template has no such label
  std::string cpu;            // of the template's capacity
  size_t namespaces = 0;
  size_t kinds = 0;  // of pods
};

struct ScaleUp {
  ScaleUpResult result = ScaleUpResult::kNotTried;
  std::vector<GroupResize> resizes;
  std::vector<PodPtr> triggered;
  std::vector<PodPtr> awaiting;  // could be helped, but by another group than the one chosen
  std::vector<Unhelped> unhelped;
  // A group would take them, but limits leave it no node. Upstream says nothing about these.
  std::vector<Unhelped> unserved;
  std::vector<std::string> considered_groups;
  std::vector<ConsideredOption> options;
  std::vector<ExpanderStep> chosen_by;
  std::vector<std::string> failed_groups;
  std::string error;
  std::string error_type;           // upstream's: cloudProviderError, transientError, ...
  std::string chosen;               // the group that won
  bool by_lot = false;              // among equally good ones
  std::vector<FittingPod> fitting;  // only if the pass was asked to tell (explain_checks < 0)
  std::vector<Took> took;
  std::vector<Packing> packings;
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
enum class StayReason {
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
  // Ours, too, of nodes that upstream gives no reason for:
  kGroupDelayed,  // its group was changed a short while ago (--scale-down-delay-type-local)
  kCooldown,      // unneeded, but no node is removed for a while
  kNextPass,      // may go, but so many at once are enough
};
std::string_view ToString(StayReason reason);

struct Utilization {
  double cpu = 0;
  double memory = 0;
  double gpu = 0;
  std::string resource;  // the one that counts
  double value = 0;
};

struct StayingNode {
  std::string node;
  StayReason reason = StayReason::kNoReason;
  std::optional<Utilization> utilization;
  PodPtr blocking_pod;
  std::string blocking_reason;  // of the drain rule
  std::string detail;           // the number or sentence that decided, for people
  // The numbers behind the reason, where it has any.
  std::string group = {};
  double threshold = 0;  // that the utilization exceeds
  Duration waited{};     // so long of so long: unneeded, unready
  Duration wait{};       // for a cool-down: what is left of it
  int group_size = 0;
  int group_min = 0;
  PodPtr stuck_pod = nullptr;  // of NoPlaceToMovePods: the first that no other node takes
  // Why not: how many nodes said what. Only if the pass was asked to tell (explain_checks < 0).
  std::vector<std::pair<std::string, int>> stuck_reasons = {};
  // Of RecentlyUnremovable: what was found then, and how long ago.
  StayReason earlier = StayReason::kNoReason;
  Duration ago{};
};

struct Move {
  PodPtr pod;
  std::string node;  // that would take it
};

struct RemovedNode {
  std::string node;
  std::string group;
  std::vector<PodPtr> evicted;
  Utilization utilization;
  std::vector<Move> moves = {};  // where the plan has room for them; the scheduler decides
};

// How a deletion that was under way ended.
struct DeletionOutcome {
  std::string node;
  std::string result;  // upstream's, without its prefix: Ok, FailedToEvictPods, ...
  std::string error;
  bool ok() const { return result == "Ok"; }
};

struct ScaleDown {
  ScaleDownResult result = ScaleDownResult::kNotTried;
  std::vector<RemovedNode> removed;
  std::vector<DeletionOutcome> outcomes;
  std::vector<std::string> unneeded;  // in the order in which they were found
  std::vector<StayingNode> staying;
  // Those that upstream keeps without a word: no candidates, in a cool-down, one too many at once.
  std::vector<StayingNode> staying_untold;
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

// Nodes that were ordered and will not come.
struct FailedAddition {
  std::string group;
  std::string reason;  // an error type, "timeout", or the provider's code
  int nodes = 0;
};

// When a pass wants to be followed by another one at the latest, and what for: nothing that it held
// back changes by itself before then.
struct CallAgain {
  TimePoint at;
  std::string_view why;  // a literal
};

struct PassReport {
  TimePoint at;
  std::string error;  // empty: the pass went through
  std::string error_type;
  ScaleUp scale_up;
  // What came before: the rounds of a salvo, and the scale-up before minimal sizes were enforced.
  std::vector<ScaleUp> earlier_rounds;
  ScaleDown scale_down;
  std::map<std::string, int> upcoming;
  std::optional<ClusterStatus> status;  // absent: the pass ended before it was known
  // What happened beside the decisions, for metrics.
  std::vector<FailedAddition> failed_additions;
  int unregistered_removed = 0;  // machines that never became nodes
  int groups_created = 0;
  int groups_deleted = 0;
  size_t deleting = 0;                 // nodes, at the beginning
  size_t unprocessed_pods = 0;         // not looked at for lack of time
  size_t overflowing_controllers = 0;  // of more kinds of pods than are told apart
  std::vector<Took> took;
  std::optional<CallAgain> call_again;  // absent: nothing is waited for
};

}  // namespace coppice::report
