#include "plugins/node_claims/kwok/kwok_claims.h"

#include <algorithm>
#include <utility>

#include "base/go_duration.h"
#include "cloud/cloud_node_claims.h"

namespace coppice::node_claims::kwok {
namespace {

constexpr std::string_view kScheme = "kwok://";
constexpr char kManaged[] = "kwok.x-k8s.io/node";  // what kwok's controller looks after

void AddSingleValues(const model::NodeRequirements& requirements, model::Labels& labels) {
  for (const model::NodeRequirement& requirement : requirements) {
    if (requirement.op() == model::NodeRequirement::Operator::kIn &&
        requirement.values().size() == 1) {
      labels[requirement.key()] = requirement.values().front();
    }
  }
}

std::string NodeNameOf(const model::NodeClaim& claim) {
  // The digits alone would do; the claim's name is for people.
  const std::string name = cloud::MachineNameOf(claim, "kwok");
  return "kwok-" + claim.metadata.name.substr(0, 200) + name.substr(name.rfind('-'));
}

}  // namespace

KwokClaims::KwokClaims(const cloud::Catalog& catalog, Clock& clock) : clock_(clock) {
  auto types = std::make_shared<cloud::InstanceTypes>();
  auto& well_known = traits_.labels.well_known;
  for (const char* label : {cloud::kKwokSizeLabel, cloud::kKwokFamilyLabel, cloud::kKwokCpuLabel,
                            cloud::kKwokMemoryLabel}) {
    well_known.insert(label);
  }
  for (const cloud::CatalogType& entry : catalog) {
    types->push_back(cloud::TypeOfCatalog(entry));
    for (const auto& offering : entry.offerings) {
      for (const auto& requirement : offering.requirements) well_known.insert(requirement.key);
    }
  }
  types_ = std::move(types);
}

std::vector<cloud::NodeClassKind> KwokClaims::SupportedNodeClasses() const {
  return {{kKwokGroup, "v1alpha1", kKwokKind}};
}

std::vector<cloud::RepairPolicy> KwokClaims::RepairPolicies() const {
  std::vector<cloud::RepairPolicy> policies = {{"Ready", "False", std::chrono::minutes(10)},
                                               {"Ready", "Unknown", std::chrono::minutes(10)}};
  for (cloud::RepairPolicy& policy : policies) policy.termination_grace_period = Duration::zero();
  return policies;
}

Result<model::NodeClaim> KwokClaims::Create(const model::NodeClaim& claim, Deadline) {
  const std::lock_guard lock(mutex_);
  const cloud::ProviderId id = std::string(kScheme) + NodeNameOf(claim);
  const auto known = machines_.find(id);
  if (known != machines_.end() && !known->second.status.allocatable.empty()) return known->second;
  if (!classes_known_) return Unavailable("no class is known yet");
  const auto& reference = claim.spec.node_class_ref;
  const auto it = reference ? classes_.find(reference->name) : classes_.end();
  if (it == classes_.end()) {
    return ResourceExhausted("KWOKNodeClass '" + (reference ? reference->name : "") +
                             "' does not exist");
  }
  const auto& metadata = it->second.node_class.metadata;
  const auto* ready = model::FindCondition(it->second.node_class.status.conditions, "Ready");
  if (metadata.deletion_timestamp || (ready != nullptr && ready->status == "False")) {
    return FailedPrecondition("KWOKNodeClass '" + reference->name + "' is not ready");
  }
  model::NodeClaim made = TRY(Launch(claim));
  made.status.provider_id = id;
  machines_[id] = made;
  return made;
}

// The cheapest; of equal ones the earlier type, and of one type the first zone.
Result<model::NodeClaim> KwokClaims::Launch(const model::NodeClaim& claim) const {
  const auto wanted = model::NodeRequirements::From(claim.spec.requirements, traits_.labels);
  const cloud::InstanceType* type = nullptr;
  const cloud::Offering* offering = nullptr;
  for (const cloud::InstanceType& candidate : *types_) {
    if (!candidate.requirements.Intersects(wanted)) continue;
    if (!cloud::Fits(claim.spec.requests, cloud::AllocatableGroups(candidate)[0].allocatable)) {
      continue;
    }
    for (const cloud::Offering& one : candidate.offerings) {
      if (!one.Launchable() || !wanted.Compatible(one.requirements, &traits_.labels)) continue;
      if (offering != nullptr && one.price >= offering->price) continue;
      type = &candidate;
      offering = &one;
    }
  }
  if (offering == nullptr) {
    return ResourceExhausted("nothing of the catalog that claim '" + claim.metadata.name +
                             "' allows is available");
  }
  model::NodeClaim made;
  made.metadata.name = claim.metadata.name;
  made.metadata.creation_timestamp = model::Time{clock_.Now()};
  made.metadata.labels = claim.metadata.labels;
  AddSingleValues(wanted, made.metadata.labels);
  AddSingleValues(type->requirements, made.metadata.labels);
  AddSingleValues(offering->requirements, made.metadata.labels);
  made.metadata.labels[kManaged] = "fake";
  made.status.capacity = type->capacity;
  made.status.allocatable = cloud::AllocatableGroups(*type)[0].allocatable;
  return made;
}

Status KwokClaims::Delete(const model::NodeClaim& claim, Deadline) {
  const std::lock_guard lock(mutex_);
  machines_.erase(claim.status.provider_id);
  return NotFound("there is no machine behind a node of kwok's");
}

Result<model::NodeClaim> KwokClaims::Get(const cloud::ProviderId& id, Deadline) {
  const std::lock_guard lock(mutex_);
  const auto it = machines_.find(id);
  if (it == machines_.end()) return NotFound("no claim has the node " + id);
  return it->second;
}

Result<std::vector<model::NodeClaim>> KwokClaims::List(Deadline) {
  const std::lock_guard lock(mutex_);
  std::vector<model::NodeClaim> all;
  for (const auto& [id, claim] : machines_) all.push_back(claim);
  return all;
}

Result<std::shared_ptr<const cloud::InstanceTypes>> KwokClaims::InstanceTypesFor(
    const model::NodePool&, const cloud::WaitingShapes&) const {
  return types_;
}

Result<std::string> KwokClaims::IsDrifted(const model::NodeClaim& claim) const {
  const std::lock_guard lock(mutex_);
  if (!machines_.contains(claim.status.provider_id)) {
    return NotFound("no claim has the node " + claim.status.provider_id);
  }
  return std::string();
}

void KwokClaims::SetClasses(std::vector<cloud::NodeClassInput> classes) {
  const std::lock_guard lock(mutex_);
  classes_known_ = true;
  classes_.clear();
  for (cloud::NodeClassInput& input : classes) {
    if (input.kind.group != kKwokGroup || input.kind.kind != kKwokKind) continue;
    classes_[input.node_class.metadata.name] = std::move(input);
  }
}

// There is nothing to wait for: every class is ready, as with the peer.
std::vector<cloud::NodeClassState> KwokClaims::ClassStates() const {
  const std::lock_guard lock(mutex_);
  std::vector<cloud::NodeClassState> states;
  for (const auto& [name, input] : classes_) {
    states.push_back({.kind = input.kind,
                      .name = name,
                      .generation = input.node_class.metadata.generation,
                      .known = true,
                      .ready = true,
                      .reason = "Ready"});
  }
  return states;
}

// After a restart the claims are all that there is to remember by. A machine here costs nothing, so
// none is a leak.
void KwokClaims::SetClaims(std::vector<cloud::ClaimRef> claims) {
  const std::lock_guard lock(mutex_);
  for (const cloud::ClaimRef& claim : claims) {
    if (!claim.provider_id.starts_with(kScheme)) continue;
    model::NodeClaim& machine = machines_[claim.provider_id];
    machine.status.provider_id = claim.provider_id;
  }
}

std::optional<cloud::NodeToRegister> KwokClaims::NodeFor(const model::NodeClaim& claim) const {
  const std::string_view id = claim.status.provider_id;
  if (!id.starts_with(kScheme)) return std::nullopt;
  cloud::NodeToRegister registered;
  registered.node = cloud::NodeOfClaim(claim, id.substr(kScheme.size()));
  registered.node.metadata.labels[kManaged] = "fake";
  registered.node.metadata.annotations[kManaged] = "fake";
  const std::lock_guard lock(mutex_);
  const auto& reference = claim.spec.node_class_ref;
  const auto it = reference ? classes_.find(reference->name) : classes_.end();
  if (it != classes_.end() && it->second.node_class.spec.node_registration_delay) {
    const auto delay = ParseGoDuration(*it->second.node_class.spec.node_registration_delay);
    if (delay.ok()) registered.after = *delay;
  }
  return registered;
}

}  // namespace coppice::node_claims::kwok
