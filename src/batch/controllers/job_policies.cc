// What a job's policies want done about what happens to its pods, at once or after a while.

#include <algorithm>

#include <fmt/format.h>

#include "batch/controllers/job_controller.h"

namespace coppice::batch {
namespace {

bool AsksForExitCodes(const VolcanoJob& job) {
  const auto asks = [](const JobPolicy& policy) { return policy.exit_code.has_value(); };
  return std::ranges::any_of(job.policies, asks) ||
         std::ranges::any_of(job.tasks, [&](const JobTask& task) {
           return std::ranges::any_of(task.policies, asks);
         });
}

constexpr std::string_view kPending = "PodPending";

// The first policy that speaks of it: the task's before the job's. Null: none does.
const JobPolicy* PolicyFor(const VolcanoJob& job, const JobTask& task, std::string_view event,
                           std::optional<int32_t> exit_code) {
  for (const auto* policies : {&task.policies, &job.policies}) {
    for (const JobPolicy& policy : *policies) {
      if (policy.exit_code) {
        if (exit_code && *exit_code == *policy.exit_code) return &policy;
        continue;
      }
      // Every pod is pending at first: only one that stays so is worth an answer.
      if (event == kPending && !policy.timeout) continue;
      const bool speaks = std::ranges::any_of(
          policy.events, [&](const std::string& one) { return one == event || one == "*"; });
      if (speaks) return &policy;
    }
  }
  return nullptr;
}

}  // namespace

std::optional<JobController::Decision> JobController::Answer(const VolcanoJob& job,
                                                             const std::vector<Seat>& seats,
                                                             Memory& memory) {
  if (auto done = DoDelayed(job, seats, memory)) return done;
  const bool asks = AsksForExitCodes(job);
  for (const Seat& seat : seats) {
    const auto known = memory.known.find(seat.name);
    const bool gone = known != memory.known.end() &&
                      (seat.pod == nullptr || seat.pod->metadata.uid != known->second);
    if (gone) {
      const bool ours = memory.removed.erase(known->second) > 0;
      memory.known.erase(known);
      if (!ours) {
        if (auto done = Meet(job, *seat.task, "PodEvicted", std::nullopt, seats, &seat, memory,
                             "pod " + seat.name + " was evicted"))
          return done;
      }
    }
    if (seat.pod == nullptr || seat.stale) continue;
    if (seat.pod->status.phase == "Pending") {
      if (auto done = Meet(job, *seat.task, kPending, std::nullopt, seats, &seat, memory,
                           "pod " + seat.name + " is still pending"))
        return done;
    }
    if (seat.pod->status.phase != "Failed") continue;
    const std::string& uid = seat.pod->metadata.uid;
    if (memory.answered.contains(uid)) continue;
    std::optional<int32_t> exit_code;
    if (asks) {
      const auto [code, is_new] = memory.exit_codes.try_emplace(uid);
      if (is_new) {
        ++under_way_;
        parts_.executor.Spawn(AskExitCode(
            job.metadata.uid, {seat.pod->metadata.namespace_, seat.pod->metadata.name, uid}));
      }
      if (!code->second) continue;
      exit_code = code->second;
    }
    memory.answered.insert(uid);
    if (auto done = Meet(job, *seat.task, "PodFailed", exit_code, seats, &seat, memory,
                         "pod " + seat.name + " failed"))
      return done;
  }
  for (const JobTask& task : job.tasks) {
    const bool all = task.replicas > 0 && std::ranges::all_of(seats, [&](const Seat& seat) {
                       return seat.task != &task || (seat.pod != nullptr && !seat.stale &&
                                                     seat.pod->status.phase == "Succeeded");
                     });
    if (!all || !memory.completed.insert(task.name).second) continue;
    if (auto done = Meet(job, task, "TaskCompleted", std::nullopt, seats, nullptr, memory,
                         "task " + task.name + " is completed"))
      return done;
  }
  return std::nullopt;
}

std::optional<JobController::Decision> JobController::Meet(
    const VolcanoJob& job, const JobTask& task, std::string_view event,
    std::optional<int32_t> exit_code, const std::vector<Seat>& seats, const Seat* about,
    Memory& memory, const std::string& why) {
  const JobPolicy* policy = PolicyFor(job, task, event, exit_code);
  if (policy == nullptr) return std::nullopt;
  if (!policy->timeout || *policy->timeout <= Duration::zero())
    return Act(job, policy->action, seats, about, memory, why);
  const std::string key = about == nullptr ? "task " + task.name : about->name;
  const model::Pod* pod = about == nullptr ? nullptr : about->pod.get();
  const std::string uid = pod == nullptr ? "" : pod->metadata.uid;
  const auto known = memory.delayed.find(key);
  if (known != memory.delayed.end() && known->second.uid == uid) return std::nullopt;
  // A pod waits since it was made, whoever has looked at it before us.
  const TimePoint since = event == kPending && pod->metadata.creation_timestamp
                              ? pod->metadata.creation_timestamp->at
                              : parts_.executor.clock().Now();
  const TimePoint due = Later(since, *policy->timeout);
  memory.delayed[key] = {policy->action, std::string(event), uid, why, due};
  LookAt(due);
  return std::nullopt;
}

// A pod that is no longer pending is not answered for as such, and one that has failed not when
// another runs in its place.
std::optional<JobController::Decision> JobController::DoDelayed(const VolcanoJob& job,
                                                                const std::vector<Seat>& seats,
                                                                Memory& memory) {
  const TimePoint now = parts_.executor.clock().Now();
  for (auto entry = memory.delayed.begin(); entry != memory.delayed.end();) {
    const Memory::Delayed& delayed = entry->second;
    const auto seat = std::ranges::find(seats, entry->first, &Seat::name);
    const model::Pod* pod = seat == seats.end() ? nullptr : seat->pod.get();
    const bool over =
        delayed.event == kPending
            ? pod == nullptr || pod->metadata.uid != delayed.uid || pod->status.phase != "Pending"
            : pod != nullptr && pod->status.phase == "Running";
    if (!over && now < delayed.due) {
      LookAt(delayed.due);
      ++entry;
      continue;
    }
    const Memory::Delayed due = delayed;
    entry = memory.delayed.erase(entry);
    if (over) continue;
    const Seat* about = seat == seats.end() ? nullptr : &*seat;
    if (auto done = Act(job, due.action, seats, about, memory, due.why)) {
      memory.delayed.clear();
      return done;
    }
  }
  return std::nullopt;
}

std::optional<JobController::Decision> JobController::Act(const VolcanoJob& job,
                                                          const std::string& action,
                                                          const std::vector<Seat>& seats,
                                                          const Seat* about, Memory& memory,
                                                          const std::string& why) {
  if (action == "RestartJob") {
    if (job.status.retry_count >= job.max_retry)
      return Decision{.phase = "Failed",
                      .reason = fmt::format("{}, and the job was restarted {} times", why,
                                            job.status.retry_count)};
    return Decision{.phase = "Restarting", .reason = why, .count_retry = true};
  }
  if (action == "AbortJob") return Decision{.phase = "Aborting", .reason = why};
  if (action == "TerminateJob") return Decision{.phase = "Terminating", .reason = why};
  if (action == "CompleteJob") return Decision{.phase = "Completing", .reason = why};
  if (action == "RestartPod" && about != nullptr && about->pod != nullptr)
    RemovePod(job, *about, memory);
  if (action == "RestartTask" && about != nullptr) {
    for (const Seat& seat : seats) {
      if (seat.task == about->task && seat.pod != nullptr) RemovePod(job, seat, memory);
    }
  }
  return std::nullopt;
}

}  // namespace coppice::batch
