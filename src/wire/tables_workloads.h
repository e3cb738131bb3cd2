// Tables of the controllers of apps/v1, batch/v1 and core/v1. See fields.h.
#pragma once

#include "wire/tables_storage.h"

namespace coppice::wire {

template <>
struct Fields<model::PodTemplateSpec> {
  using T = model::PodTemplateSpec;
  static constexpr auto kTable = std::tuple{
      Field<1>("metadata", &T::metadata),
      Field<2>("spec", &T::spec),
  };
};

template <>
struct Fields<model::WorkloadCondition> {
  using T = model::WorkloadCondition;
  static constexpr auto kTable = std::tuple{
      Field<1>("type", &T::type, Empty::kWritten),
      Field<2>("status", &T::status, Empty::kWritten),
      Field<3>("lastTransitionTime", &T::last_transition_time),
      Field<4>("reason", &T::reason),
      Field<5>("message", &T::message),
  };
};

template <>
struct Fields<model::DeploymentCondition> {
  using T = model::DeploymentCondition;
  static constexpr auto kTable = std::tuple{
      Field<1>("type", &T::type, Empty::kWritten),
      Field<2>("status", &T::status, Empty::kWritten),
      Field<4>("reason", &T::reason),
      Field<5>("message", &T::message),
      Field<6>("lastUpdateTime", &T::last_update_time),
      Field<7>("lastTransitionTime", &T::last_transition_time),
  };
};

template <>
struct Fields<model::JobCondition> {
  using T = model::JobCondition;
  static constexpr auto kTable = std::tuple{
      Field<1>("type", &T::type, Empty::kWritten),
      Field<2>("status", &T::status, Empty::kWritten),
      Field<3>("lastProbeTime", &T::last_probe_time),
      Field<4>("lastTransitionTime", &T::last_transition_time),
      Field<5>("reason", &T::reason),
      Field<6>("message", &T::message),
  };
};

template <>
struct Fields<model::RollingUpdate> {
  using T = model::RollingUpdate;
  static constexpr auto kTable = std::tuple{
      Field<1>("maxUnavailable", &T::max_unavailable),
      Field<2>("maxSurge", &T::max_surge),
  };
};

template <>
struct Fields<model::RollingUpdateStatefulSet> {
  using T = model::RollingUpdateStatefulSet;
  static constexpr auto kTable = std::tuple{
      Field<1>("partition", &T::partition),
      Field<2>("maxUnavailable", &T::max_unavailable),
  };
};

template <>
struct Fields<model::UpdateStrategy> {
  using T = model::UpdateStrategy;
  static constexpr auto kTable = std::tuple{
      Field<1>("type", &T::type),
      Field<2>("rollingUpdate", &T::rolling_update),
  };
};

template <>
struct Fields<model::DaemonSetSpec> {
  using T = model::DaemonSetSpec;
  static constexpr auto kTable = std::tuple{
      Field<1>("selector", &T::selector),
      Field<2>("template", &T::template_),
      Field<3>("updateStrategy", &T::update_strategy),
      Field<4>("minReadySeconds", &T::min_ready_seconds),
      Field<6>("revisionHistoryLimit", &T::revision_history_limit),
  };
};

template <>
struct Fields<model::DaemonSetStatus> {
  using T = model::DaemonSetStatus;
  static constexpr auto kTable = std::tuple{
      Field<1>("currentNumberScheduled", &T::current_number_scheduled, Empty::kWritten),
      Field<2>("numberMisscheduled", &T::number_misscheduled, Empty::kWritten),
      Field<3>("desiredNumberScheduled", &T::desired_number_scheduled, Empty::kWritten),
      Field<4>("numberReady", &T::number_ready, Empty::kWritten),
      Field<5>("observedGeneration", &T::observed_generation),
      Field<6>("updatedNumberScheduled", &T::updated_number_scheduled),
      Field<7>("numberAvailable", &T::number_available),
      Field<8>("numberUnavailable", &T::number_unavailable),
      Field<9>("collisionCount", &T::collision_count),
      Field<10>("conditions", &T::conditions),
  };
};

template <>
struct Fields<model::DaemonSet> {
  using T = model::DaemonSet;
  static constexpr auto kTable = std::tuple{
      Field<1>("metadata", &T::metadata),
      Field<2>("spec", &T::spec),
      Field<3>("status", &T::status),
  };
};

template <>
struct Fields<model::ReplicaSetSpec> {
  using T = model::ReplicaSetSpec;
  static constexpr auto kTable = std::tuple{
      Field<1>("replicas", &T::replicas),
      Field<2>("selector", &T::selector),
      Field<3>("template", &T::template_),
      Field<4>("minReadySeconds", &T::min_ready_seconds),
  };
};

template <>
struct Fields<model::ReplicaSetStatus> {
  using T = model::ReplicaSetStatus;
  static constexpr auto kTable = std::tuple{
      Field<1>("replicas", &T::replicas, Empty::kWritten),
      Field<2>("fullyLabeledReplicas", &T::fully_labeled_replicas),
      Field<3>("observedGeneration", &T::observed_generation),
      Field<4>("readyReplicas", &T::ready_replicas),
      Field<5>("availableReplicas", &T::available_replicas),
      Field<6>("conditions", &T::conditions),
      Field<7>("terminatingReplicas", &T::terminating_replicas),
  };
};

template <>
struct Fields<model::ReplicaSet> {
  using T = model::ReplicaSet;
  static constexpr auto kTable = std::tuple{
      Field<1>("metadata", &T::metadata),
      Field<2>("spec", &T::spec),
      Field<3>("status", &T::status),
  };
};

template <>
struct Fields<model::ReplicationControllerSpec> {
  using T = model::ReplicationControllerSpec;
  static constexpr auto kTable = std::tuple{
      Field<1>("replicas", &T::replicas),
      Field<2>("selector", &T::selector),
      Field<3>("template", &T::template_),
      Field<4>("minReadySeconds", &T::min_ready_seconds),
  };
};

template <>
struct Fields<model::ReplicationController> {
  using T = model::ReplicationController;
  static constexpr auto kTable = std::tuple{
      Field<1>("metadata", &T::metadata),
      Field<2>("spec", &T::spec),
      Field<3>("status", &T::status),
  };
};

template <>
struct Fields<model::DeploymentSpec> {
  using T = model::DeploymentSpec;
  static constexpr auto kTable = std::tuple{
      Field<1>("replicas", &T::replicas),
      Field<2>("selector", &T::selector),
      Field<3>("template", &T::template_),
      Field<4>("strategy", &T::strategy),
      Field<5>("minReadySeconds", &T::min_ready_seconds),
      Field<6>("revisionHistoryLimit", &T::revision_history_limit),
      Field<7>("paused", &T::paused),
      Field<9>("progressDeadlineSeconds", &T::progress_deadline_seconds),
  };
};

template <>
struct Fields<model::DeploymentStatus> {
  using T = model::DeploymentStatus;
  static constexpr auto kTable = std::tuple{
      Field<1>("observedGeneration", &T::observed_generation),
      Field<2>("replicas", &T::replicas),
      Field<3>("updatedReplicas", &T::updated_replicas),
      Field<4>("availableReplicas", &T::available_replicas),
      Field<5>("unavailableReplicas", &T::unavailable_replicas),
      Field<6>("conditions", &T::conditions),
      Field<7>("readyReplicas", &T::ready_replicas),
      Field<8>("collisionCount", &T::collision_count),
      Field<9>("terminatingReplicas", &T::terminating_replicas),
  };
};

template <>
struct Fields<model::Deployment> {
  using T = model::Deployment;
  static constexpr auto kTable = std::tuple{
      Field<1>("metadata", &T::metadata),
      Field<2>("spec", &T::spec),
      Field<3>("status", &T::status),
  };
};

template <>
struct Fields<model::StatefulSetUpdateStrategy> {
  using T = model::StatefulSetUpdateStrategy;
  static constexpr auto kTable = std::tuple{
      Field<1>("type", &T::type),
      Field<2>("rollingUpdate", &T::rolling_update),
  };
};

template <>
struct Fields<model::ClaimRetentionPolicy> {
  using T = model::ClaimRetentionPolicy;
  static constexpr auto kTable = std::tuple{
      Field<1>("whenDeleted", &T::when_deleted),
      Field<2>("whenScaled", &T::when_scaled),
  };
};

template <>
struct Fields<model::StatefulSetSpec> {
  using T = model::StatefulSetSpec;
  static constexpr auto kTable = std::tuple{
      Field<1>("replicas", &T::replicas),
      Field<2>("selector", &T::selector),
      Field<3>("template", &T::template_),
      Field<4>("volumeClaimTemplates", &T::volume_claim_templates),
      Field<5>("serviceName", &T::service_name, Empty::kWritten),
      Field<6>("podManagementPolicy", &T::pod_management_policy),
      Field<7>("updateStrategy", &T::update_strategy),
      Field<8>("revisionHistoryLimit", &T::revision_history_limit),
      Field<9>("minReadySeconds", &T::min_ready_seconds),
      Field<10>("persistentVolumeClaimRetentionPolicy",
                &T::persistent_volume_claim_retention_policy),
      LedGroup<11>("ordinals", Field<1>("start", &T::ordinals_start, Empty::kWritten)),
  };
};

template <>
struct Fields<model::StatefulSetStatus> {
  using T = model::StatefulSetStatus;
  static constexpr auto kTable = std::tuple{
      Field<1>("observedGeneration", &T::observed_generation),
      Field<2>("replicas", &T::replicas, Empty::kWritten),
      Field<3>("readyReplicas", &T::ready_replicas),
      Field<4>("currentReplicas", &T::current_replicas),
      Field<5>("updatedReplicas", &T::updated_replicas),
      Field<6>("currentRevision", &T::current_revision),
      Field<7>("updateRevision", &T::update_revision),
      Field<9>("collisionCount", &T::collision_count),
      Field<10>("conditions", &T::conditions),
      Field<11>("availableReplicas", &T::available_replicas, Empty::kWritten),
  };
};

template <>
struct Fields<model::StatefulSet> {
  using T = model::StatefulSet;
  static constexpr auto kTable = std::tuple{
      Field<1>("metadata", &T::metadata),
      Field<2>("spec", &T::spec),
      Field<3>("status", &T::status),
  };
};

template <>
struct Fields<model::JobSpec> {
  using T = model::JobSpec;
  static constexpr auto kTable = std::tuple{
      Field<1>("parallelism", &T::parallelism),
      Field<2>("completions", &T::completions),
      Field<3>("activeDeadlineSeconds", &T::active_deadline_seconds),
      Field<4>("selector", &T::selector),
      Field<5>("manualSelector", &T::manual_selector),
      Field<6>("template", &T::template_),
      Field<7>("backoffLimit", &T::backoff_limit),
      Field<8>("ttlSecondsAfterFinished", &T::ttl_seconds_after_finished),
      Field<9>("completionMode", &T::completion_mode),
      Field<10>("suspend", &T::suspend),
      Field<12>("backoffLimitPerIndex", &T::backoff_limit_per_index),
      Field<13>("maxFailedIndexes", &T::max_failed_indexes),
      Field<14>("podReplacementPolicy", &T::pod_replacement_policy),
      Field<15>("managedBy", &T::managed_by),
  };
};

template <>
struct Fields<model::JobStatus> {
  using T = model::JobStatus;
  static constexpr auto kTable = std::tuple{
      Field<1>("conditions", &T::conditions),
      Field<2>("startTime", &T::start_time),
      Field<3>("completionTime", &T::completion_time),
      Field<4>("active", &T::active),
      Field<5>("succeeded", &T::succeeded),
      Field<6>("failed", &T::failed),
      Field<7>("completedIndexes", &T::completed_indexes),
      Field<9>("ready", &T::ready),
      Field<10>("failedIndexes", &T::failed_indexes),
      Field<11>("terminating", &T::terminating),
  };
};

template <>
struct Fields<model::Job> {
  using T = model::Job;
  static constexpr auto kTable = std::tuple{
      Field<1>("metadata", &T::metadata),
      Field<2>("spec", &T::spec),
      Field<3>("status", &T::status),
  };
};

template <>
struct Fields<model::JobTemplateSpec> {
  using T = model::JobTemplateSpec;
  static constexpr auto kTable = std::tuple{
      Field<1>("metadata", &T::metadata),
      Field<2>("spec", &T::spec),
  };
};

template <>
struct Fields<model::CronJobSpec> {
  using T = model::CronJobSpec;
  static constexpr auto kTable = std::tuple{
      Field<1>("schedule", &T::schedule, Empty::kWritten),
      Field<2>("startingDeadlineSeconds", &T::starting_deadline_seconds),
      Field<3>("concurrencyPolicy", &T::concurrency_policy),
      Field<4>("suspend", &T::suspend),
      Field<5>("jobTemplate", &T::job_template),
      Field<6>("successfulJobsHistoryLimit", &T::successful_jobs_history_limit),
      Field<7>("failedJobsHistoryLimit", &T::failed_jobs_history_limit),
      Field<8>("timeZone", &T::time_zone),
  };
};

template <>
struct Fields<model::CronJobStatus> {
  using T = model::CronJobStatus;
  static constexpr auto kTable = std::tuple{
      Field<1>("active", &T::active),
      Field<4>("lastScheduleTime", &T::last_schedule_time),
      Field<5>("lastSuccessfulTime", &T::last_successful_time),
  };
};

template <>
struct Fields<model::CronJob> {
  using T = model::CronJob;
  static constexpr auto kTable = std::tuple{
      Field<1>("metadata", &T::metadata),
      Field<2>("spec", &T::spec),
      Field<3>("status", &T::status),
  };
};

}  // namespace coppice::wire
