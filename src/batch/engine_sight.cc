// What the engine does not see: pods that cannot be read, and a view that is too old to decide on.

#include <algorithm>

#include "batch/engine.h"

namespace coppice::batch {
namespace {

constexpr Duration kStaleAgain = std::chrono::minutes(1);

}  // namespace

void Engine::NoteUnreadable(report::SessionReport& report) const {
  const auto& names = parts_.options.session.scheduler_names;
  for (const cluster::World::PodEntry* entry : own_.Unbound()) {
    const model::Pod& pod = *entry->pod;
    if (!pod.metadata.unreadable) continue;
    const bool ours = std::ranges::find(names, pod.spec.scheduler_name) != names.end();
    if (ours || !JobIdOf(pod).empty()) {
      report.unreadable.push_back({pod.metadata.namespace_ + "/" + pod.metadata.name, JobIdOf(pod),
                                   pod.metadata.unreadable->what});
    }
  }
}

bool Engine::TooStale(report::SessionReport& report, TimePoint now) {
  report.error = parts_.stale ? parts_.stale() : "";
  if (report.error.empty()) {
    told_stale_.reset();
    return false;
  }
  if (!told_stale_ || now >= Later(*told_stale_, kStaleAgain)) {
    told_stale_ = now;
    parts_.log.Error("there is no session", {{"error", report.error}});
  }
  return true;
}

}  // namespace coppice::batch
