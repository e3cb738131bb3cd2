// A pod's rules as specs, and which of them are one and the same.

#include <algorithm>
#include <limits>
#include <set>
#include <utility>

#include "provision/spec_key.h"
#include "provision/topology_facts.h"

namespace coppice::provision {
namespace {

// The peer finds twins by a hash in which a thing that occurs twice cancels itself out.
template <class T>
std::set<T> OddOnes(const std::vector<T>& all) {
  std::set<T> odd;
  for (const T& one : all) {
    if (!odd.insert(one).second) odd.erase(one);
  }
  return odd;
}

std::string SelectorText(const std::optional<model::LabelSelector>& selector) {
  SpecKey key;
  key.Number(selector ? 1 : 0);
  if (!selector) return std::move(key).Take();
  key.Add(selector->match_labels);
  std::set<std::string> expressions;
  for (const model::LabelSelectorRequirement& expression : selector->match_expressions) {
    SpecKey one;
    one.Text(expression.key).Text(expression.operator_);
    for (const std::string& value : OddOnes(expression.values)) one.Text(value);
    expressions.insert(std::move(one).Take());
  }
  for (const std::string& expression : expressions) key.Text(expression);
  return std::move(key).Take();
}

std::string TolerationText(const model::Toleration& toleration) {
  SpecKey key;
  key.Add(toleration)
      .Maybe(toleration.toleration_seconds
                 ? std::optional(std::to_string(*toleration.toleration_seconds))
                 : std::nullopt);
  return std::move(key).Take();
}

}  // namespace

std::vector<std::string> TopologyFacts::NamespacesOf(const model::Pod& pod,
                                                     const model::PodAffinityTerm& term) {
  std::set<std::string> names(term.namespaces.begin(), term.namespaces.end());
  if (term.namespace_selector) {
    const auto selector = model::Selector::From(*term.namespace_selector);
    for (const auto& candidate : input_.namespaces) {
      if (selector.ok() && selector->Matches(candidate->metadata.labels))
        names.insert(candidate->metadata.name);
    }
  } else if (names.empty()) {
    names.insert(pod.metadata.namespace_);
  }
  return {names.begin(), names.end()};
}

SpecId TopologyFacts::InternSpec(TopologySpec spec,
                                 const std::optional<model::LabelSelector>& selector,
                                 std::string filter_text, std::string filter_identity) {
  const auto compiled = model::Selector::From(selector);
  spec.selector = compiled.ok() ? *compiled : model::Selector::Nothing();
  spec.selects_all_placed = options_.upstream_exact && !selector;
  spec.is_hostname = algebra_.key_name(spec.key) == model::kHostnameLabel;
  SpecKey common;
  common.Number(static_cast<uint64_t>(spec.kind)).Number(spec.key).Add(spec.max_skew);
  common.Add(spec.namespaces).Text(SelectorText(selector));
  const std::string shared = std::move(common).Take();
  SpecKey exact;
  exact.Text(shared).Text(filter_text).Maybe(spec.min_domains).Number(spec.creator);
  const auto [it, is_new] =
      spec_ids_.try_emplace(std::move(exact).Take(), static_cast<SpecId>(specs_.size()));
  if (!is_new) return it->second;
  SpecKey identity;
  identity.Text(shared);
  if (options_.upstream_exact) {
    identity.Text(filter_identity);
  } else {
    identity.Text(filter_text).Maybe(spec.min_domains);
  }
  spec.identity =
      identities_
          .try_emplace(std::move(identity).Take(), static_cast<IdentityId>(identities_.size()))
          .first->second;
  specs_.push_back(std::move(spec));
  return it->second;
}

NodeFilter TopologyFacts::FilterOf(const model::Pod& pod,
                                   const model::TopologySpreadConstraint& constraint,
                                   TolerationsId tolerations) {
  NodeFilter filter{.honors_affinity = constraint.node_affinity_policy.value_or("Honor") == "Honor",
                    .honors_taints = constraint.node_taints_policy.value_or("Ignore") == "Honor",
                    .tolerations = tolerations};
  const auto own = model::NodeRequirements::FromLabels(pod.spec.node_selector, options_.labels);
  const auto add = [&](const model::NodeRequirements& all) {
    const model::NodeRequirement* host = all.Find(model::kHostnameLabel);
    filter.any_of.push_back(
        {algebra_.Intern(all), host == nullptr ? std::nullopt : std::optional(*host)});
  };
  const bool has_terms = pod.spec.affinity && pod.spec.affinity->node_affinity &&
                         pod.spec.affinity->node_affinity->required;
  if (!has_terms) {
    add(own);
    return filter;
  }
  for (const auto& term : pod.spec.affinity->node_affinity->required->node_selector_terms) {
    model::NodeRequirements both = own;
    both.Add(model::NodeRequirements::From(term.match_expressions, options_.labels));
    add(both);
  }
  return filter;
}

SpecId TopologyFacts::ForSpread(const model::Pod& pod,
                                const model::TopologySpreadConstraint& constraint,
                                TolerationsId tolerations) {
  std::optional<model::LabelSelector> selector = constraint.label_selector;
  for (const std::string& key : constraint.match_label_keys) {
    const std::string* value = pod.metadata.labels.Find(key);
    if (value == nullptr || !selector) continue;
    selector->match_expressions.push_back({.key = key, .operator_ = "In", .values = {*value}});
  }
  NodeFilter filter = FilterOf(pod, constraint, tolerations);
  // As exact as can be, and as the peer tells filters apart: by the labels that they name, not by
  // what they say about them.
  SpecKey text;
  SpecKey identity;
  std::vector<std::string> alternatives;
  for (const HostedSet& one : filter.any_of) {
    text.Number(one.set).Maybe(one.host ? std::optional(one.host->ToString()) : std::nullopt);
    std::set<std::string> keys;
    for (const ReqId member : algebra_.members(one.set))
      keys.insert(algebra_.key_name(algebra_.key_of(member)));
    if (one.host) keys.emplace(model::kHostnameLabel);
    SpecKey named;
    for (const std::string& key : keys) named.Text(key);
    alternatives.push_back(std::move(named).Take());
  }
  text.Number(filter.honors_affinity ? 1 : 0).Number(filter.honors_taints ? 1 : 0);
  text.Number(tolerations);
  for (const std::string& one : OddOnes(alternatives)) identity.Text(one);
  identity.Text(constraint.node_taints_policy.value_or("Ignore"));
  identity.Text(constraint.node_affinity_policy.value_or("Honor"));
  std::vector<std::string> tolerated;
  for (const model::Toleration& one : pod.spec.tolerations)
    tolerated.push_back(TolerationText(one));
  for (const std::string& one : OddOnes(tolerated)) identity.Text(one);
  return InternSpec({.kind = TopologyKind::kSpread,
                     .key = algebra_.Key(constraint.topology_key),
                     .namespaces = {pod.metadata.namespace_},
                     .max_skew = constraint.max_skew,
                     .min_domains = constraint.min_domains,
                     .filter = std::move(filter),
                     .creator = tolerations},
                    selector, std::move(text).Take(), std::move(identity).Take());
}

SpecId TopologyFacts::ForTerm(const model::Pod& pod, const model::PodAffinityTerm& term,
                              TopologyKind kind, TolerationsId tolerations) {
  return InternSpec({.kind = kind,
                     .key = algebra_.Key(term.topology_key),
                     .namespaces = NamespacesOf(pod, term),
                     .max_skew = std::numeric_limits<int32_t>::max(),
                     .creator = tolerations},
                    term.label_selector, "", "");
}

std::vector<SpecId> TopologyFacts::RulesOf(const model::Pod& pod, TolerationsId tolerations) {
  const bool with_wishes = options_.preferences == PreferencePolicy::kRespect;
  std::vector<SpecId> rules;
  for (const model::TopologySpreadConstraint& constraint : pod.spec.topology_spread_constraints) {
    if (with_wishes || constraint.when_unsatisfiable == "DoNotSchedule")
      rules.push_back(ForSpread(pod, constraint, tolerations));
  }
  if (!pod.spec.affinity) return rules;
  const auto add = [&](const std::optional<model::PodAffinity>& terms, TopologyKind kind) {
    if (!terms) return;
    for (const auto& term : terms->required) rules.push_back(ForTerm(pod, term, kind, tolerations));
    if (!with_wishes) return;
    for (const auto& term : terms->preferred)
      rules.push_back(ForTerm(pod, term.pod_affinity_term, kind, tolerations));
  };
  add(pod.spec.affinity->pod_affinity, TopologyKind::kAffinity);
  add(pod.spec.affinity->pod_anti_affinity, TopologyKind::kAntiAffinity);
  return rules;
}

std::vector<SpecId> TopologyFacts::InverseRulesOf(const model::Pod& pod,
                                                  TolerationsId tolerations) {
  std::vector<SpecId> rules;
  if (!pod.spec.affinity || !pod.spec.affinity->pod_anti_affinity) return rules;
  for (const auto& term : pod.spec.affinity->pod_anti_affinity->required)
    rules.push_back(ForTerm(pod, term, TopologyKind::kAntiAffinity, tolerations));
  return rules;
}

}  // namespace coppice::provision
