// From what was planned to what is told: finished claims, and sentences for refused pods.

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/strings.h"
#include "provision/solve_run.h"
#include "provision/tolerance.h"

namespace coppice::provision {
namespace {

using What = TemplateRefusal::What;

// Of resources that both have.
model::ResourceList Least(const model::ResourceList& a, const model::ResourceList& b) {
  model::ResourceList least;
  for (const auto& [name, amount] : a) {
    const model::Quantity* other = b.Find(name);
    if (other != nullptr) least[name] = other->Compare(amount) < 0 ? *other : amount;
  }
  return least;
}

model::ResourceList Most(const model::ResourceList& a, const model::ResourceList& b) {
  model::ResourceList most = a;
  for (const auto& [name, amount] : b) {
    const model::Quantity* there = most.Find(name);
    if (there == nullptr || amount.Compare(*there) > 0) most[name] = amount;
  }
  return most;
}

std::string WithOverhead(const ClaimTemplate& from, uint64_t looked_at,
                         const model::ResourceList& requests) {
  std::optional<model::ResourceList> least;
  std::optional<model::ResourceList> most;
  for (size_t at = 0; at < from.daemons.size() && at < kBitsPerWord; ++at) {
    if ((looked_at >> at & 1) == 0 || !from.daemons[at].has_daemons) continue;
    const model::ResourceList& overhead = from.daemons[at].overhead;
    least = least ? Least(*least, overhead) : overhead;
    most = most ? Most(*most, overhead) : overhead;
  }
  if (!least || least->empty()) return ResourcesText(requests);
  AddResources(*least, requests);
  AddResources(*most, requests);
  const std::string low = ResourcesText(*least);
  const std::string high = ResourcesText(*most);
  return low == high ? low : fmt::format("min={}, max={}", low, high);
}

}  // namespace

std::string ResourcesText(const model::ResourceList& resources) {
  std::string text = "{";
  for (const auto& [name, amount] : resources) {
    if (text.size() > 1) text += ',';
    AppendJsonString(text, name);
    text += ':';
    AppendJsonString(text, amount.Canonical());
  }
  return text + "}";
}

std::string TypesSentence(const TypeFlags& flags) {
  if (!flags.requirements_met && !flags.fits && !flags.has_offering) {
    return "no instance type met the scheduling requirements or had enough resources or had a "
           "required offering";
  }
  if (!flags.requirements_met && !flags.fits)
    return "no instance type met the scheduling requirements or had enough resources";
  if (!flags.requirements_met && !flags.has_offering)
    return "no instance type met the scheduling requirements or had a required offering";
  if (!flags.fits && !flags.has_offering)
    return "no instance type had enough resources or had a required offering";
  if (!flags.requirements_met) return "no instance type met all requirements";
  if (!flags.fits) return "no instance type has enough resources";
  if (!flags.has_offering) return "no instance type has the required offering";
  if (flags.requirements_and_fits) {
    return "no instance type which met the scheduling requirements and had enough resources, had a "
           "required offering";
  }
  if (flags.fits_and_offering) {
    return "no instance type which had enough resources and the required offering met the "
           "scheduling "
           "requirements";
  }
  if (flags.requirements_and_offering) {
    return "no instance type which met the scheduling requirements and the required offering had "
           "the "
           "required resources";
  }
  return "no instance type met the requirements/resources/offering tuple";
}

PlannedClaim SolveRun::Finish(Claim& claim) {
  PlannedClaim planned{
      .pool = claim.from->pool, .pods = claim.pods, .min_values_relaxed = claim.min_values_relaxed};
  if (world_.options.upstream_exact) {  // there all claims of a pool share one annotation
    planned.min_values_relaxed =
        last_relaxed_[static_cast<size_t>(claim.from - world_.templates.data())];
  }
  SetId set = claim.set;
  if (!claim.reserved.empty()) {
    // Pinned, so that a reservation that it loses shows as drift.
    planned.reservations.assign(claim.reserved.begin(), claim.reserved.end());
    set = algebra_.Replace(set, algebra_.Intern(model::NodeRequirement::In(
                                    model::kCapacityTypeLabel, {std::string(model::kReserved)})));
    set = algebra_.AddOne(set, algebra_.Intern(model::NodeRequirement::In(
                                   world_.options.reservation_label, planned.reservations)));
  }
  planned.requirements = algebra_.Expand(set);
  CatalogIndex& catalog = *claim.from->catalog;
  for (const uint32_t type : catalog.PriceOrder(set)) {
    if (HasBit(claim.types, type)) planned.types.push_back(&catalog.type(type));
  }
  for (const size_t pod : claim.pods)
    AddResources(planned.requests, run_classes_[class_of_pod_[pod]]->pods->request_list);
  AddDaemonRequests(claim, planned.requests);
  return planned;
}

void SolveRun::AddDaemonRequests(const Claim& claim, model::ResourceList& requests) const {
  std::optional<model::ResourceList> least;
  for (const DaemonGroup& group : claim.from->daemons) {
    if (!Overlap(group.types, claim.types)) continue;
    least = least ? Least(*least, group.overhead) : group.overhead;
  }
  if (least) AddResources(requests, *least);
}

std::string SolveRun::Text(const Refusal& refusal) const {
  if (!refusal.text.empty()) return refusal.text;
  std::vector<std::string> texts;
  for (const TemplateRefusal& one : refusal.templates) texts.push_back(Text(one));
  return Join(texts, "; ");
}

std::string SolveRun::Text(const TemplateRefusal& refusal) const {
  const ClaimTemplate& from = world_.templates[refusal.template_index];
  const RunClass& of = *run_classes_[refusal.run_class];
  const model::LabelRules& rules = world_.options.labels;
  const std::string& pool = world_.input.pools[from.pool].name;
  const auto whole = [&](SetId set, const std::optional<model::NodeRequirement>& host) {
    model::NodeRequirements all = algebra_.Expand(set);
    if (host) all.Add(*host);
    return all;
  };
  const auto with_host = [&](SetId set) {
    return whole(set, model::NodeRequirement::In(model::kHostnameLabel, {refusal.host}));
  };
  switch (refusal.what) {
    case What::kNodeLimit:
      return fmt::format("node limits have been exhausted for nodepool (NodePool={})", pool);
    case What::kLimits:
      return fmt::format("all available instance types exceed limits for nodepool (NodePool={})",
                         pool);
    case What::kTaints:
      return WhyNotTolerated(world_.taints.taints(from.taints), of.pods->pod->spec.tolerations);
    case What::kIncompatible: {
      const auto demand = whole(of.pods->demands.set, of.pods->demands.host);
      return "incompatible requirements, " +
             Join(with_host(refusal.offer).WhyNotCompatible(demand, &rules), "; ");
    }
    case What::kIncompatibleVolumes: {
      const HostedSet& alternative = of.pods->volume_alternatives[refusal.alternative];
      return "incompatible volume requirements, " +
             Join(with_host(refusal.offer)
                      .WhyNotCompatible(whole(alternative.set, alternative.host), &rules),
                  "; ");
    }
    case What::kTopology:
      return topology_->Text(refusal.group, of.rules, refusal.offer, refusal.host);
    case What::kTopologyIncompatible:
      return Join(
          algebra_.Expand(refusal.offer).WhyNotCompatible(algebra_.Expand(refusal.demand), &rules),
          "; ");
    case What::kTypes:
    case What::kMinValues: {
      const std::string sentence =
          refusal.what == What::kMinValues ? refusal.text : TypesSentence(refusal.flags);
      std::string text =
          fmt::format("{}, requirements={}, resources={}", sentence,
                      algebra_.Expand(refusal.offer).ToString(rules),
                      WithOverhead(from, refusal.daemon_groups, of.pods->request_list));
      const bool only_room = refusal.what == What::kTypes && refusal.flags.requirements_met &&
                             refusal.flags.has_offering && !refusal.flags.fits;
      const Amount cpu = AmountOf(of.pods->requests, ResourceColumns::kCpuColumn);
      if (only_room && cpu >= ToAmount(model::Quantity::FromUnits(1'000'000)))
        text += " (CPU request >= 1 Million, m vs M typo?)";
      return text;
    }
    case What::kVolumeLimit:
    case What::kReservation:
    case What::kReservationPlain:
      break;
  }
  return refusal.text;
}

}  // namespace coppice::provision
