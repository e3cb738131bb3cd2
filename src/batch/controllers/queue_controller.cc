#include "batch/controllers/queue_controller.h"

#include <utility>

#include <nlohmann/json.hpp>

#include "batch/queue.h"
#include "batch/statuses.h"
#include "model/kinds.h"

namespace coppice::batch {
namespace {

using Json = nlohmann::json;

GroupPhases CountOf(const model::PodGroup& group) {
  GroupPhases count;
  const std::string& phase = group.status.phase;
  (phase == "Inqueue"     ? count.inqueue
   : phase == "Running"   ? count.running
   : phase == "Unknown"   ? count.unknown
   : phase == "Completed" ? count.completed
                          : count.pending) = 1;
  return count;
}

std::string StateOf(const model::Queue& queue, const GroupPhases& phases) {
  const std::string* wanted = queue.metadata.annotations.Find(kQueueStateKey);
  if (wanted == nullptr || *wanted != "Closed") {
    // One that somebody else has closed stays so.
    const std::string& state = queue.status.state;
    const bool theirs = wanted == nullptr && (state == "Closed" || state == "Closing");
    if (!theirs) return "Open";
  }
  return phases.alive() > 0 ? "Closing" : "Closed";
}

}  // namespace

void QueueController::MakeIfAbsent(const std::string& name, bool reclaimable) {
  if (parts_.world.objects<model::Queue>().Find(name) || !busy_.insert(name).second) return;
  const Json queue = {{"apiVersion", model::kKind<model::Queue>.api_version},
                      {"kind", "Queue"},
                      {"metadata", {{"name", name}}},
                      {"spec", {{"weight", 1}, {"reclaimable", reclaimable}}}};
  parts_.executor.Spawn(Create(name, queue.dump()));
}

void QueueController::Sync() {
  MakeIfAbsent(std::string(kRootQueue), false);
  MakeIfAbsent(parts_.default_queue, true);
  std::map<std::string, GroupPhases> phases;
  parts_.world.objects<model::PodGroup>().ForEach([&](const auto& group) {
    const std::string& queue = group->spec.queue.empty() ? parts_.default_queue : group->spec.queue;
    GroupPhases& all = phases[queue];
    const GroupPhases one = CountOf(*group);
    all.pending += one.pending;
    all.inqueue += one.inqueue;
    all.running += one.running;
    all.unknown += one.unknown;
    all.completed += one.completed;
  });
  for (const auto& queue : parts_.world.objects<model::Queue>().List()) {
    const std::string& name = queue->metadata.name;
    const GroupPhases& now = phases[name];
    const model::QueueStatus& was = queue->status;
    const std::string state = StateOf(*queue, now);
    if (was.state == state && was.pending == now.pending && was.inqueue == now.inqueue &&
        was.running == now.running && was.unknown == now.unknown &&
        was.completed == now.completed) {
      continue;
    }
    if (!busy_.insert(name).second) continue;
    const Json patch = {{"status",
                         {{"state", state},
                          {"pending", now.pending},
                          {"inqueue", now.inqueue},
                          {"running", now.running},
                          {"unknown", now.unknown},
                          {"completed", now.completed}}}};
    parts_.executor.Spawn(Write(name, queue->metadata.uid, patch.dump()));
  }
  phases_ = std::move(phases);
}

coppice::Task<void> QueueController::Create(std::string name, std::string json) {
  constexpr model::Kind kind = model::kKind<model::Queue>;
  cluster::ObjectName object{std::string(kind.api_version), std::string(kind.resource), "", name};
  const auto made = co_await parts_.writer.CreateObject(std::move(object), std::move(json));
  if (!made.ok() && made.code() != Code::kAlreadyExists) {
    parts_.log.Warning("a queue could not be made", {{"queue", name}, {"error", made.status()}});
    co_await parts_.executor.Sleep(kAgain);
  }
  busy_.erase(name);
  parts_.wake();
}

coppice::Task<void> QueueController::Write(std::string name, std::string uid, std::string patch) {
  constexpr model::Kind kind = model::kKind<model::Queue>;
  cluster::ObjectName object{std::string(kind.api_version), std::string(kind.resource), "", name,
                             uid};
  const Status written = co_await PutStatus(parts_.writer, std::move(object), std::move(patch));
  if (!written.ok() && written.code() != Code::kNotFound)
    parts_.log.Warning("a queue's status could not be written",
                       {{"queue", name}, {"error", written}});
  // A moment for the watch to show it; counts change often, and the last ones are written.
  const Duration pause = written.ok() ? std::chrono::milliseconds(200) : kAgain;
  co_await parts_.executor.Sleep(pause);
  busy_.erase(name);
  parts_.wake();
}

}  // namespace coppice::batch
