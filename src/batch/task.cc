#include "batch/task.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <utility>

#include "batch/arguments.h"
#include "model/resources.h"

namespace coppice::batch {
namespace {

bool IsSidecar(const model::Container& container) { return container.restart_policy == "Always"; }

// Of several lists the largest amount of each resource.
model::ResourceList LargestOf(const model::ResourceList& first,
                              std::initializer_list<const model::ResourceList*> others) {
  model::ResourceList result = first;
  for (const model::ResourceList* other : others) {
    for (const auto& [name, amount] : *other) {
      const model::Quantity* own = result.Find(name);
      if (!own || amount.Compare(*own) > 0) result[name] = amount;
    }
  }
  return result;
}

bool ResizeIsInfeasible(const model::Pod& pod) {
  return std::ranges::any_of(pod.status.conditions, [](const model::PodCondition& condition) {
    return condition.type == "PodResizePending" && condition.reason == "Infeasible";
  });
}

// What a container asks for, or has while it is being resized.
Resource ContainerRequest(const model::Pod& pod, const model::Container& container,
                          const std::vector<model::ContainerStatus>& statuses) {
  const auto status = std::ranges::find(statuses, container.name, &model::ContainerStatus::name);
  if (status == statuses.end() || !status->resources) {
    return Resource::From(container.resources.requests);
  }
  if (ResizeIsInfeasible(pod)) {
    return Resource::From(LargestOf(status->resources->requests, {&status->allocated_resources}));
  }
  return Resource::From(LargestOf(container.resources.requests,
                                  {&status->resources->requests, &status->allocated_resources}));
}

bool IsPodLevelResource(std::string_view name) {
  return name == model::kCpu || name == model::kMemory || name.starts_with("hugepages-");
}

bool ParsePreemptable(const model::ObjectMeta& meta, bool otherwise) {
  const std::string* text = AnnotationOrLabel(meta, kPreemptableKey);
  return text ? ParseGoBool(*text).value_or(false) : otherwise;
}

// The last part of a name of at least three, if it is a number.
std::optional<int64_t> IndexInName(std::string_view name) {
  if (std::ranges::count(name, '-') < 2) return std::nullopt;
  std::string_view last = name.substr(name.rfind('-') + 1);
  int64_t index = 0;
  const auto [stop, problem] = std::from_chars(last.data(), last.data() + last.size(), index);
  if (last.empty() || problem != std::errc() || stop != last.data() + last.size()) {
    return std::nullopt;
  }
  return index;
}

}  // namespace

std::string_view ToString(TaskStatus status) {
  switch (status) {
    case TaskStatus::kPending:
      return "Pending";
    case TaskStatus::kAllocated:
      return "Allocated";
    case TaskStatus::kPipelined:
      return "Pipelined";
    case TaskStatus::kBinding:
      return "Binding";
    case TaskStatus::kBound:
      return "Bound";
    case TaskStatus::kRunning:
      return "Running";
    case TaskStatus::kReleasing:
      return "Releasing";
    case TaskStatus::kSucceeded:
      return "Succeeded";
    case TaskStatus::kFailed:
      return "Failed";
    case TaskStatus::kUnknown:
      break;
  }
  return "Unknown";
}

const std::string* AnnotationOrLabel(const model::ObjectMeta& meta, std::string_view key) {
  if (const std::string* annotation = meta.annotations.Find(key)) return annotation;
  return meta.labels.Find(key);
}

Resource PodRequest(const model::Pod& pod) {
  Resource request;
  for (const model::Container& container : pod.spec.containers) {
    request.Add(ContainerRequest(pod, container, pod.status.container_statuses));
  }
  Resource sidecars;
  Resource init_peak;
  for (const model::Container& container : pod.spec.init_containers) {
    if (IsSidecar(container)) {
      const Resource own = ContainerRequest(pod, container, pod.status.init_container_statuses);
      request.Add(own);
      sidecars.Add(own);
      init_peak.SetMax(sidecars);
    } else {
      init_peak.SetMax(Resource::From(container.resources.requests).Add(sidecars));
    }
  }
  request.SetMax(init_peak);
  request.AddScalar(kPodsScalar, 1);
  if (pod.spec.resources && !pod.spec.resources->requests.empty()) {
    const Resource whole = Resource::From(pod.spec.resources->requests);
    for (const auto& [name, amount] : pod.spec.resources->requests) {
      if (!IsPodLevelResource(name)) continue;
      if (name == model::kCpu) {
        request.cpu = whole.cpu;
      } else if (name == model::kMemory) {
        request.memory = whole.memory;
      } else {
        request.Set(InternScalar(name), whole.Get(InternScalar(name)));
      }
    }
  }
  request.Add(Resource::From(pod.spec.overhead));
  return request;
}

std::string JobIdOf(const model::Pod& pod) {
  const std::string* group = pod.metadata.annotations.Find(kGroupNameKey);
  if (!group || group->empty()) return "";
  return pod.metadata.namespace_ + "/" + *group;
}

TaskStatus StatusOf(const model::Pod& pod) {
  const std::string& phase = pod.status.phase;
  const bool going = pod.metadata.deletion_timestamp.has_value();
  if (phase == "Running") return going ? TaskStatus::kReleasing : TaskStatus::kRunning;
  if (phase == "Pending") {
    if (going) return TaskStatus::kReleasing;
    return pod.spec.node_name.empty() ? TaskStatus::kPending : TaskStatus::kBound;
  }
  if (phase == "Succeeded") return TaskStatus::kSucceeded;
  if (phase == "Failed") return TaskStatus::kFailed;
  return TaskStatus::kUnknown;
}

Task MakeTask(std::shared_ptr<const model::Pod> object) {
  const model::Pod& pod = *object;
  const model::ObjectMeta& meta = pod.metadata;
  Task task;
  task.uid = meta.uid;
  task.name = meta.name;
  task.namespace_ = meta.namespace_;
  const auto role = [&](const model::Labels& from) {
    const std::string* text = from.Find(kTaskSpecKey);
    return text ? std::string_view(*text) : std::string_view();
  };
  task.role = role(meta.annotations);
  if (task.role.empty()) task.role = role(meta.labels);
  task.node_name = task.pod_node_name = pod.spec.node_name;
  task.status = StatusOf(pod);
  if (pod.spec.priority) task.priority = *pod.spec.priority;
  if (const std::string* text = meta.annotations.Find(kTaskPriorityKey)) {
    std::string_view number = *text;
    if (number.starts_with('+')) number.remove_prefix(1);
    int32_t priority = 0;
    const auto [stop, problem] =
        std::from_chars(number.data(), number.data() + number.size(), priority);
    if (!number.empty() && problem == std::errc() && stop == number.data() + number.size()) {
      task.priority = priority;
    }
  }
  // What could not be read may be just what keeps it.
  task.preemptable = !meta.unreadable && ParsePreemptable(meta, true);
  if (const std::string* zone = meta.annotations.Find(kRevocableZoneKey)) {
    if (*zone == "*") task.revocable_zone = "*";
  } else if (const std::string* text = meta.annotations.Find(kPreemptableKey)) {
    if (ParseGoBool(*text).value_or(false)) task.revocable_zone = "*";
  }
  task.has_restartable_init_container = std::ranges::any_of(pod.spec.init_containers, IsSidecar);
  task.gated = !pod.spec.scheduling_gates.empty();
  task.only_our_gate = pod.spec.scheduling_gates.size() == 1 &&
                       pod.spec.scheduling_gates[0].name == kQueueAllocationGate;
  if (const auto& affinity = pod.spec.affinity) {
    const auto& likes = affinity->pod_affinity;
    const auto& dislikes = affinity->pod_anti_affinity;
    task.has_pod_affinity = likes || dislikes;
    task.prefers_pods =
        (likes && !likes->preferred.empty()) || (dislikes && !dislikes->preferred.empty());
    task.keeps_others_off = dislikes && !dislikes->required.empty();
  }
  task.pod = std::move(object);
  return task;
}

bool BeforeByDefault(const Task& a, const Task& b) {
  const auto index_a = IndexInName(a.name);
  const auto index_b = IndexInName(b.name);
  if (index_a && index_b && *index_a != *index_b) return *index_a < *index_b;
  const auto& created_a = a.pod->metadata.creation_timestamp;
  const auto& created_b = b.pod->metadata.creation_timestamp;
  if (created_a != created_b) return created_a < created_b;
  return a.uid < b.uid;
}

}  // namespace coppice::batch
