// JobController: what it writes.

#include <utility>

#include <nlohmann/json.hpp>

#include "batch/controllers/job_controller.h"
#include "batch/statuses.h"
#include "wire/time_text.h"

namespace coppice::batch {

void JobController::PutJobStatus(const VolcanoJob& job, VolcanoJobStatus status,
                                 const std::string& reason, TimePoint now) {
  nlohmann::json state = {
      {"phase", status.phase},
      {"lastTransitionTime", wire::FormatRfc3339(status.phase_since.value_or(now))}};
  if (!reason.empty()) state["reason"] = reason;
  const nlohmann::json patch = {{"status",
                                 {{"state", std::move(state)},
                                  {"version", status.version},
                                  {"retryCount", status.retry_count},
                                  {"minAvailable", status.min_available},
                                  {"pending", status.pending},
                                  {"running", status.running},
                                  {"succeeded", status.succeeded},
                                  {"failed", status.failed},
                                  {"terminating", status.terminating},
                                  {"unknown", status.unknown}}}};
  Memory& memory = memory_[job.metadata.uid];
  memory.writing = true;
  memory.seen = job.metadata.resource_version;
  ++under_way_;
  cluster::ObjectName object{std::string(kVolcanoJobApi), std::string(kVolcanoJobResource),
                             job.metadata.namespace_, job.metadata.name, job.metadata.uid};
  parts_.executor.Spawn(Write(job.metadata.uid, std::move(object), patch.dump()));
}

coppice::Task<void> JobController::Write(std::string uid, cluster::ObjectName object,
                                         std::string patch) {
  const std::string name = object.namespace_ + "/" + object.name;
  const Status written = co_await PutStatus(parts_.writer, std::move(object), std::move(patch));
  --under_way_;
  Memory& memory = memory_[uid];
  memory.writing = false;
  if (!written.ok()) {
    memory.seen.clear();
    memory.try_again = Later(parts_.executor.clock().Now(), kAgain);
    parts_.log.Warning("the status of a job could not be written",
                       {{"job", name}, {"error", written}});
  }
  parts_.wake();
}

coppice::Task<void> JobController::Create(std::string uid, std::string job, std::string key,
                                          cluster::ObjectName object, std::string json,
                                          std::optional<model::Time> since) {
  const Turnstile::Inside inside = co_await doors_.Enter();
  const auto made = co_await parts_.writer.CreateObject(object, std::move(json));
  --under_way_;
  Memory& memory = memory_[uid];
  if (made.ok() && since && object.resource == "pods" && parts_.pod_made)
    parts_.pod_made(parts_.executor.clock().Now() - since->at);
  if (!made.ok() && made.code() != Code::kAlreadyExists) {
    memory.try_again = Later(parts_.executor.clock().Now(), kAgain);
    parts_.log.Warning(
        "an object of a job could not be made",
        {{"resource", object.resource}, {"name", object.name}, {"error", made.status()}});
    parts_.writer.Emit(
        {.kind = "Job",
         .namespace_ = object.namespace_,
         .name = job,
         .uid = uid,
         .type = "Warning",
         .reason = "FailedCreate",
         .text = object.resource + " " + object.name + ": " + made.status().message()});
  }
  // Made again if it is not seen by then: its name is the same, so that there is never a second.
  const Duration seen_within = made.ok() ? kAgain : Duration::zero();
  co_await parts_.executor.Sleep(seen_within);
  memory_[uid].busy.erase(key);
  parts_.wake();
}

coppice::Task<void> JobController::DeletePod(std::string uid, cluster::PodName pod) {
  const Turnstile::Inside inside = co_await doors_.Enter();
  const std::string name = pod.name;
  const Status deleted = co_await parts_.writer.DeletePod(std::move(pod), -1);
  --under_way_;
  if (!deleted.ok() && deleted.code() != Code::kNotFound) {
    parts_.log.Warning("a pod of a job could not be deleted", {{"pod", name}, {"error", deleted}});
    co_await parts_.executor.Sleep(kAgain);
  }
  memory_[uid].busy.erase(name);
  parts_.wake();
}

coppice::Task<void> JobController::AskExitCode(std::string uid, cluster::PodName pod) {
  cluster::ObjectName object{"v1", "pods", pod.namespace_, pod.name};
  const auto json = co_await parts_.writer.ObjectNow(std::move(object));
  --under_way_;
  int32_t code = -1;  // it is not known, and no policy speaks of it
  if (json.ok()) {
    const auto parsed = nlohmann::json::parse(*json, nullptr, false);
    const auto statuses = nlohmann::json::json_pointer("/status/containerStatuses");
    if (parsed.is_object() && parsed.contains(statuses) && parsed[statuses].is_array()) {
      const auto where = nlohmann::json::json_pointer("/state/terminated/exitCode");
      for (const auto& container : parsed[statuses]) {
        if (!container.is_object() || !container.contains(where)) continue;
        if (!container[where].is_number_integer()) continue;
        const auto ended = container[where].get<int64_t>();
        if (ended != 0) code = static_cast<int32_t>(ended);
      }
    }
  }
  memory_[uid].exit_codes[pod.uid] = code;
  parts_.wake();
}

coppice::Task<void> JobController::DeleteJob(std::string uid, cluster::ObjectName object) {
  const Status deleted = co_await parts_.writer.DeleteObject(std::move(object));
  --under_way_;
  if (!deleted.ok() && deleted.code() != Code::kNotFound) co_await parts_.executor.Sleep(kAgain);
  memory_[uid].busy.erase("");
  parts_.wake();
}

}  // namespace coppice::batch
