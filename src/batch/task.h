// Task: one pod as a session sees it.
//
// Made once per session from the pod's object; what a session changes about it is where it is and
// its status. A node remembers the status under which the task was put on it (node_status), which
// may differ: a task that is committed becomes Binding while its node still counts it as Allocated.

#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "batch/resource.h"
#include "cluster/shapes.h"
#include "model/pod.h"
#include "model/resources.h"

namespace coppice::batch {

class Job;
struct SubJob;
struct NodeInfo;

// Numbers as extenders are sent them.
enum class TaskStatus : uint16_t {
  kPending = 1,
  kAllocated = 2,  // placed in this session
  kPipelined = 4,  // placed on what is being released
  kBinding = 8,    // placed and committed
  kBound = 16,     // has a node, does not run yet
  kRunning = 32,
  kReleasing = 64,  // going away
  kSucceeded = 128,
  kFailed = 256,
  kUnknown = 512,
};
inline constexpr size_t kStatuses = 10;
inline constexpr size_t IndexOf(TaskStatus status) {
  return static_cast<size_t>(std::countr_zero(static_cast<uint16_t>(status)));
}
std::string_view ToString(TaskStatus status);

// Holds resources of its queue and job.
constexpr bool IsAllocated(TaskStatus s) {
  return s == TaskStatus::kBound || s == TaskStatus::kBinding || s == TaskStatus::kRunning ||
         s == TaskStatus::kAllocated;
}
constexpr bool IsPreemptable(TaskStatus s) {
  return s == TaskStatus::kBound || s == TaskStatus::kRunning;
}
constexpr bool IsCompleted(TaskStatus s) {
  return s == TaskStatus::kSucceeded || s == TaskStatus::kFailed;
}

// What a statement does to a task. Texts belong to the pod's object or to a node.
struct TransactionContext {
  std::string_view node_name;      // empty: none
  bool eviction_occurred = false;  // somebody had to go for it
  std::string_view job_allocated_hyper_node;
  TaskStatus status = TaskStatus::kPending;
};

struct Task : TransactionContext {
  uint32_t index = 0;  // dense within the session
  std::string_view uid;
  std::string_view name;
  std::string_view namespace_;
  std::string_view role;    // volcano.sh/task-spec
  std::string_view job_id;  // "namespace/group"; empty: belongs to none
  Job* job = nullptr;       // null: none, or one that the session does not have
  SubJob* sub_job = nullptr;

  // What it asks for, `pods` included. Upstream has two equal ones, Resreq and InitResreq.
  std::shared_ptr<const Resource> request;

  std::optional<TransactionContext> last_transaction;  // of a statement that was discarded

  int32_t priority = 1;
  bool preemptable = true;
  bool best_effort = false;  // asks for nothing
  bool has_restartable_init_container = false;
  bool gated = false;               // has scheduling gates
  bool only_our_gate = false;       // and none but the queue allocation gate
  std::string_view revocable_zone;  // "*" or empty

  std::shared_ptr<const model::Pod> pod;
  // The pod's spec.nodeName as it would be shown now: set by a placement, and upstream leaves it
  // when that is undone.
  std::string_view pod_node_name;
  cluster::PodIndex pod_index = cluster::kNone;  // in the snapshot

  // Kept by the node that it is on.
  NodeInfo* node = nullptr;
  uint32_t node_slot = 0;
  TaskStatus node_status = TaskStatus::kUnknown;
  std::optional<TransactionContext> node_last_transaction;

  // A node that still counts it although it is elsewhere by now: see Job::Adopt().
  NodeInfo* left_behind_on = nullptr;
  TaskStatus left_behind_status = TaskStatus::kUnknown;
  bool nomination_void = false;  // its pod's nominated node has turned out to be of no use

  bool has_pod_affinity = false;  // of any kind, also what it only prefers
  bool prefers_pods = false;      // likes or dislikes other pods without having to
  bool keeps_others_off = false;  // by required anti-affinity

  const Resource& req() const { return *request; }
  // Where somebody has made room for it; empty: nowhere.
  std::string_view nominated_node() const {
    return nomination_void ? std::string_view() : pod->status.nominated_node_name;
  }
  // What a container without a request counts as a little. Worked out once.
  const model::NonZeroRequests& Scoring() const {
    if (!scoring_) scoring_ = model::ScoringRequests(*pod);
    return *scoring_;
  }
  const model::NonZeroRequests& IncomingScoring() const {
    if (!pod->spec.resources) return Scoring();
    if (!incoming_scoring_) incoming_scoring_ = model::IncomingScoringRequests(*pod);
    return *incoming_scoring_;
  }

 private:
  mutable std::optional<model::NonZeroRequests> scoring_;
  mutable std::optional<model::NonZeroRequests> incoming_scoring_;
};

// Everything that can be read off the pod alone. `request` is shared by whoever asks for the same.
Task MakeTask(std::shared_ptr<const model::Pod> pod);
Resource PodRequest(const model::Pod& pod);
std::string JobIdOf(const model::Pod& pod);  // empty: none
TaskStatus StatusOf(const model::Pod& pod);

// Tasks without a better order: by the number that ends the name, by age, by uid.
bool BeforeByDefault(const Task& a, const Task& b);

// Annotation first, then label; null if neither is there.
const std::string* AnnotationOrLabel(const model::ObjectMeta& meta, std::string_view key);

inline constexpr std::string_view kGroupNameKey = "scheduling.k8s.io/group-name";
inline constexpr std::string_view kTaskSpecKey = "volcano.sh/task-spec";
inline constexpr std::string_view kTaskPriorityKey = "volcano.sh/task-priority";
inline constexpr std::string_view kPreemptableKey = "volcano.sh/preemptable";
inline constexpr std::string_view kRevocableZoneKey = "volcano.sh/revocable-zone";
inline constexpr std::string_view kQueueAllocationGate =
    "scheduling.volcano.sh/queue-allocation-gate";

}  // namespace coppice::batch
