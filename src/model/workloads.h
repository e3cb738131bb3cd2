// Who makes pods: the controllers of apps/v1, batch/v1 and core/v1. Engines ask them for the pod
// that a new node will get (DaemonSet), whether a pod comes back after an eviction, and how many
// replicas there are. Conventions: meta.h.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "model/meta.h"
#include "model/pod.h"
#include "model/storage.h"

namespace coppice::model {

struct PodTemplateSpec {
  ObjectMeta metadata;
  PodSpec spec;
  friend bool operator==(const PodTemplateSpec&, const PodTemplateSpec&) = default;
};

// The condition of every controller below. Deployments fill last_update_time, Jobs last_probe_time.
struct WorkloadCondition {
  std::string type;
  std::string status;
  std::optional<Time> last_update_time;
  std::optional<Time> last_probe_time;
  std::optional<Time> last_transition_time;
  std::string reason;
  std::string message;
  friend bool operator==(const WorkloadCondition&, const WorkloadCondition&) = default;
};
struct DeploymentCondition : WorkloadCondition {
  friend bool operator==(const DeploymentCondition&, const DeploymentCondition&) = default;
};
struct JobCondition : WorkloadCondition {
  friend bool operator==(const JobCondition&, const JobCondition&) = default;
};

struct RollingUpdate {
  std::optional<IntOrString> max_unavailable;
  std::optional<IntOrString> max_surge;  // not of StatefulSets
  std::optional<int32_t> partition;      // of StatefulSets only
  friend bool operator==(const RollingUpdate&, const RollingUpdate&) = default;
};
struct RollingUpdateStatefulSet : RollingUpdate {
  friend bool operator==(const RollingUpdateStatefulSet&,
                         const RollingUpdateStatefulSet&) = default;
};

struct UpdateStrategy {  // of Deployments and DaemonSets
  std::string type;
  std::optional<RollingUpdate> rolling_update;
  friend bool operator==(const UpdateStrategy&, const UpdateStrategy&) = default;
};

struct DaemonSetSpec {
  std::optional<LabelSelector> selector;
  PodTemplateSpec template_;
  UpdateStrategy update_strategy;
  int32_t min_ready_seconds = 0;
  std::optional<int32_t> revision_history_limit;
  friend bool operator==(const DaemonSetSpec&, const DaemonSetSpec&) = default;
};

struct DaemonSetStatus {
  int32_t current_number_scheduled = 0;
  int32_t number_misscheduled = 0;
  int32_t desired_number_scheduled = 0;
  int32_t number_ready = 0;
  int64_t observed_generation = 0;
  int32_t updated_number_scheduled = 0;
  int32_t number_available = 0;
  int32_t number_unavailable = 0;
  std::optional<int32_t> collision_count;
  std::vector<WorkloadCondition> conditions;
  friend bool operator==(const DaemonSetStatus&, const DaemonSetStatus&) = default;
};

struct DaemonSet {
  ObjectMeta metadata;
  DaemonSetSpec spec;
  DaemonSetStatus status;
  friend bool operator==(const DaemonSet&, const DaemonSet&) = default;
};

struct ReplicaSetSpec {
  std::optional<int32_t> replicas;
  int32_t min_ready_seconds = 0;
  std::optional<LabelSelector> selector;
  PodTemplateSpec template_;
  friend bool operator==(const ReplicaSetSpec&, const ReplicaSetSpec&) = default;
};

struct ReplicaSetStatus {  // and ReplicationController's, which has no terminating_replicas
  int32_t replicas = 0;
  int32_t fully_labeled_replicas = 0;
  int32_t ready_replicas = 0;
  int32_t available_replicas = 0;
  std::optional<int32_t> terminating_replicas;
  int64_t observed_generation = 0;
  std::vector<WorkloadCondition> conditions;
  friend bool operator==(const ReplicaSetStatus&, const ReplicaSetStatus&) = default;
};

struct ReplicaSet {
  ObjectMeta metadata;
  ReplicaSetSpec spec;
  ReplicaSetStatus status;
  friend bool operator==(const ReplicaSet&, const ReplicaSet&) = default;
};

struct ReplicationControllerSpec {
  std::optional<int32_t> replicas;
  int32_t min_ready_seconds = 0;
  Labels selector;
  std::optional<PodTemplateSpec> template_;
  friend bool operator==(const ReplicationControllerSpec&,
                         const ReplicationControllerSpec&) = default;
};

struct ReplicationController {
  ObjectMeta metadata;
  ReplicationControllerSpec spec;
  ReplicaSetStatus status;
  friend bool operator==(const ReplicationController&, const ReplicationController&) = default;
};

struct DeploymentSpec {
  std::optional<int32_t> replicas;
  std::optional<LabelSelector> selector;
  PodTemplateSpec template_;
  UpdateStrategy strategy;
  int32_t min_ready_seconds = 0;
  std::optional<int32_t> revision_history_limit;
  bool paused = false;
  std::optional<int32_t> progress_deadline_seconds;
  friend bool operator==(const DeploymentSpec&, const DeploymentSpec&) = default;
};

struct DeploymentStatus {
  int64_t observed_generation = 0;
  int32_t replicas = 0;
  int32_t updated_replicas = 0;
  int32_t ready_replicas = 0;
  int32_t available_replicas = 0;
  int32_t unavailable_replicas = 0;
  std::optional<int32_t> terminating_replicas;
  std::vector<DeploymentCondition> conditions;
  std::optional<int32_t> collision_count;
  friend bool operator==(const DeploymentStatus&, const DeploymentStatus&) = default;
};

struct Deployment {
  ObjectMeta metadata;
  DeploymentSpec spec;
  DeploymentStatus status;
  friend bool operator==(const Deployment&, const Deployment&) = default;
};

struct StatefulSetUpdateStrategy {
  std::string type;
  std::optional<RollingUpdateStatefulSet> rolling_update;
  friend bool operator==(const StatefulSetUpdateStrategy&,
                         const StatefulSetUpdateStrategy&) = default;
};

struct ClaimRetentionPolicy {
  std::string when_deleted;
  std::string when_scaled;
  friend bool operator==(const ClaimRetentionPolicy&, const ClaimRetentionPolicy&) = default;
};

struct StatefulSetSpec {
  std::optional<int32_t> replicas;
  std::optional<LabelSelector> selector;
  PodTemplateSpec template_;
  std::vector<PersistentVolumeClaim> volume_claim_templates;
  std::string service_name;
  std::string pod_management_policy;
  StatefulSetUpdateStrategy update_strategy;
  std::optional<int32_t> revision_history_limit;
  int32_t min_ready_seconds = 0;
  std::optional<ClaimRetentionPolicy> persistent_volume_claim_retention_policy;
  std::optional<int32_t> ordinals_start;  // ordinals.start
  friend bool operator==(const StatefulSetSpec&, const StatefulSetSpec&) = default;
};

struct StatefulSetStatus {
  int64_t observed_generation = 0;
  int32_t replicas = 0;
  int32_t ready_replicas = 0;
  int32_t current_replicas = 0;
  int32_t updated_replicas = 0;
  std::string current_revision;
  std::string update_revision;
  std::optional<int32_t> collision_count;
  std::vector<WorkloadCondition> conditions;
  int32_t available_replicas = 0;
  friend bool operator==(const StatefulSetStatus&, const StatefulSetStatus&) = default;
};

struct StatefulSet {
  ObjectMeta metadata;
  StatefulSetSpec spec;
  StatefulSetStatus status;
  friend bool operator==(const StatefulSet&, const StatefulSet&) = default;
};

struct JobSpec {
  std::optional<int32_t> parallelism;
  std::optional<int32_t> completions;
  std::optional<int64_t> active_deadline_seconds;
  std::optional<int32_t> backoff_limit;
  std::optional<int32_t> backoff_limit_per_index;
  std::optional<int32_t> max_failed_indexes;
  std::optional<LabelSelector> selector;
  std::optional<bool> manual_selector;
  PodTemplateSpec template_;
  std::optional<int32_t> ttl_seconds_after_finished;
  std::optional<std::string> completion_mode;
  std::optional<bool> suspend;
  std::optional<std::string> pod_replacement_policy;
  std::optional<std::string> managed_by;
  friend bool operator==(const JobSpec&, const JobSpec&) = default;
};

struct JobStatus {
  std::vector<JobCondition> conditions;
  std::optional<Time> start_time;
  std::optional<Time> completion_time;
  int32_t active = 0;
  int32_t succeeded = 0;
  int32_t failed = 0;
  std::optional<int32_t> terminating;
  std::string completed_indexes;
  std::optional<std::string> failed_indexes;
  std::optional<int32_t> ready;
  friend bool operator==(const JobStatus&, const JobStatus&) = default;
};

struct Job {
  ObjectMeta metadata;
  JobSpec spec;
  JobStatus status;
  friend bool operator==(const Job&, const Job&) = default;
};

struct JobTemplateSpec {
  ObjectMeta metadata;
  JobSpec spec;
  friend bool operator==(const JobTemplateSpec&, const JobTemplateSpec&) = default;
};

struct CronJobSpec {
  std::string schedule;
  std::optional<std::string> time_zone;
  std::optional<int64_t> starting_deadline_seconds;
  std::string concurrency_policy;
  std::optional<bool> suspend;
  JobTemplateSpec job_template;
  std::optional<int32_t> successful_jobs_history_limit;
  std::optional<int32_t> failed_jobs_history_limit;
  friend bool operator==(const CronJobSpec&, const CronJobSpec&) = default;
};

struct CronJobStatus {
  std::vector<ObjectReference> active;
  std::optional<Time> last_schedule_time;
  std::optional<Time> last_successful_time;
  friend bool operator==(const CronJobStatus&, const CronJobStatus&) = default;
};

struct CronJob {
  ObjectMeta metadata;
  CronJobSpec spec;
  CronJobStatus status;
  friend bool operator==(const CronJob&, const CronJob&) = default;
};

}  // namespace coppice::model
