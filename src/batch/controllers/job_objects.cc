#include "batch/controllers/job_objects.h"

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>
#include <utility>

#include <nlohmann/json.hpp>

#include "batch/task.h"
#include "model/quantity.h"

namespace coppice::batch {
namespace {

using Json = nlohmann::json;

Json OwnerOf(const VolcanoJob& job) {
  return {{"apiVersion", kVolcanoJobApi}, {"kind", "Job"},      {"name", job.metadata.name},
          {"uid", job.metadata.uid},      {"controller", true}, {"blockOwnerDeletion", true}};
}

// An object under that key, made if there is none or something else.
Json& ObjectIn(Json& parent, const char* key) {
  Json& value = parent[key];
  if (!value.is_object()) value = Json::object();
  return value;
}

// What the containers of a template ask for. Of init containers the largest counts, as in pods.
void AddRequests(const JobTask& task, int32_t pods, std::map<std::string, model::Quantity>& sum) {
  const Json pod_template = Json::parse(task.pod_template, nullptr, false);
  const Json spec = pod_template.value("spec", Json::object());
  std::map<std::string, model::Quantity> own;
  const auto read = [&](const char* list, auto combine) {
    if (!spec.is_object() || !spec.contains(list) || !spec[list].is_array()) return;
    for (const Json& container : spec[list]) {
      if (!container.is_object()) continue;
      const Json resources = container.value("resources", Json());
      const Json requests = resources.is_object() ? resources.value("requests", Json()) : Json();
      if (!requests.is_object()) continue;
      for (const auto& [name, amount] : requests.items()) {
        const auto parsed = model::Quantity::Parse(
            amount.is_string() ? amount.template get<std::string>() : amount.dump());
        if (parsed.ok()) combine(own[name], *parsed);
      }
    }
  };
  read("containers", [](model::Quantity& all, const model::Quantity& one) { all.Add(one); });
  read("initContainers", [](model::Quantity& all, const model::Quantity& one) {
    if (one.Compare(all) > 0) all = one;
  });
  own["pods"] = model::Quantity::FromUnits(1);
  for (const auto& [name, amount] : own) {
    // Doubling would do, too; jobs of more than some thousand pods are few.
    model::Quantity& total = sum[name];
    for (int32_t i = 0; i < pods; ++i) total.Add(amount);
  }
}

// Of tasks, the more important first, as upstream counts: if the job needs fewer pods than its tasks
// demand together, the first so many of all replicas; else what each demands, and then others.
Json MinResources(const VolcanoJob& job, const PriorityOf& priority) {
  std::vector<size_t> order(job.tasks.size());
  std::iota(order.begin(), order.end(), size_t{0});
  const auto rank = [&](size_t i) {
    const std::string& name = job.tasks[i].priority_class_name;
    return name.empty() || !priority ? 0 : priority(name);
  };
  std::ranges::stable_sort(order, std::greater(), rank);
  int64_t demanded = 0;
  for (const JobTask& task : job.tasks) demanded += task.least();
  int32_t left = job.least();
  std::vector<int32_t> pods(job.tasks.size());
  const auto take = [&](size_t i, int32_t most) {
    const int32_t more = std::clamp(most, 0, left);
    pods[i] += more;
    left -= more;
  };
  if (left >= demanded) {
    for (const size_t i : order) take(i, job.tasks[i].least());
  }
  for (const size_t i : order) take(i, job.tasks[i].replicas - pods[i]);
  std::map<std::string, model::Quantity> sum;
  for (size_t i = 0; i < pods.size(); ++i) AddRequests(job.tasks[i], pods[i], sum);
  Json resources = Json::object();
  for (const auto& [name, amount] : sum) resources[name] = amount.ToString();
  return resources;
}

// Of each task that comes in parts one, which the pods' labels tell apart.
Json SubGroupPolicies(const VolcanoJob& job) {
  Json policies = Json::array();
  for (const JobTask& task : job.tasks) {
    if (!task.partitions) continue;
    Json policy = {{"name", task.name},
                   {"subGroupSize", task.partitions->size},
                   {"minSubGroups", task.partitions->least},
                   {"labelSelector", {{"matchLabels", {{std::string(kTaskSpecKey), task.name}}}}},
                   {"matchLabelKeys", Json::array({std::string(kPartitionKey)})}};
    if (!task.partitions->network_topology.empty())
      policy["networkTopology"] = Json::parse(task.partitions->network_topology, nullptr, false);
    policies.push_back(std::move(policy));
  }
  return policies;
}

}  // namespace

std::string GroupNameOf(const VolcanoJob& job) {
  return job.metadata.name + "-" + job.metadata.uid;
}

std::string PodNameOf(const VolcanoJob& job, const JobTask& task, int32_t index) {
  return job.metadata.name + "-" + task.name + "-" + std::to_string(index);
}

std::string GroupOfJob(const VolcanoJob& job, const PriorityOf& priority) {
  Json roles = Json::object();
  for (const JobTask& task : job.tasks) roles[task.name] = task.least();
  Json annotations = Json::object();
  for (const auto& [key, value] : job.metadata.annotations) {
    if (key != "kubectl.kubernetes.io/last-applied-configuration") annotations[key] = value;
  }
  Json spec = {{"minMember", job.least()},
               {"minTaskMember", std::move(roles)},
               {"queue", job.queue},
               {"minResources", MinResources(job, priority)}};
  if (!job.priority_class_name.empty()) spec["priorityClassName"] = job.priority_class_name;
  if (!job.network_topology.empty())
    spec["networkTopology"] = Json::parse(job.network_topology, nullptr, false);
  if (Json parts = SubGroupPolicies(job); !parts.empty()) spec["subGroupPolicy"] = std::move(parts);
  Json labels = Json::object();
  for (const auto& [key, value] : job.metadata.labels) labels[key] = value;
  return Json({{"apiVersion", "scheduling.volcano.sh/v1beta1"},
               {"kind", "PodGroup"},
               {"metadata",
                {{"name", GroupNameOf(job)},
                 {"namespace", job.metadata.namespace_},
                 {"labels", std::move(labels)},
                 {"annotations", std::move(annotations)},
                 {"ownerReferences", Json::array({OwnerOf(job)})}}},
               {"spec", std::move(spec)}})
      .dump(-1, ' ', false, Json::error_handler_t::replace);
}

bool HasJobPlugin(const VolcanoJob& job, std::string_view name) {
  return std::ranges::find(job.plugins, name) != job.plugins.end();
}

std::string ServiceOfJob(const VolcanoJob& job) {
  return Json({{"apiVersion", "v1"},
               {"kind", "Service"},
               {"metadata",
                {{"name", job.metadata.name},
                 {"namespace", job.metadata.namespace_},
                 {"ownerReferences", Json::array({OwnerOf(job)})}}},
               {"spec",
                {{"clusterIP", "None"},
                 {"publishNotReadyAddresses", true},
                 {"selector", {{std::string(kJobNameKey), job.metadata.name}}}}}})
      .dump(-1, ' ', false, Json::error_handler_t::replace);
}

Result<std::string> PodOfJob(const VolcanoJob& job, const JobTask& task, int32_t index) {
  Json pod = Json::parse(task.pod_template, nullptr, false);
  if (!pod.is_object()) return InvalidArgument("task " + task.name + ": the template is no object");
  pod["apiVersion"] = "v1";
  pod["kind"] = "Pod";
  Json& metadata = ObjectIn(pod, "metadata");
  metadata["name"] = PodNameOf(job, task, index);
  metadata["namespace"] = job.metadata.namespace_;
  metadata["ownerReferences"] = Json::array({OwnerOf(job)});
  const std::string number = std::to_string(index);
  const std::string version = std::to_string(job.status.version);
  Json& labels = ObjectIn(metadata, "labels");
  labels[std::string(kJobNameKey)] = job.metadata.name;
  labels["volcano.sh/job-namespace"] = job.metadata.namespace_;
  labels["volcano.sh/queue-name"] = job.queue;
  labels[std::string(kTaskSpecKey)] = task.name;
  labels[std::string(kTaskIndexKey)] = number;
  if (task.partitions) {
    const int32_t part = task.partitions->size > 0 ? index / task.partitions->size : 0;
    labels[std::string(kPartitionKey)] = std::to_string(part);
  }
  Json& annotations = ObjectIn(metadata, "annotations");
  annotations[std::string(kGroupNameKey)] = GroupNameOf(job);
  annotations[std::string(kJobNameKey)] = job.metadata.name;
  annotations[std::string(kJobVersionKey)] = version;
  annotations["volcano.sh/queue-name"] = job.queue;
  annotations[std::string(kTaskSpecKey)] = task.name;
  annotations[std::string(kTaskIndexKey)] = number;
  annotations["volcano.sh/template-uid"] = job.metadata.name + "-" + task.name;
  annotations["volcano.sh/job-retry-count"] = std::to_string(job.status.retry_count);
  for (const std::string_view key : {kPreemptableKey, kRevocableZoneKey}) {
    const std::string* text = job.metadata.annotations.Find(key);
    if (text != nullptr && !annotations.contains(std::string(key)))
      annotations[std::string(key)] = *text;
  }
  Json& spec = ObjectIn(pod, "spec");
  if (!spec.contains("schedulerName")) spec["schedulerName"] = job.scheduler_name;
  if (!spec.contains("priorityClassName") && !job.priority_class_name.empty())
    spec["priorityClassName"] = job.priority_class_name;
  // Upstream's `env`: which of its task a pod is.
  if (HasJobPlugin(job, "env")) {
    for (const char* list : {"containers", "initContainers"}) {
      if (!spec.contains(list) || !spec[list].is_array()) continue;
      for (Json& container : spec[list]) {
        if (!container.is_object()) continue;
        Json& env = container["env"];
        if (!env.is_array()) env = Json::array();
        for (const char* name : {"VK_TASK_INDEX", "VC_TASK_INDEX"})
          env.push_back({{"name", name}, {"value", number}});
      }
    }
  }
  // Upstream's `svc`: pods know each other by name, under the job's.
  if (HasJobPlugin(job, "svc")) {
    if (!spec.contains("hostname")) spec["hostname"] = PodNameOf(job, task, index);
    if (!spec.contains("subdomain")) spec["subdomain"] = job.metadata.name;
  }
  return pod.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace coppice::batch
