// Pods that the engine gives nodes: a gang whole or not at all, numbers when it decides, events at
// the end.

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

#include "batch/engine.h"

namespace coppice::batch {

// Tasks one by one, jobs once.
void Engine::TellAssumed(const std::vector<report::SessionReport::Placement>& placements,
                         TimePoint now) const {
  if (parts_.metrics == nullptr) return;
  std::set<std::string> jobs;
  for (const auto& placement : placements) {
    const size_t slash = placement.pod.find('/');
    const cluster::PodPtr pod =
        own_.FindPod(placement.pod.substr(0, slash), placement.pod.substr(slash + 1));
    if (pod == nullptr) continue;
    parts_.metrics->TaskReached("Assumed", *pod, now);
    jobs.insert(JobIdOf(*pod));
  }
  for (const std::string& job : jobs) {
    const size_t slash = job.find('/');
    if (slash == std::string::npos) continue;
    const auto* group =
        own_.objects<model::PodGroup>().Find(job.substr(0, slash), job.substr(slash + 1));
    if (group != nullptr)
      parts_.metrics->JobPlaced(*group, parts_.options.session.default_queue, now);
  }
}

void Engine::BindingEnded(const cluster::PodPtr& pod, const Status& status, Duration took) {
  const TimePoint now = parts_.executor.clock().Now();
  const model::ObjectMeta& meta = pod->metadata;
  if (parts_.metrics != nullptr) {
    parts_.metrics->BindingEnded(status, took);
    if (status.ok()) parts_.metrics->TaskReached("Bound", *pod, now);
  }
  if (status.ok()) {
    const cluster::PodPtr shown = own_.FindPod(meta.namespace_, meta.name);
    const std::string node = shown == nullptr ? "" : shown->spec.node_name;
    statuses_.Tell({.kind = "Pod",
                    .namespace_ = meta.namespace_,
                    .name = meta.name,
                    .uid = meta.uid,
                    .type = "Normal",
                    .reason = "Scheduled",
                    .text = fmt::format("Successfully assigned {}/{} to {}", meta.namespace_,
                                        meta.name, node)},
                   now);
    return;
  }
  parts_.log.Warning("a pod could not be bound",
                     {{"pod", meta.namespace_ + "/" + meta.name}, {"error", status}});
  if (status.code() != Code::kNotFound) statuses_.BindFailed(*pod, status, now);
  if (Changed(now)) Wake();
}

// The world may have moved on since the session looked at it: a gang starts whole all the same.
void Engine::BindAll(const std::vector<Outcome::Bind>& binds, report::SessionReport& report) {
  std::map<std::string, std::string> short_of;
  const auto stands = [&](const Outcome::Bind& bind) { return binder_.Check(bind).ok(); };
  if (!std::ranges::all_of(binds, stands)) short_of = FallShort(binds);
  for (const Outcome::Bind& bind : binds) {
    const auto in_part = short_of.empty() ? short_of.end() : short_of.find(JobOf(bind));
    const Status begun =
        in_part == short_of.end() ? binder_.Begin(bind) : FailedPrecondition(in_part->second);
    if (begun.ok()) {
      report.placements.push_back({bind.pod.key(), bind.node});
      parts_.log.Debug("a pod is bound", {{"pod", bind.pod.key()}, {"node", bind.node}});
    } else {
      report.refused.push_back({bind.pod.key(), begun.message()});
      parts_.log.Info("a placement is not carried out",
                      {{"pod", bind.pod.key()}, {"node", bind.node}, {"why", begun.message()}});
    }
  }
}

}  // namespace coppice::batch
