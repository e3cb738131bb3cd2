#include "batch/controllers/volcano_job.h"

#include <algorithm>
#include <limits>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/go_duration.h"
#include "wire/time_text.h"

namespace coppice::batch {
namespace {

using Json = nlohmann::json;

// Limits that no real job comes near, and that keep a hostile one from filling the memory.
constexpr size_t kMostTasks = 1'000;
constexpr int32_t kMostReplicas = 100'000;
constexpr int kDeepest = 100;

const Json& MemberOf(const Json& object, const char* key) {
  static const Json kNone;
  if (!object.is_object()) return kNone;
  const auto found = object.find(key);
  return found == object.end() ? kNone : *found;
}

Status WrongType(const std::string& path, const char* wanted) {
  return InvalidArgument(path + ": not " + wanted);
}

Status Text(const Json& object, const char* key, const std::string& path, std::string& out) {
  const Json& value = MemberOf(object, key);
  if (value.is_null()) return Status::Ok();
  if (!value.is_string()) return WrongType(path + "." + key, "a string");
  out = value.get<std::string>();
  return Status::Ok();
}

template <class Out>
Status Number(const Json& object, const char* key, const std::string& path, Out& out) {
  const Json& value = MemberOf(object, key);
  if (value.is_null()) return Status::Ok();
  if (!value.is_number_integer()) return WrongType(path + "." + key, "a whole number");
  const auto number = value.get<int64_t>();
  if (number < std::numeric_limits<int32_t>::min() || number > std::numeric_limits<int32_t>::max())
    return InvalidArgument(path + "." + key + ": out of range");
  out = static_cast<int32_t>(number);
  return Status::Ok();
}

Status Texts(const Json& object, const char* key, const std::string& path,
             std::vector<std::string>& out) {
  const Json& value = MemberOf(object, key);
  if (value.is_null()) return Status::Ok();
  if (!value.is_array()) return WrongType(path + "." + key, "a list");
  for (const Json& item : value) {
    if (!item.is_string()) return WrongType(path + "." + key, "a list of strings");
    out.push_back(item.get<std::string>());
  }
  return Status::Ok();
}

Status Policies(const Json& object, const std::string& path, std::vector<JobPolicy>& out) {
  const Json& list = MemberOf(object, "policies");
  if (list.is_null()) return Status::Ok();
  if (!list.is_array()) return WrongType(path + ".policies", "a list");
  for (const Json& item : list) {
    JobPolicy policy;
    const std::string where = path + ".policies[" + std::to_string(out.size()) + "]";
    std::string event;
    TRY(Text(item, "event", where, event));
    if (!event.empty()) policy.events.push_back(std::move(event));
    TRY(Texts(item, "events", where, policy.events));
    TRY(Number(item, "exitCode", where, policy.exit_code));
    TRY(Text(item, "action", where, policy.action));
    std::string timeout;
    TRY(Text(item, "timeout", where, timeout));
    if (!timeout.empty()) {
      const auto parsed = ParseGoDuration(timeout);
      if (!parsed.ok()) return WrongType(where + ".timeout", "a duration");
      policy.timeout = *parsed;
    }
    out.push_back(std::move(policy));
  }
  return Status::Ok();
}

Result<JobTask> ReadTask(const Json& json, const std::string& path) {
  if (!json.is_object()) return WrongType(path, "an object");
  JobTask task;
  TRY(Text(json, "name", path, task.name));
  TRY(Number(json, "replicas", path, task.replicas));
  TRY(Number(json, "minAvailable", path, task.min_available));
  TRY(Number(json, "maxRetry", path, task.max_retry));
  if (task.replicas < 0 || task.replicas > kMostReplicas)
    return InvalidArgument(path + ".replicas: " + std::to_string(task.replicas) +
                           " is not between 0 and " + std::to_string(kMostReplicas));
  const Json& pod = MemberOf(json, "template");
  if (!pod.is_object()) return WrongType(path + ".template", "an object");
  task.pod_template = pod.dump(-1, ' ', false, Json::error_handler_t::replace);
  TRY(Text(MemberOf(pod, "spec"), "priorityClassName", path + ".template.spec",
           task.priority_class_name));
  if (const Json& policy = MemberOf(json, "partitionPolicy"); policy.is_object()) {
    JobPartitions& partitions = task.partitions.emplace();
    TRY(Number(policy, "partitionSize", path + ".partitionPolicy", partitions.size));
    TRY(Number(policy, "minPartitions", path + ".partitionPolicy", partitions.least));
    if (const Json& topology = MemberOf(policy, "networkTopology"); topology.is_object())
      partitions.network_topology = topology.dump(-1, ' ', false, Json::error_handler_t::replace);
  }
  TRY(Policies(json, path, task.policies));
  const Json& depends = MemberOf(json, "dependsOn");
  TRY(Texts(depends, "name", path + ".dependsOn", task.depends_on));
  std::string iteration;
  TRY(Text(depends, "iteration", path + ".dependsOn", iteration));
  task.any_dependency = iteration == "any";
  return task;
}

Status ReadStatus(const Json& json, VolcanoJobStatus& status) {
  const Json& state = MemberOf(json, "state");
  TRY(Text(state, "phase", "status.state", status.phase));
  std::string since;
  TRY(Text(state, "lastTransitionTime", "status.state", since));
  status.phase_since = wire::ParseRfc3339(since);
  TRY(Number(json, "version", "status", status.version));
  TRY(Number(json, "retryCount", "status", status.retry_count));
  TRY(Number(json, "minAvailable", "status", status.min_available));
  TRY(Number(json, "pending", "status", status.pending));
  TRY(Number(json, "running", "status", status.running));
  TRY(Number(json, "succeeded", "status", status.succeeded));
  TRY(Number(json, "failed", "status", status.failed));
  TRY(Number(json, "terminating", "status", status.terminating));
  return Number(json, "unknown", "status", status.unknown);
}

}  // namespace

int32_t VolcanoJob::replicas() const {
  int64_t sum = 0;
  for (const JobTask& task : tasks) sum += task.replicas;
  return static_cast<int32_t>(std::min<int64_t>(sum, std::numeric_limits<int32_t>::max()));
}

int32_t VolcanoJob::least() const {
  if (min_available && *min_available > 0) return *min_available;
  int64_t sum = 0;
  for (const JobTask& task : tasks) sum += task.least();
  return static_cast<int32_t>(std::min<int64_t>(sum, std::numeric_limits<int32_t>::max()));
}

bool IsOver(std::string_view phase) {
  return phase == "Completed" || phase == "Failed" || phase == "Terminated" || phase == "Aborted";
}

Result<VolcanoJob> ReadVolcanoJob(std::string_view text) {
  // What is deeper than any template is not kept: writing it out again would need a stack as deep.
  const auto shallow = [](int depth, Json::parse_event_t, Json&) { return depth <= kDeepest; };
  const Json json = Json::parse(text, shallow, false);
  if (!json.is_object()) return InvalidArgument("not a JSON object");
  VolcanoJob job;
  TRY(Text(MemberOf(json, "metadata"), "name", "metadata", job.metadata.name));
  TRY(Text(MemberOf(json, "metadata"), "namespace", "metadata", job.metadata.namespace_));
  TRY(Text(MemberOf(json, "metadata"), "uid", "metadata", job.metadata.uid));
  TRY(Text(MemberOf(json, "metadata"), "resourceVersion", "metadata",
           job.metadata.resource_version));
  const Json& spec = MemberOf(json, "spec");
  TRY(Text(spec, "schedulerName", "spec", job.scheduler_name));
  TRY(Number(spec, "minAvailable", "spec", job.min_available));
  TRY(Number(spec, "minSuccess", "spec", job.min_success));
  TRY(Text(spec, "queue", "spec", job.queue));
  TRY(Text(spec, "priorityClassName", "spec", job.priority_class_name));
  TRY(Number(spec, "maxRetry", "spec", job.max_retry));
  TRY(Number(spec, "ttlSecondsAfterFinished", "spec", job.ttl_seconds_after_finished));
  TRY(Policies(spec, "spec", job.policies));
  const Json& tasks = MemberOf(spec, "tasks");
  if (!tasks.is_null() && !tasks.is_array()) return WrongType("spec.tasks", "a list");
  if (tasks.size() > kMostTasks) return InvalidArgument("spec.tasks: more than 1000");
  for (const Json& task : tasks) {
    const size_t index = job.tasks.size();
    job.tasks.push_back(TRY(ReadTask(task, "spec.tasks[" + std::to_string(index) + "]")));
    if (job.tasks.back().name.empty()) job.tasks.back().name = "default" + std::to_string(index);
  }
  if (const Json& topology = MemberOf(spec, "networkTopology"); topology.is_object())
    job.network_topology = topology.dump(-1, ' ', false, Json::error_handler_t::replace);
  const auto note = [&](const Json& object, const char* key, const std::string& path) {
    const Json& value = MemberOf(object, key);
    if (!value.is_null() && !value.empty() && value != "" && value != "none")
      job.ignored.push_back(path + "." + key);
  };
  note(spec, "volumes", "spec");
  for (const Json& task : tasks)
    note(task, "topologyPolicy", "spec.tasks[" + std::to_string(&task - &tasks[0]) + "]");
  if (const Json& plugins = MemberOf(spec, "plugins"); plugins.is_object()) {
    for (const auto& [name, arguments] : plugins.items()) job.plugins.push_back(name);
  }
  TRY(ReadStatus(MemberOf(json, "status"), job.status));
  return job;
}

}  // namespace coppice::batch
