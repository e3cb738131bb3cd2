#include "provision/claim_builder.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "base/strings.h"

namespace coppice::provision {
namespace {

// Only there so that daemon sets that select them are counted; on a claim they would be a lie.
bool IsOfSimulation(std::string_view key) {
  return key == model::kRegisteredLabel || key == model::kInitializedLabel;
}

std::string NodeClassLabel(const model::NodeClassReference& reference) {
  return reference.group + "/" + Lower(reference.kind);
}

// Of what can be bought now: a full reservation would be promised and not kept.
std::vector<std::string> CapacityTypesOf(const cloud::TypeList& types,
                                         const model::NodeRequirements& requirements,
                                         const model::LabelRules& labels) {
  std::set<std::string> found;
  for (const cloud::InstanceType* type : types) {
    for (const cloud::Offering& offering : type->offerings) {
      if (offering.Launchable() && requirements.Compatible(offering.requirements, &labels))
        found.insert(offering.CapacityType());
    }
  }
  return {found.begin(), found.end()};
}

}  // namespace

model::NodeRequirements RequirementsOf(const model::NodePool& pool,
                                       const model::LabelRules& rules) {
  const model::NodeClaimTemplate& from = pool.spec.template_;
  model::Labels labels = from.labels;
  labels[model::kNodePoolLabel] = pool.metadata.name;
  if (from.spec.node_class_ref)
    labels[NodeClassLabel(*from.spec.node_class_ref)] = from.spec.node_class_ref->name;
  auto requirements = model::NodeRequirements::From(from.spec.requirements, rules);
  requirements.Add(model::NodeRequirements::FromLabels(labels, rules));
  return requirements;
}

void SettleLabels(const model::NodeRequirements& requirements, model::Labels& labels) {
  for (const model::NodeRequirement& requirement : requirements) {
    if (!requirement.complement() && requirement.values().size() == 1)
      labels[requirement.key()] = requirement.values()[0];
  }
}

Pool PoolFrom(const model::NodePool& pool, std::shared_ptr<const cloud::InstanceTypes> types) {
  const model::NodeClaimTemplate& from = pool.spec.template_;
  Pool made{.name = pool.metadata.name,
            .weight = pool.spec.weight.value_or(0),
            .labels = from.labels,
            .requirements = from.spec.requirements,
            .taints = from.spec.taints,
            .limits = pool.spec.limits,
            .types = std::move(types)};
  if (from.spec.node_class_ref) {
    made.node_class_label = NodeClassLabel(*from.spec.node_class_ref);
    made.node_class_name = from.spec.node_class_ref->name;
  }
  return made;
}

ClaimFacts FactsFrom(const model::NodeClaim& claim) {
  return {.name = claim.metadata.name,
          .labels = claim.metadata.labels,
          .taints = claim.spec.taints,
          .startup_taints = claim.spec.startup_taints,
          .capacity = claim.status.capacity,
          .allocatable = claim.status.allocatable};
}

model::NodeClaim ClaimFrom(const model::NodePool& pool, const PlannedClaim& planned,
                           const model::LabelRules& labels) {
  const model::NodeClaimTemplate& from = pool.spec.template_;
  model::NodeRequirements requirements = planned.requirements;
  std::vector<std::string> names;
  for (const cloud::InstanceType* type : planned.types) names.push_back(type->name);
  if (!names.empty())
    requirements.Add(model::NodeRequirement::In(model::kInstanceTypeLabel, std::move(names)));
  auto capacity_types = CapacityTypesOf(planned.types, requirements, labels);
  if (!capacity_types.empty()) {
    requirements.Add(
        model::NodeRequirement::In(model::kCapacityTypeLabel, std::move(capacity_types)));
  }
  model::NodeClaim claim;
  static_cast<model::NodeClaimTemplateSpec&>(claim.spec) = from.spec;
  claim.spec.requests = planned.requests;
  claim.spec.requirements.clear();
  claim.metadata.generate_name = pool.metadata.name + "-";
  claim.metadata.labels = from.labels;
  claim.metadata.labels[model::kNodePoolLabel] = pool.metadata.name;
  if (from.spec.node_class_ref) {
    claim.metadata.labels[NodeClassLabel(*from.spec.node_class_ref)] =
        from.spec.node_class_ref->name;
  }
  for (const model::NodeRequirement& requirement : requirements) {
    if (IsOfSimulation(requirement.key())) continue;
    for (model::RequirementSpec& spec : requirement.ToSpec())
      claim.spec.requirements.push_back(std::move(spec));
    // Well-known ones depend on the machine that is bought.
    if (labels.IsWellKnown(requirement.key()) || labels.restricted.contains(requirement.key()))
      continue;
    const std::string value = requirement.Any();
    if (!value.empty()) claim.metadata.labels[requirement.key()] = value;
  }
  claim.metadata.annotations = from.annotations;
  claim.metadata.annotations[model::karpenter::kHashAnnotation] = model::HashOf(pool);
  claim.metadata.annotations[model::karpenter::kHashVersionAnnotation] =
      model::kNodePoolHashVersion;
  claim.metadata.annotations[model::karpenter::kMinValuesRelaxedAnnotation] =
      planned.min_values_relaxed ? "true" : "false";
  claim.metadata.owner_references.push_back({.api_version = "karpenter.sh/v1",
                                             .kind = "NodePool",
                                             .name = pool.metadata.name,
                                             .uid = pool.metadata.uid,
                                             .block_owner_deletion = true});
  return claim;
}

}  // namespace coppice::provision
