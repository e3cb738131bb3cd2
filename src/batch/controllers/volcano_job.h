// VolcanoJob: a batch.volcano.sh/v1alpha1 Job as the controller reads it. Pod templates stay the
// text that they are: what we do not know of a pod is not ours to lose.
//
// Fields that have no effect here are listed by name where a job sets them. A task's maxRetry has
// none upstream either.

#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/status.h"
#include "model/meta.h"

namespace coppice::batch {

struct JobPolicy {
  std::vector<std::string> events;  // PodFailed, PodEvicted, TaskCompleted, ...; "*": any
  std::optional<int32_t> exit_code;
  std::string action;               // RestartJob, AbortJob, ...
  std::optional<Duration> timeout;  // then only: unless what has happened is over
};

// A task's pods in parts that each lie close together: so many in a row are one.
struct JobPartitions {
  int32_t size = 0;
  int32_t least = 0;             // parts that have to start
  std::string network_topology;  // JSON, as it came; empty: none
};

struct JobTask {
  std::string name;
  int32_t replicas = 1;
  std::optional<int32_t> min_available;
  std::string pod_template;         // JSON of a PodTemplateSpec
  std::string priority_class_name;  // in it
  std::vector<JobPolicy> policies;
  int32_t max_retry = 3;
  std::vector<std::string> depends_on;  // tasks that have to run first
  bool any_dependency = false;          // one of them is enough

  std::optional<JobPartitions> partitions;

  int32_t least() const {
    if (min_available || !partitions || partitions->least <= 0 || partitions->size <= 0)
      return min_available.value_or(replicas);
    return static_cast<int32_t>(
        std::min<int64_t>(int64_t{partitions->least} * partitions->size, replicas));
  }
};

struct VolcanoJobStatus {
  std::string phase;  // "": it is new
  std::optional<TimePoint> phase_since;
  int32_t version = 0;  // of its pods: another one after every restart
  int32_t retry_count = 0;
  int32_t min_available = 0;
  int32_t pending = 0, running = 0, succeeded = 0, failed = 0, terminating = 0, unknown = 0;
  friend bool operator==(const VolcanoJobStatus&, const VolcanoJobStatus&) = default;
};

struct VolcanoJob {
  model::ObjectMeta metadata;
  std::string scheduler_name = "volcano";
  std::optional<int32_t> min_available;
  std::optional<int32_t> min_success;
  std::string queue = "default";
  std::string priority_class_name;
  int32_t max_retry = 3;
  std::optional<int32_t> ttl_seconds_after_finished;
  std::vector<JobTask> tasks;
  std::vector<JobPolicy> policies;
  std::vector<std::string> plugins;  // names
  std::string network_topology;      // JSON, as it came; the group has it
  std::vector<std::string> ignored;  // fields that it sets and that have no effect here
  VolcanoJobStatus status;

  int32_t replicas() const;
  int32_t least() const;  // minAvailable, or what its tasks need at least
};

// One object as the API server writes it; its metadata are for the caller to fill in, but for the
// names. The failure names the field.
Result<VolcanoJob> ReadVolcanoJob(std::string_view json);

bool IsOver(std::string_view phase);  // Completed, Failed, Terminated, Aborted

inline constexpr std::string_view kVolcanoJobApi = "batch.volcano.sh/v1alpha1";
inline constexpr std::string_view kVolcanoJobResource = "jobs";

}  // namespace coppice::batch
