#include "provision/pod_classes.h"

#include <algorithm>
#include <utility>

#include "base/go_sort.h"
#include "model/resources.h"
#include "model/taints.h"
#include "provision/pod_selection.h"
#include "provision/spec_key.h"

namespace coppice::provision {
namespace {

template <class Term>
bool DropHeaviest(std::vector<Term>& terms) {
  if (terms.empty()) return false;
  GoSort(terms, [](const Term& a, const Term& b) { return a.weight > b.weight; });
  terms.erase(terms.begin());
  return true;
}

bool DropSpreadWish(std::vector<model::TopologySpreadConstraint>& constraints) {
  const auto wish = std::ranges::find(constraints, "ScheduleAnyway",
                                      &model::TopologySpreadConstraint::when_unsatisfiable);
  if (wish == constraints.end()) return false;
  *wish = constraints.back();
  constraints.pop_back();
  return true;
}

bool TolerateAvoided(std::vector<model::Toleration>& tolerations) {
  const auto is_it = [](const model::Toleration& one) {
    return one.key.empty() && one.value.empty() && one.operator_ == "Exists" &&
           one.effect == model::kPreferNoSchedule;
  };
  if (std::ranges::any_of(tolerations, is_it)) return false;
  tolerations.push_back({.operator_ = "Exists", .effect = std::string(model::kPreferNoSchedule)});
  return true;
}

}  // namespace

bool RelaxNext(model::Pod& pod, bool tolerate_preferences) {
  if (pod.spec.affinity) {
    model::Affinity affinity = *pod.spec.affinity;
    const auto keep = [&](bool dropped) {
      if (dropped) pod.spec.affinity = affinity;
      return dropped;
    };
    if (affinity.node_affinity && affinity.node_affinity->required) {
      auto& terms = affinity.node_affinity->required->node_selector_terms;
      if (terms.size() > 1) {
        terms.erase(terms.begin());
        return keep(true);
      }
    }
    if (affinity.pod_affinity && keep(DropHeaviest(affinity.pod_affinity->preferred))) return true;
    if (affinity.pod_anti_affinity && keep(DropHeaviest(affinity.pod_anti_affinity->preferred)))
      return true;
    if (affinity.node_affinity && keep(DropHeaviest(affinity.node_affinity->preferred)))
      return true;
  }
  if (DropSpreadWish(pod.spec.topology_spread_constraints)) return true;
  return tolerate_preferences && TolerateAvoided(pod.spec.tolerations);
}

// A pod that is relaxed never comes here again: the default constraints that it has lost would be
// back.
ClassId PodClasses::Of(const PodPtr& pod, bool may_join_settling) {
  if (parts_.default_spread == nullptr || !pod->spec.topology_spread_constraints.empty())
    return Interned(pod, may_join_settling);
  std::string key = TwinKey(*pod) + DefaultSpread::OwnerKey(*pod);
  key += may_join_settling ? '1' : '0';
  const auto known = defaulted_.find(key);
  if (known != defaulted_.end()) return known->second;
  const PodPtr with = parts_.default_spread->With(*pod);
  const ClassId id = Interned(with == nullptr ? pod : with, may_join_settling);
  defaulted_.emplace(std::move(key), id);
  return id;
}

ClassId PodClasses::Interned(const PodPtr& pod, bool may_join_settling) {
  std::string key = TwinKey(*pod);
  key += may_join_settling ? '1' : '0';
  const auto [it, is_new] = ids_.try_emplace(std::move(key), static_cast<ClassId>(classes_.size()));
  if (is_new) classes_.push_back(Make(pod, may_join_settling));
  return it->second;
}

ClassId PodClasses::Relaxed(ClassId id) {
  PodClass& of = *classes_[id];
  if (of.relaxed_known) return of.relaxed;
  of.relaxed_known = true;
  auto pod = std::make_shared<model::Pod>(*of.pod);
  if (RelaxNext(*pod, parts_.tolerate_preferences))
    of.relaxed = Interned(pod, of.may_join_settling);
  return of.relaxed;
}

Bits& PodClasses::RefusedNodes(ClassId id, size_t nodes) {
  if (refused_nodes_.size() <= id) refused_nodes_.resize(classes_.size());
  if (refused_nodes_[id].size() != WordsFor(nodes)) refused_nodes_[id] = NoBits(nodes);
  return refused_nodes_[id];
}

HostedSet PodClasses::Hosted(const model::NodeRequirements& requirements) {
  const model::NodeRequirement* host = requirements.Find(model::kHostnameLabel);
  return {parts_.algebra.Intern(requirements),
          host == nullptr ? std::nullopt : std::optional(*host)};
}

std::unique_ptr<PodClass> PodClasses::Make(PodPtr pod, bool may_join_settling) {
  auto made = std::make_unique<PodClass>();
  const model::LabelRules& labels = parts_.options.labels;
  made->strict = Hosted(model::RequirementsOf(*pod, model::PodDemands::kRequired, labels));
  made->demands = parts_.options.preferences == PreferencePolicy::kIgnore
                      ? made->strict
                      : Hosted(model::RequirementsOf(*pod, model::PodDemands::kPreferred, labels));
  AddResources(made->request_list, model::PlacedRequestList(*pod));
  made->request_list[model::kPods] =
      model::Quantity::FromUnits(1, model::Quantity::Format::kDecimalExponent);
  made->requests = parts_.columns.Sparse(made->request_list);
  made->tolerations = parts_.taints.Tolerations(pod->spec.tolerations);
  made->ports = HostPortsOf(*pod);
  made->labels = parts_.topology.LabelsOf(*pod);
  made->rules = parts_.topology.RulesOf(*pod, made->tolerations);
  made->inverse_rules = parts_.topology.InverseRulesOf(*pod, made->tolerations);
  made->has_devices = HasDeviceClaims(*pod);
  made->may_join_settling = may_join_settling;
  if (!pod->spec.volumes.empty()) {
    auto volumes = parts_.storage.VolumesOf(*pod);
    if (volumes.ok()) {
      made->volumes = std::move(*volumes);
    } else {
      made->volumes_error = volumes.status().message();
    }
    const auto alternatives = parts_.storage.TopologyOf(*pod, labels);
    made->volumes_unplaced = !alternatives.ok();
    if (alternatives.ok()) {
      for (const auto& one : *alternatives) made->volume_alternatives.push_back(Hosted(one));
    }
  }
  made->pod = std::move(pod);
  return made;
}

}  // namespace coppice::provision
