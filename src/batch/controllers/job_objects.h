// What a Volcano Job is made into: pods by its templates, and the group that they start as.
//
// Pure.

#pragma once

#include <functional>
#include <string>

#include "base/status.h"
#include "batch/controllers/volcano_job.h"

namespace coppice::batch {

inline constexpr std::string_view kJobNameKey = "volcano.sh/job-name";
inline constexpr std::string_view kJobVersionKey = "volcano.sh/job-version";
inline constexpr std::string_view kTaskIndexKey = "volcano.sh/task-index";
inline constexpr std::string_view kPartitionKey = "volcano.sh/partition-id";

std::string GroupNameOf(const VolcanoJob& job);
std::string PodNameOf(const VolcanoJob& job, const JobTask& task, int32_t index);

// Of a PriorityClass, by its name; 0 if there is none.
using PriorityOf = std::function<int32_t(const std::string& name)>;
// JSON of a PodGroup. `priority` null: all tasks are of the same.
std::string GroupOfJob(const VolcanoJob& job, const PriorityOf& priority = nullptr);
// JSON of the Service under which its pods know each other (upstream's plug-in svc).
std::string ServiceOfJob(const VolcanoJob& job);
bool HasJobPlugin(const VolcanoJob& job, std::string_view name);
// JSON of a Pod. A failure: the template is none.
Result<std::string> PodOfJob(const VolcanoJob& job, const JobTask& task, int32_t index);

}  // namespace coppice::batch
