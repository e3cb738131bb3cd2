#include "batch/controllers/job_controller.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/strings.h"
#include "batch/controllers/job_objects.h"
#include "batch/ended_pod.h"
#include "batch/statuses.h"
#include "model/batch.h"
#include "wire/time_text.h"

namespace coppice::batch {
namespace {

using Json = nlohmann::json;

cluster::ObjectName JobObject(const VolcanoJob& job) {
  return {std::string(kVolcanoJobApi), std::string(kVolcanoJobResource), job.metadata.namespace_,
          job.metadata.name, job.metadata.uid};
}

bool OwnedBy(const model::Pod& pod, const VolcanoJob& job) {
  const model::OwnerReference* owner = model::ControllerOf(pod.metadata);
  return owner != nullptr && owner->uid == job.metadata.uid;
}

std::string VersionOf(const model::Pod& pod) {
  const std::string* version = pod.metadata.annotations.Find(kJobVersionKey);
  return version == nullptr ? "0" : *version;
}

}  // namespace

void JobController::Sync(TimePoint now) {
  next_ = TimePoint::max();
  std::set<std::string> there;
  for (const auto& job : parts_.world.objects<VolcanoJob>().List()) {
    there.insert(job->metadata.uid);
    if (!job->metadata.unreadable && !job->metadata.deletion_timestamp) SyncOne(job, now);
  }
  std::erase_if(memory_, [&](const auto& entry) {
    return !there.contains(entry.first) && entry.second.busy.empty() && !entry.second.writing;
  });
}

std::vector<JobController::Seat> JobController::SeatsOf(const VolcanoJob& job) const {
  const std::string version = std::to_string(job.status.version);
  const auto& ended = parts_.world.objects<EndedPod>();
  std::vector<Seat> seats;
  for (const JobTask& task : job.tasks) {
    for (int32_t index = 0; index < task.replicas; ++index) {
      Seat seat{.task = &task, .name = PodNameOf(job, task, index), .index = index};
      seat.pod = parts_.world.FindPod(job.metadata.namespace_, seat.name);
      if (seat.pod == nullptr) {
        seat.pod = ended.Get(job.metadata.namespace_, seat.name);
        seat.ended = seat.pod != nullptr;
      }
      if (seat.pod != nullptr) {
        const std::string& phase = seat.pod->status.phase;
        seat.ended = seat.ended || phase == "Succeeded" || phase == "Failed";
        // Somebody else's pod of that name is in the way until it goes.
        seat.stale = !OwnedBy(*seat.pod, job) || VersionOf(*seat.pod) != version;
      }
      seats.push_back(std::move(seat));
    }
  }
  return seats;
}

VolcanoJobStatus JobController::Tally(const VolcanoJob& job, const std::vector<Seat>& seats) {
  VolcanoJobStatus status = job.status;
  status.min_available = job.least();
  status.pending = status.running = status.succeeded = status.failed = 0;
  status.terminating = status.unknown = 0;
  for (const Seat& seat : seats) {
    if (seat.pod == nullptr) continue;
    const std::string& phase = seat.pod->status.phase;
    if (seat.stale || (seat.pod->metadata.deletion_timestamp && !seat.ended)) {
      ++status.terminating;
    } else if (phase == "Succeeded") {
      ++status.succeeded;
    } else if (phase == "Failed") {
      ++status.failed;
    } else if (phase == "Running") {
      ++status.running;
    } else if (phase == "Pending") {
      ++status.pending;
    } else {
      ++status.unknown;
    }
  }
  return status;
}

void JobController::SyncOne(const std::shared_ptr<const VolcanoJob>& job, TimePoint now) {
  Memory& memory = memory_[job->metadata.uid];
  // A status that we wrote is not seen yet: what is seen is older than what we know.
  if (memory.writing || memory.seen == job->metadata.resource_version) return;
  if (now < memory.try_again) return LookAt(memory.try_again);
  const std::vector<Seat> seats = SeatsOf(*job);
  VolcanoJobStatus status = Tally(*job, seats);
  const auto decision = Decide(*job, seats, status, memory);
  for (const Seat& seat : seats) {
    if (seat.pod != nullptr && !seat.stale) memory.known[seat.name] = seat.pod->metadata.uid;
  }
  const std::string& phase = job->status.phase;
  if (decision) {
    status.phase = decision->phase;
    status.phase_since = now;
    if (decision->count_retry) ++status.retry_count;
    if (phase == "Restarting" && status.phase == "Pending") ++status.version;
    Note(*job, status.phase == "Failed" ? "Warning" : "Normal", status.phase,
         decision->reason.empty() ? "the job is " + status.phase : decision->reason);
    return PutJobStatus(*job, status, decision->reason, now);
  }
  if (phase == "Pending" || phase == "Running") Make(*job, seats, memory, now);
  if (IsOver(phase)) {
    Remove(*job, seats, false, memory);
    if (job->ttl_seconds_after_finished && job->status.phase_since) {
      const TimePoint end =
          Later(*job->status.phase_since, std::chrono::seconds(*job->ttl_seconds_after_finished));
      if (end > now) {
        LookAt(end);
      } else if (memory.busy.insert("").second) {
        ++under_way_;
        parts_.executor.Spawn(DeleteJob(job->metadata.uid, JobObject(*job)));
      }
    }
  }
  if (!(status == job->status)) PutJobStatus(*job, status, "", now);
}

std::optional<JobController::Decision> JobController::Decide(const VolcanoJob& job,
                                                             const std::vector<Seat>& seats,
                                                             const VolcanoJobStatus& now,
                                                             Memory& memory) {
  const std::string& phase = job.status.phase;
  if (phase.empty()) return Decision{.phase = "Pending"};
  if (phase == "Restarting") {
    if (!Remove(job, seats, true, memory)) return std::nullopt;
    memory.known.clear();
    memory.completed.clear();
    memory.delayed.clear();
    return Decision{.phase = "Pending", .reason = "all pods of the last attempt are gone"};
  }
  for (const auto& [leaving, gone] :
       {std::pair("Aborting", "Aborted"), std::pair("Terminating", "Terminated"),
        std::pair("Completing", "Completed")}) {
    if (phase != leaving) continue;
    if (!Remove(job, seats, false, memory)) return std::nullopt;
    return Decision{.phase = gone, .reason = "no pod of it runs any more"};
  }
  if (phase != "Pending" && phase != "Running") return std::nullopt;
  if (auto answer = Answer(job, seats, memory)) return answer;
  const int32_t all = job.replicas();
  if (all > 0 && now.succeeded + now.failed == all) {
    const int32_t wanted = job.min_success.value_or(job.least());
    const bool enough = now.succeeded >= wanted;
    return Decision{.phase = enough ? "Completed" : "Failed",
                    .reason = fmt::format("{} of {} pods succeeded, {} are needed", now.succeeded,
                                          all, wanted)};
  }
  if (job.min_success && now.succeeded >= *job.min_success && *job.min_success > 0) {
    return Decision{.phase = "Completing",
                    .reason = fmt::format("{} pods succeeded, which is enough", now.succeeded)};
  }
  if (phase == "Pending" && all > 0 && now.running + now.succeeded + now.failed >= job.least())
    return Decision{.phase = "Running"};
  return std::nullopt;
}

bool JobController::MayStart(const VolcanoJob& job, const JobTask& task,
                             const std::vector<Seat>& seats) const {
  if (task.depends_on.empty()) return true;
  const auto runs = [&](const std::string& name) {
    const auto other = std::ranges::find(job.tasks, name, &JobTask::name);
    if (other == job.tasks.end()) return true;  // of nobody: nothing to wait for
    const auto count = std::ranges::count_if(seats, [&](const Seat& seat) {
      return seat.task == &*other && seat.pod != nullptr && !seat.stale &&
             (seat.pod->status.phase == "Running" || seat.pod->status.phase == "Succeeded");
    });
    return count >= other->least();
  };
  return task.any_dependency ? std::ranges::any_of(task.depends_on, runs)
                             : std::ranges::all_of(task.depends_on, runs);
}

void JobController::Make(const VolcanoJob& job, const std::vector<Seat>& seats, Memory& memory,
                         TimePoint now) {
  const std::string& uid = job.metadata.uid;
  const std::string group = GroupNameOf(job);
  if (!std::exchange(memory.told_ignored, true)) {
    for (const std::string& field : job.ignored)
      Note(job, "Warning", "FieldIgnored", field + " is not supported here and has no effect");
    for (const std::string& plugin : job.plugins) {
      if (plugin != "env" && plugin != "svc")
        Note(job, "Warning", "PluginIgnored",
             "the job's plug-in " + plugin + " is not supported here and has no effect");
    }
  }
  const auto create = [&](std::string key, cluster::ObjectName object, std::string json) {
    if (!memory.busy.insert(key).second) return;
    ++under_way_;
    parts_.executor.Spawn(Create(uid, job.metadata.name, std::move(key), std::move(object),
                                 std::move(json), job.metadata.creation_timestamp));
  };
  const std::string& namespace_ = job.metadata.namespace_;
  if (!parts_.world.objects<model::PodGroup>().Find(namespace_, group)) {
    constexpr model::Kind kind = model::kKind<model::PodGroup>;
    create("group", {std::string(kind.api_version), std::string(kind.resource), namespace_, group},
           GroupOfJob(job, [this](const std::string& name) {
             const auto* known = parts_.world.objects<model::PriorityClass>().Find(name);
             return known == nullptr ? 0 : known->value;
           }));
  }
  if (HasJobPlugin(job, "svc") &&
      !parts_.world.facts().services.Find(namespace_, job.metadata.name)) {
    create("service", {"v1", "services", namespace_, job.metadata.name}, ServiceOfJob(job));
  }
  for (const Seat& seat : seats) {
    if (seat.stale && OwnedBy(*seat.pod, job)) RemovePod(job, seat, memory);
    if (seat.pod != nullptr || !MayStart(job, *seat.task, seats)) continue;
    auto json = PodOfJob(job, *seat.task, seat.index);
    if (!json.ok()) {
      Note(job, "Warning", "FailedCreate", json.status().message());
      memory.try_again = Later(now, kAgain);
      return;
    }
    create(seat.name, {"v1", "pods", namespace_, seat.name}, *std::move(json));
  }
}

bool JobController::Remove(const VolcanoJob& job, const std::vector<Seat>& seats, bool ended_too,
                           Memory& memory) {
  bool left = false;
  for (const Seat& seat : seats) {
    if (seat.pod == nullptr || !OwnedBy(*seat.pod, job)) continue;
    if (seat.ended && !ended_too) continue;
    left = true;
    RemovePod(job, seat, memory);
  }
  return !left;
}

void JobController::RemovePod(const VolcanoJob& job, const Seat& seat, Memory& memory) {
  if (seat.pod->metadata.deletion_timestamp) return;
  if (!memory.busy.insert(seat.name).second) return;
  memory.removed.insert(seat.pod->metadata.uid);
  ++under_way_;
  parts_.executor.Spawn(DeletePod(
      job.metadata.uid, {seat.pod->metadata.namespace_, seat.name, seat.pod->metadata.uid}));
}

void JobController::Note(const VolcanoJob& job, std::string type, std::string reason,
                         std::string text) {
  parts_.writer.Emit({.kind = "Job",
                      .namespace_ = job.metadata.namespace_,
                      .name = job.metadata.name,
                      .uid = job.metadata.uid,
                      .type = std::move(type),
                      .reason = std::move(reason),
                      .text = std::move(text)});
}

}  // namespace coppice::batch
