#include "model/requirements.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/go_sort.h"
#include "base/strings.h"

namespace coppice::model {
namespace {

struct ByKey {
  bool operator()(const NodeRequirement& a, std::string_view key) const { return a.key() < key; }
};

// Whether what both say about one label can be met, in the loose sense of Intersects: two that
// accept an absent label are always fine together.
bool Meet(const NodeRequirement& existing, const NodeRequirement& incoming) {
  return existing.HasIntersection(incoming) ||
         (AcceptsAbsence(incoming.op()) && AcceptsAbsence(existing.op()));
}

// Calls `see(ours, theirs)` for every label that both name, until it returns false.
template <class See>
void ForShared(const NodeRequirements& a, const NodeRequirements& b, See see) {
  auto left = a.begin();
  auto right = b.begin();
  while (left != a.end() && right != b.end()) {
    const int order = left->key().compare(right->key());
    if (order < 0) {
      ++left;
    } else if (order > 0) {
      ++right;
    } else if (!see(*left++, *right++)) {
      return;
    }
  }
}

std::string_view LabelSuffix(std::string_view key) {
  const size_t slash = key.find('/');
  return slash == key.npos ? key : key.substr(slash + 1);
}

bool MayBeMeant(std::string_view known, std::string_view key) {
  return known.find(key) != known.npos || known.ends_with(LabelSuffix(key));
}

std::string TypoHint(const NodeRequirements& offer, std::string_view key,
                     const LabelRules* allowed) {
  const auto hint = [](std::string_view known) { return fmt::format(" (typo of \"{}\"?)", known); };
  if (allowed != nullptr) {
    for (const std::string& known : allowed->well_known) {
      if (MayBeMeant(known, key)) return hint(known);
    }
  }
  for (const NodeRequirement& existing : offer) {
    if (MayBeMeant(existing.key(), key)) return hint(existing.key());
  }
  return "";
}

bool IsUnknownDemand(const NodeRequirements& offer, const NodeRequirement& demand,
                     const LabelRules* allowed) {
  return !(allowed != nullptr && allowed->IsWellKnown(demand.key())) &&
         !AcceptsAbsence(demand.op()) && !offer.Has(demand.key());
}

}  // namespace

NodeRequirements NodeRequirements::From(const std::vector<RequirementSpec>& specs,
                                        const LabelRules& rules) {
  NodeRequirements made;
  for (const RequirementSpec& spec : specs) made.Add(NodeRequirement::From(spec, rules));
  return made;
}

NodeRequirements NodeRequirements::From(const std::vector<NodeSelectorRequirement>& specs,
                                        const LabelRules& rules) {
  NodeRequirements made;
  for (const NodeSelectorRequirement& spec : specs) made.Add(NodeRequirement::From(spec, rules));
  return made;
}

NodeRequirements NodeRequirements::FromLabels(const Labels& labels, const LabelRules& rules) {
  NodeRequirements made;
  for (const auto& [label, value] : labels) {
    const std::string_view key = rules.NormalizedKey(label);
    made.Add(NodeRequirement::In(key, {std::string(rules.NormalizedValue(key, value))}));
  }
  return made;
}

const NodeRequirement* NodeRequirements::Find(std::string_view key) const {
  const auto it = std::lower_bound(all_.begin(), all_.end(), key, ByKey());
  return it != all_.end() && it->key() == key ? &*it : nullptr;
}

NodeRequirement NodeRequirements::Get(std::string_view key) const {
  const NodeRequirement* found = Find(key);
  return found != nullptr ? *found : NodeRequirement::Exists(key);
}

bool NodeRequirements::HasMinValues() const {
  return std::ranges::any_of(all_,
                             [](const NodeRequirement& r) { return r.min_values().has_value(); });
}

void NodeRequirements::Add(NodeRequirement requirement) {
  const auto it = std::lower_bound(all_.begin(), all_.end(), requirement.key(), ByKey());
  if (it != all_.end() && it->key() == requirement.key()) {
    *it = requirement.Intersection(*it);
  } else {
    all_.insert(it, std::move(requirement));
  }
}

void NodeRequirements::Add(const NodeRequirements& others) {
  for (const NodeRequirement& other : others) Add(other);
}

void NodeRequirements::Set(NodeRequirement requirement) {
  Remove(requirement.key());
  Add(std::move(requirement));
}

void NodeRequirements::Remove(std::string_view key) {
  std::erase_if(all_, [&](const NodeRequirement& r) { return r.key() == key; });
}

bool NodeRequirements::Intersects(const NodeRequirements& other) const {
  bool all = true;
  ForShared(*this, other, [&](const NodeRequirement& existing, const NodeRequirement& incoming) {
    return all = Meet(existing, incoming);
  });
  return all;
}

bool NodeRequirements::Compatible(const NodeRequirements& demand, const LabelRules* allowed) const {
  return std::ranges::none_of(demand,
                              [&](const NodeRequirement& asked) {
                                return IsUnknownDemand(*this, asked, allowed);
                              }) &&
         Intersects(demand);
}

std::vector<std::string> NodeRequirements::WhyNotIntersects(const NodeRequirements& other) const {
  std::vector<std::string> why;
  ForShared(*this, other, [&](const NodeRequirement& existing, const NodeRequirement& incoming) {
    if (!Meet(existing, incoming)) {
      why.push_back(fmt::format("key {}, {} not in {}", existing.key(), incoming.ToString(),
                                existing.ToString()));
    }
    return true;
  });
  return why;
}

std::vector<std::string> NodeRequirements::WhyNotCompatible(const NodeRequirements& demand,
                                                            const LabelRules* allowed) const {
  for (const NodeRequirement& asked : demand) {
    if (IsUnknownDemand(*this, asked, allowed)) {
      return {fmt::format("label \"{}\" does not have known values{}", asked.key(),
                          TypoHint(*this, asked.key(), allowed))};
    }
  }
  return WhyNotIntersects(demand);
}

std::string NodeRequirements::ToString(const LabelRules& rules) const {
  std::vector<std::string> texts;
  for (const NodeRequirement& requirement : all_) {
    if (!rules.restricted.contains(requirement.key())) texts.push_back(requirement.ToString());
  }
  std::ranges::sort(texts);  // by text and not by key: "a-b In" comes before "a In"
  return Join(texts, ", ");
}

std::vector<RequirementSpec> NodeRequirements::ToSpec() const {
  std::vector<RequirementSpec> specs;
  for (const NodeRequirement& requirement : all_) {
    for (RequirementSpec& spec : requirement.ToSpec()) specs.push_back(std::move(spec));
  }
  return specs;
}

NodeRequirements RequirementsOf(const Pod& pod, PodDemands demands, const LabelRules& rules) {
  NodeRequirements made = NodeRequirements::FromLabels(pod.spec.node_selector, rules);
  if (!pod.spec.affinity || !pod.spec.affinity->node_affinity) return made;
  const NodeAffinity& affinity = *pod.spec.affinity->node_affinity;
  if (demands == PodDemands::kPreferred && !affinity.preferred.empty()) {
    std::vector<const PreferredSchedulingTerm*> terms;
    for (const PreferredSchedulingTerm& term : affinity.preferred) terms.push_back(&term);
    GoSort(terms, [](const auto* a, const auto* b) { return a->weight > b->weight; });
    made.Add(NodeRequirements::From(terms.front()->preference.match_expressions, rules));
  }
  if (affinity.required && !affinity.required->node_selector_terms.empty()) {
    made.Add(NodeRequirements::From(
        affinity.required->node_selector_terms.front().match_expressions, rules));
  }
  return made;
}

}  // namespace coppice::model
