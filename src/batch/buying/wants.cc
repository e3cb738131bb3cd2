#include "batch/buying/wants.h"

#include <array>
#include <memory>
#include <string>
#include <string_view>

#include "batch/controllers/job_objects.h"
#include "batch/resource.h"
#include "fit/equivalence.h"
#include "model/resources.h"
#include "wire/wire.h"

namespace coppice::batch {
namespace {

// What only numbers the tasks of one kind. A rule that goes by it is one that no machine to be
// bought could be chosen for.
constexpr std::array<std::string_view, 5> kNumbers = {
    "volcano.sh/task-index", "volcano.sh/partition-id", "apps.kubernetes.io/pod-index",
    "batch.kubernetes.io/job-completion-index", "statefulset.kubernetes.io/pod-name"};

void AddTo(market::Want& want, const model::Pod& task, const std::string& role, bool created) {
  auto pod = std::make_shared<model::Pod>(task);
  for (const std::string_view number : kNumbers) pod->metadata.labels.erase(number);
  for (market::TaskClass& one : want.classes) {
    if (one.role == role && one.created == created && fit::SameForScheduling(*one.pod, *pod)) {
      ++one.count;
      return;
    }
  }
  want.classes.push_back({.role = role, .pod = std::move(pod), .count = 1, .created = created});
}

const VolcanoJob* JobOf(const WaitingJob& job, const cluster::World& world) {
  for (const model::OwnerReference& owner : job.group->metadata.owner_references) {
    if (owner.kind != "Job" || owner.api_version != kVolcanoJobApi) continue;
    return world.objects<VolcanoJob>().Find(job.group->metadata.namespace_, owner.name);
  }
  return nullptr;
}

// Pods that its controller will make, as far as they are needed to start: of each task as many as it
// demands, then others.
int AddFromTemplates(const VolcanoJob& job, int most, const cluster::World& world,
                     market::Want& want) {
  int added = 0;
  const auto add = [&](const JobTask& task, int32_t from, int32_t to) {
    for (int32_t index = from; index < to && added < most; ++index) {
      const std::string name = PodNameOf(job, task, index);
      if (world.FindPod(job.metadata.namespace_, name) != nullptr) continue;
      const auto json = PodOfJob(job, task, index);
      if (!json.ok()) break;
      auto pod = wire::FromJson<model::Pod>(*json);
      if (!pod.ok()) break;
      pod->metadata.namespace_ = job.metadata.namespace_;
      pod->metadata.name = name;
      AddTo(want, *pod, task.name, false);
      ++added;
    }
  };
  for (const JobTask& task : job.tasks) add(task, 0, task.least());
  for (const JobTask& task : job.tasks) add(task, task.least(), task.replicas);
  return added;
}

// Each an equal part of what the group needs at least.
void AddFromMinimum(const model::PodGroup& group, int count, market::Want& want) {
  const auto& minimum = group.spec.min_resources;
  if (count <= 0 || !minimum || minimum->empty() || group.spec.min_member <= 0) return;
  const int64_t members = group.spec.min_member;
  auto pod = std::make_shared<model::Pod>();
  pod->metadata.namespace_ = group.metadata.namespace_;
  pod->metadata.name = group.metadata.name;
  model::Container container;
  container.name = "minimum";
  for (const auto& [name, amount] : *minimum) {
    // Volcano's controllers write what a quota counts beside what pods ask for.
    if (name == model::kPods || name.starts_with("limits.") || !IsDimension(name)) continue;
    container.resources.requests[name] =
        name == model::kCpu
            ? model::Quantity::FromMillis((amount.MilliValue() + members - 1) / members)
            : model::Quantity::FromUnits((amount.Value() + members - 1) / members);
  }
  pod->spec.containers.push_back(std::move(container));
  want.classes.push_back({.role = "", .pod = std::move(pod), .count = count, .created = false});
}

}  // namespace

market::Want WantOf(const WaitingJob& job, const cluster::World& world) {
  market::Want want;
  want.gang = job.id;
  want.in_part = job.ready;
  for (const WaitingJob::Task& task : job.tasks) {
    if (!task.node.empty()) want.placed.push_back({task.pod, task.node});
    if (task.needed) AddTo(want, *task.pod, task.role, true);
  }
  if (job.uncreated <= 0) return want;
  int left = job.uncreated;
  if (const VolcanoJob* object = JobOf(job, world); object && !IsOver(object->status.phase))
    left -= AddFromTemplates(*object, left, world, want);
  AddFromMinimum(*job.group, left, want);
  return want;
}

}  // namespace coppice::batch
