#include "provision/topology_facts.h"

#include <algorithm>
#include <limits>
#include <set>
#include <utility>

#include "provision/pod_selection.h"
#include "provision/spec_key.h"

namespace coppice::provision {

bool HostMeets(const std::string* host, const std::optional<model::NodeRequirement>& demand) {
  if (!demand) return true;
  return host == nullptr ? model::AcceptsAbsence(demand->op()) : demand->Has(*host);
}

TopologyFacts::TopologyFacts(const SolverInput& input, const SolverOptions& options,
                             Algebra& algebra, TaintBook& taints)
    : input_(input), options_(options), algebra_(algebra), taints_(taints) {
  for (const NodePtr& node : input.node_objects) FactOf(*node);
  for (const StateNode& node : input.nodes) {
    if (node.node != nullptr) FactOf(*node.node);
  }
  for (const Pool& pool : input.pools) NoteDomains(pool);
  for (const StateNode& node : input.nodes) {
    for (const PodPtr& pod : node.pods) NotePlaced(pod);
  }
  for (const PodPtr& pod : input.other_pods) NotePlaced(pod);
  NoteKeepers();
}

// Only of machines that we track, whether the pod is about to end or not. By name, so that whose
// tolerations a group has does not depend on the order of lists.
void TopologyFacts::NoteKeepers() {
  std::vector<const model::Pod*> keepers;
  for (const StateNode& node : input_.nodes) {
    if (node.node == nullptr) continue;
    for (const PodPtr& pod : node.pods) {
      const bool keeps = !IsTerminal(*pod) && pod->spec.affinity &&
                         pod->spec.affinity->pod_anti_affinity &&
                         !pod->spec.affinity->pod_anti_affinity->required.empty();
      if (keeps) keepers.push_back(pod.get());
    }
  }
  std::ranges::sort(keepers, {}, [](const model::Pod* pod) {
    return std::pair<std::string_view, std::string_view>(pod->metadata.namespace_,
                                                         pod->metadata.name);
  });
  for (const model::Pod* pod : keepers) {
    const model::Labels* labels = NodeLabelsOf(*pod);
    for (const SpecId rule : InverseRulesOf(*pod, taints_.Tolerations(pod->spec.tolerations))) {
      KeeperGroup& group =
          keeper_groups_.try_emplace(specs_[rule].identity, KeeperGroup{rule, {}}).first->second;
      const std::string* domain =
          labels == nullptr ? nullptr : labels->Find(algebra_.key_name(specs_[rule].key));
      if (domain != nullptr) ++group.counts[*domain];
    }
  }
}

const model::Labels* TopologyFacts::NodeLabelsOf(const model::Pod& pod) const {
  const auto node = nodes_.find(pod.spec.node_name);
  return node == nodes_.end() ? nullptr : &node->second.node->metadata.labels;
}

const TopologyFacts::NodeFact& TopologyFacts::FactOf(const model::Node& node) {
  const auto [it, is_new] = nodes_.try_emplace(node.metadata.name);
  if (is_new) {
    const auto set = model::NodeRequirements::FromLabels(node.metadata.labels, options_.labels);
    it->second = {&node, algebra_.Intern(set), taints_.Taints(node.spec.taints)};
  }
  return it->second;
}

void TopologyFacts::NoteDomain(const std::string& key, const std::string& value, TaintsId taints) {
  DomainTaints& domains = domains_[key];
  auto [it, is_new] = domains.try_emplace(value);
  std::vector<TaintsId>& known = it->second;
  // A pool without taints makes the domain everybody's.
  if (is_new || taints_.taints(taints).empty()) {
    known = {taints};
  } else if (!taints_.taints(known.front()).empty() &&
             std::ranges::find(known, taints) == known.end()) {
    known.push_back(taints);
  }
}

void TopologyFacts::NoteDomains(const Pool& pool) {
  if (pool.types == nullptr || pool.types->empty()) return;
  const TaintsId taints = taints_.Taints(pool.taints);
  auto own = model::NodeRequirements::From(pool.requirements, options_.labels);
  own.Add(model::NodeRequirements::FromLabels(pool.labels, options_.labels));
  std::map<std::string, std::set<std::string>> seen;
  for (const cloud::InstanceType& type : *pool.types) {
    for (const model::NodeRequirement& of_type : type.requirements) {
      const model::NodeRequirement* of_pool = own.Find(of_type.key());
      const auto both = of_pool == nullptr ? of_type : of_type.Intersection(*of_pool);
      domains_[of_type.key()];
      for (const std::string& value : both.values()) {
        if (seen[of_type.key()].insert(value).second) NoteDomain(of_type.key(), value, taints);
      }
    }
    for (const model::NodeRequirement& of_pool : own) {
      if (type.requirements.Has(of_pool.key())) continue;
      domains_[of_pool.key()];
      // Also those that are excluded: the peer lists the values of any operator here.
      for (const std::string& value : of_pool.values()) {
        if (seen[of_pool.key()].insert(value).second) NoteDomain(of_pool.key(), value, taints);
      }
    }
  }
  for (const model::NodeRequirement& of_pool : own) {
    if (of_pool.op() != model::NodeRequirement::Operator::kIn) continue;
    for (const std::string& value : of_pool.values()) NoteDomain(of_pool.key(), value, taints);
  }
}

void TopologyFacts::NotePlaced(const PodPtr& pod) {
  if (pod->spec.node_name.empty() || !IsActive(*pod)) return;
  const auto node = nodes_.find(pod->spec.node_name);
  if (node != nodes_.end()) placed_.push_back({pod.get(), LabelsOf(*pod), &node->second});
}

LabelsId TopologyFacts::LabelsOf(const model::Pod& pod) {
  SpecKey key;
  key.Text(pod.metadata.namespace_).Add(pod.metadata.labels);
  const auto [it, is_new] =
      labels_ids_.try_emplace(std::move(key).Take(), static_cast<LabelsId>(labels_.size()));
  if (is_new) labels_.emplace_back(pod.metadata.namespace_, pod.metadata.labels);
  return it->second;
}

bool TopologyFacts::Selects(SpecId id, LabelsId labels) {
  if (const uint32_t* known = selects_.Find(id, labels)) return *known != 0;
  const TopologySpec& spec = specs_[id];
  const auto& [namespace_, values] = labels_[labels];
  const bool selects =
      std::ranges::binary_search(spec.namespaces, namespace_) && spec.selector.Matches(values);
  selects_.Put(id, labels, selects ? 1 : 0);
  return selects;
}

bool TopologyFacts::FilterMatches(const NodeFilter& filter, TaintsId taints, SetId set,
                                  const std::string* host) {
  if (filter.honors_taints && !taints_.Tolerates(filter.tolerations, taints)) return false;
  return !filter.honors_affinity || filter.any_of.empty() ||
         std::ranges::any_of(filter.any_of, [&](const HostedSet& one) {
           return algebra_.Compatible(set, one.set, false) && HostMeets(host, one.host);
         });
}

const std::vector<std::string>& TopologyFacts::Universe(SpecId id) {
  const auto [it, is_new] = universes_.try_emplace(id);
  if (!is_new) return it->second;
  const TopologySpec& spec = specs_[id];
  const auto domains = domains_.find(algebra_.key_name(spec.key));
  if (domains == domains_.end()) return it->second;
  // Only a spread that ignores taints looks past them; rules between pods never do.
  const bool ignores_taints = spec.kind == TopologyKind::kSpread && !spec.filter.honors_taints;
  for (const auto& [value, taints] : domains->second) {
    if (ignores_taints || std::ranges::any_of(taints, [&](TaintsId one) {
          return taints_.Tolerates(spec.creator, one);
        })) {
      it->second.push_back(value);
    }
  }
  return it->second;
}

const std::string* TopologyFacts::DomainAt(SpecId id, LabelsId labels, const NodeFact& node) {
  const TopologySpec& spec = specs_[id];
  const bool counts = spec.selects_all_placed
                          ? std::ranges::binary_search(spec.namespaces, labels_[labels].first)
                          : Selects(id, labels);
  if (!counts) return nullptr;
  const std::string* host = node.node->metadata.labels.Find(model::kHostnameLabel);
  if (!FilterMatches(spec.filter, node.taints, node.set, host)) return nullptr;
  const std::string* domain = node.node->metadata.labels.Find(algebra_.key_name(spec.key));
  // The kubelet sets the hostname; until then the name has to do.
  return domain == nullptr && spec.is_hostname ? &node.node->metadata.name : domain;
}

const DomainCounts& TopologyFacts::PodsPerDomain(SpecId id) {
  const auto [it, is_new] = pod_counts_.try_emplace(id);
  if (!is_new) return it->second;
  for (const Placed& placed : placed_) {
    const std::string* domain = DomainAt(id, placed.labels, *placed.node);
    if (domain != nullptr) ++it->second[*domain];
  }
  return it->second;
}

const std::string* TopologyFacts::DomainOf(SpecId id, const model::Pod& pod) {
  const auto node = nodes_.find(pod.spec.node_name);
  if (node == nodes_.end() || !IsActive(pod)) return nullptr;
  return DomainAt(id, LabelsOf(pod), node->second);
}

const DomainCounts& TopologyFacts::NodesPerDomain(SpecId id) {
  const auto [it, is_new] = node_counts_.try_emplace(id);
  if (!is_new) return it->second;
  for (const StateNode& node : input_.nodes) {
    if (node.marked_for_deletion) continue;
    if (const std::string* domain = DomainOf(id, node)) ++it->second[*domain];
  }
  return it->second;
}

const std::string* TopologyFacts::DomainOf(SpecId id, const StateNode& node) {
  if (node.node == nullptr) return nullptr;
  const TopologySpec& spec = specs_[id];
  const NodeFact& fact = FactOf(*node.node);
  const std::string* host = node.node->metadata.labels.Find(model::kHostnameLabel);
  if (!FilterMatches(spec.filter, fact.taints, fact.set, host)) return nullptr;
  return node.labels().Find(algebra_.key_name(spec.key));
}

}  // namespace coppice::provision
