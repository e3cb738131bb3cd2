// In which zone pods that wait can run, for Karpenter's metric of it.

#include "provision/solve_run.h"

namespace coppice::provision {

namespace {

using Operator = model::NodeRequirement::Operator;

}  // namespace

// The zones that its volumes leave, if they leave less than all: of several alternatives any.
std::optional<std::set<std::string>> SolveRun::VolumeZones(const PodClass& pods) const {
  std::set<std::string> zones;
  for (const HostedSet& alternative : pods.volume_alternatives) {
    const ReqId id = algebra_.Find(alternative.set, algebra_.Key(model::kZoneLabel));
    if (id == kNoId || algebra_.requirement(id).op() != Operator::kIn) return std::nullopt;
    const auto& values = algebra_.requirement(id).values();
    zones.insert(values.begin(), values.end());
  }
  if (pods.volume_alternatives.empty()) return std::nullopt;
  return zones;
}

std::string SolveRun::ZoneOf(const RunClass& of) {
  const auto by_rules = topology_->DomainsLeft(of.rules, model::kZoneLabel);
  if (by_rules && by_rules->empty()) return "none";
  const ReqId id = algebra_.Find(of.pods->strict.set, algebra_.Key(model::kZoneLabel));
  const model::NodeRequirement demand =
      id == kNoId ? model::NodeRequirement::Exists(model::kZoneLabel) : algebra_.requirement(id);
  const auto by_volumes = VolumeZones(*of.pods);
  std::set<std::string> zones;
  if (demand.op() == Operator::kIn) {
    zones.insert(demand.values().begin(), demand.values().end());
  } else if (by_volumes) {
    zones = *by_volumes;
  } else if (by_rules) {
    zones = *by_rules;
  } else {
    return "flexible";
  }
  std::erase_if(zones, [&](const std::string& zone) {
    return !demand.Has(zone) || (by_volumes && !by_volumes->contains(zone)) ||
           (by_rules && !by_rules->contains(zone));
  });
  return zones.empty() ? "none" : zones.size() > 1 ? "flexible" : *zones.begin();
}

void SolveRun::CountZones(SolveOutcome& outcome) {
  std::map<uint32_t, std::string> zones;  // by class
  for (size_t pod = 0; pod < class_of_pod_.size(); ++pod) {
    const uint32_t at = class_of_pod_[pod];
    if (at == kNoId || request_.pods[pod]->status.phase != "Pending") continue;
    const auto [zone, is_new] = zones.try_emplace(at);
    if (is_new) zone->second = ZoneOf(*run_classes_[at]);
    ++outcome.pending_by_zone[zone->second];
  }
}

}  // namespace coppice::provision
