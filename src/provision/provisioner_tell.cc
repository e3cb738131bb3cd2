// What a run of the provisioner tells: events of pods that get nothing, and its metrics.

#include "provision/provisioner.h"

namespace coppice::provision {

void Provisioner::TellIgnored(const DisruptionWorld& world, report::Provisioning& told) {
  const StorageIndex storage(world.solver.storage);
  const StorageRules rules = StorageRulesOf(context());
  size_t ignored = 0;
  for (const auto* entry : context().world().Unbound()) {
    const PodPtr& pod = entry->pod;
    if (!IsProvisionable(*pod)) continue;
    if (context().parts.not_ours && context().parts.not_ours(*pod)) continue;
    const auto refusal = Validate(*pod, storage, context().labels(), rules);
    if (!refusal) continue;
    ++ignored;
    if (!refusal->silent) {
      context().Tell(Context::Of(*pod), "Warning", "FailedScheduling",
                     "Failed to schedule pod, " + refusal->text, kFailedAgain);
    }
    told.unplaced.push_back({.pod = pod, .text = refusal->text, .ignored = true});
  }
  context().Set("karpenter_scheduler_ignored_pods_count",
                "Number of pods ignored during scheduling by Karpenter",
                static_cast<double>(ignored));
}

void Provisioner::TellErrors(const SolveRequest& request, const SolveOutcome& outcome,
                             report::Provisioning& told) {
  size_t unschedulable = 0;
  for (const PodError& error : outcome.errors) {
    const PodPtr& pod = request.pods[error.pod];
    if (error.kind == PodErrorKind::kReservation) continue;  // it will be tried again
    ++unschedulable;
    context().Tell(Context::Of(*pod), "Warning", "FailedScheduling",
                   "Failed to schedule pod, " + error.text, kFailedAgain);
    told.unplaced.push_back({.pod = pod, .text = error.text});
  }
  for (const size_t pod : outcome.left_out) {
    told.unplaced.push_back(
        {.pod = request.pods[pod], .text = "its volumes could not be looked up", .ignored = true});
  }
  context().Set("karpenter_scheduler_unschedulable_pods_count", "The number of unschedulable Pods.",
                static_cast<double>(unschedulable), {{"controller", "provisioner"}});
}

void Provisioner::NoteDecisions(const SolveRequest& request, const SolveOutcome& outcome) {
  std::vector<bool> placed(request.pods.size(), false);
  for (const auto& claim : outcome.claims) {
    for (const size_t pod : claim.pods) placed[pod] = true;
  }
  for (const auto& node : outcome.existing) {
    for (const size_t pod : node.pods) placed[pod] = true;
  }
  const TimePoint now = context().Now();
  for (size_t pod = 0; pod < placed.size(); ++pod)
    parts_.times.Decided(*request.pods[pod], placed[pod], now);
}

void Provisioner::TellZones(const SolveOutcome& outcome) {
  constexpr char kName[] = "karpenter_scheduler_pending_pods_by_effective_zone_count";
  const auto labels = [](const std::string& zone) {
    return MetricLabels{{"controller", "provisioner"}, {"zone", zone}};
  };
  for (const std::string& zone : zones_told_) {
    if (!outcome.pending_by_zone.contains(zone))
      context().parts.metrics.RemoveGauge(kName, labels(zone));
  }
  zones_told_.clear();
  for (const auto& [zone, count] : outcome.pending_by_zone) {
    zones_told_.insert(zone);
    context().Set(kName,
                  "Pods that wait, by the one zone in which they can run, \"flexible\" or "
                  "\"none\".",
                  static_cast<double>(count), labels(zone));
  }
}

}  // namespace coppice::provision
