#include "provision/topology.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

namespace coppice::provision {
namespace {

bool Allows(const model::NodeRequirement* requirement, const std::string& value) {
  return requirement == nullptr || requirement->Has(value);
}

std::string_view KindName(TopologyKind kind) {
  switch (kind) {
    case TopologyKind::kSpread:
      return "topology spread";
    case TopologyKind::kAffinity:
      return "pod affinity";
    case TopologyKind::kAntiAffinity:
      return "pod anti-affinity";
  }
  return "";
}

}  // namespace

Topology::Topology(TopologyFacts& facts, Algebra& algebra, const SolverInput& input,
                   Setting setting)
    : facts_(facts), algebra_(algebra), input_(input), setting_(setting) {}

GroupIndex Topology::GroupOf(SpecId spec, bool inverse) {
  const uint64_t identity = uint64_t{facts_.spec(spec).identity} << 1 | (inverse ? 1 : 0);
  const auto [it, is_new] =
      by_identity_.try_emplace(identity, static_cast<GroupIndex>(groups_.size()));
  if (!is_new) return it->second;
  if (inverse) {  // pods that run were there first
    const auto keepers = facts_.keeper_groups().find(facts_.spec(spec).identity);
    if (keepers != facts_.keeper_groups().end()) spec = keepers->second.spec;
  }
  Group group{.spec = spec, .inverse = inverse, .born = step_};
  Fill(group);
  groups_.push_back(std::move(group));
  if (inverse) inverse_groups_.push_back(it->second);
  return it->second;
}

void Topology::Fill(Group& group) {
  DomainCounts counts;
  DomainCounts nodes;
  const TopologySpec& spec = facts_.spec(group.spec);
  if (group.inverse) {
    const auto& keepers = facts_.keeper_groups();
    const auto it = keepers.find(spec.identity);
    if (it != keepers.end()) counts = it->second.counts;
    for (const model::Pod* pod : *setting_.pods) {
      const model::Labels* labels = counts.empty() ? nullptr : facts_.NodeLabelsOf(*pod);
      if (labels == nullptr) continue;
      for (const SpecId rule : facts_.InverseRulesOf(*pod, spec.creator)) {
        if (facts_.spec(rule).identity != spec.identity) continue;
        const std::string* domain = labels->Find(algebra_.key_name(spec.key));
        if (domain != nullptr && counts.contains(*domain)) --counts[*domain];
      }
    }
  } else {
    counts = facts_.PodsPerDomain(group.spec);
    nodes = facts_.NodesPerDomain(group.spec);
    for (const model::Pod* pod : *setting_.pods) {
      if (pod->spec.node_name.empty()) continue;
      const std::string* domain = facts_.DomainOf(group.spec, *pod);
      if (domain != nullptr && counts.contains(*domain)) --counts[*domain];
    }
    for (size_t at = 0; at < input_.nodes.size(); ++at) {
      if ((*setting_.is_target)[at] || input_.nodes[at].marked_for_deletion) continue;
      if (const std::string* domain = facts_.DomainOf(group.spec, input_.nodes[at]))
        --nodes[*domain];
    }
  }
  std::erase_if(counts, [](const auto& entry) { return entry.second <= 0; });
  std::erase_if(nodes, [](const auto& entry) { return entry.second <= 0; });
  group.occupied = static_cast<int32_t>(counts.size());
  if (spec.is_hostname) return FillHosts(group, counts, nodes);
  DomainCounts all = counts;
  for (const std::string& domain : facts_.Universe(group.spec)) all.try_emplace(domain, 0);
  for (const auto& [domain, count] : nodes) all.try_emplace(domain, 0);
  for (const auto& [domain, count] : all) {
    group.names.push_back(domain);
    group.counts.push_back(count);
  }
}

void Topology::FillHosts(Group& group, const DomainCounts& counts, const DomainCounts& nodes) {
  const std::vector<std::string>& names = *setting_.host_names;
  group.hosts.assign(names.size(), 0);
  group.known_hosts.assign(names.size(), false);
  for (size_t host = 0; host < names.size(); ++host) {
    const auto counted = counts.find(names[host]);
    if (counted != counts.end()) group.hosts[host] = counted->second;
    group.known_hosts[host] = counted != counts.end() || nodes.contains(names[host]);
  }
  if (!set_up_) return;
  // What takes pods is known to all rules that were there from the beginning.
  for (size_t at = 0; at < input_.nodes.size(); ++at) {
    if (!(*setting_.is_target)[at]) continue;
    const auto host = std::ranges::lower_bound(names, input_.nodes[at].hostname());
    if (host != names.end()) group.known_hosts[static_cast<size_t>(host - names.begin())] = true;
  }
}

ClassRules Topology::RulesFor(const std::vector<SpecId>& rules,
                              const std::vector<SpecId>& inverse_rules, LabelsId labels) {
  ClassRules made{.labels = labels};
  for (const SpecId rule : inverse_rules) made.keeps_off.push_back(GroupOf(rule, true));
  for (const SpecId rule : rules) {
    const GroupIndex group = GroupOf(rule, false);
    if (std::ranges::find(made.obeys, group) == made.obeys.end()) made.obeys.push_back(group);
  }
  return made;
}

void Topology::NoteKeepers(ClassRules& rules) {
  const auto [it, is_new] = kept_off_by_.try_emplace(rules.labels);
  if (is_new) {
    for (const auto& [identity, keepers] : facts_.keeper_groups()) {
      if (facts_.Selects(keepers.spec, rules.labels)) GroupOf(keepers.spec, true);
    }
    for (const GroupIndex index : inverse_groups_) {
      if (facts_.Selects(groups_[index].spec, rules.labels)) it->second.push_back(index);
    }
  }
  rules.kept_off_by = it->second;
}

const model::NodeRequirement* Topology::Requirement(SetId set, KeyId key) const {
  const ReqId id = algebra_.Find(set, key);
  return id == kNoId ? nullptr : &algebra_.requirement(id);
}

TopologyVerdict Topology::Check(const ClassRules& rules, const Place& place,
                                std::vector<ReqId>& narrowed, GroupIndex& refusing) {
  narrowed.clear();
  for (const auto* groups : {&rules.obeys, &rules.kept_off_by}) {
    for (const GroupIndex index : *groups) {
      Group& group = groups_[index];
      if (facts_.spec(group.spec).is_hostname) {
        const TopologyVerdict verdict = CheckHost(group, rules, place);
        if (verdict == TopologyVerdict::kYes) continue;
        refusing = index;
        return verdict;
      }
      const ReqId domains = CheckDomains(group, rules, place);
      if (domains == kNoId) {
        refusing = index;
        return TopologyVerdict::kNotNow;
      }
      const KeyId key = algebra_.key_of(domains);
      const auto there =
          std::ranges::find_if(narrowed, [&](ReqId id) { return algebra_.key_of(id) == key; });
      if (there == narrowed.end()) {
        narrowed.push_back(domains);
      } else {
        *there = algebra_.Intersection(*there, domains);
      }
    }
  }
  return TopologyVerdict::kYes;
}

TopologyVerdict Topology::CheckHost(const Group& group, const ClassRules& rules,
                                    const Place& place) const {
  const TopologySpec& spec = facts_.spec(group.spec);
  const int32_t count = HostCount(group, place.host_id);
  switch (spec.kind) {
    case TopologyKind::kSpread: {
      // A new host can always be had, so the smallest count is 0.
      const int32_t with_it = count + (facts_.Selects(group.spec, rules.labels) ? 1 : 0);
      return with_it <= spec.max_skew ? TopologyVerdict::kYes : TopologyVerdict::kNever;
    }
    case TopologyKind::kAntiAffinity:
      return count == 0 ? TopologyVerdict::kYes : TopologyVerdict::kNever;
    case TopologyKind::kAffinity:
      break;
  }
  const auto* pod_domains = rules.strict_host ? &*rules.strict_host : nullptr;
  if (!Allows(pod_domains, *place.host)) return TopologyVerdict::kNever;
  return count > 0 || MayBeFirst(group, rules.labels, pod_domains) ? TopologyVerdict::kYes
                                                                   : TopologyVerdict::kNotNow;
}

bool Topology::MayBeFirst(const Group& group, LabelsId labels,
                          const model::NodeRequirement* pod_domains) const {
  return facts_.Selects(group.spec, labels) &&
         (group.occupied == 0 || !AnyOccupied(group, pod_domains));
}

bool Topology::AnyOccupied(const Group& group, const model::NodeRequirement* pod_domains) const {
  if (pod_domains == nullptr) return group.occupied > 0;
  for (size_t at = 0; at < group.counts.size(); ++at) {
    if (group.counts[at] > 0 && pod_domains->Has(group.names[at])) return true;
  }
  for (HostId host = 0; host < group.hosts.size(); ++host) {
    if (group.hosts[host] > 0 && pod_domains->Has(HostName(host))) return true;
  }
  return false;
}

ReqId Topology::CheckDomains(Group& group, const ClassRules& rules, const Place& place) {
  const TopologySpec& spec = facts_.spec(group.spec);
  const auto* pod = Requirement(rules.strict, spec.key);
  const auto* node = Requirement(place.set, spec.key);
  switch (spec.kind) {
    case TopologyKind::kSpread:
      return NextSpread(group, facts_.Selects(group.spec, rules.labels), pod, node);
    case TopologyKind::kAffinity:
      return NextAffinity(group, rules.labels, pod, node);
    case TopologyKind::kAntiAffinity:
      return NextAntiAffinity(group, pod, node);
  }
  return kNoId;
}

ReqId Topology::NextSpread(Group& group, bool self, const model::NodeRequirement* pod,
                           const model::NodeRequirement* node) {
  const TopologySpec& spec = facts_.spec(group.spec);
  int32_t least = std::numeric_limits<int32_t>::max();
  int32_t supported = 0;
  for (size_t at = 0; at < group.counts.size(); ++at) {
    if (!Allows(pod, group.names[at])) continue;
    ++supported;
    least = std::min(least, group.counts[at]);
  }
  if (spec.min_domains && supported < *spec.min_domains) least = 0;
  size_t best = group.counts.size();
  int32_t best_count = std::numeric_limits<int32_t>::max();
  for (size_t at = 0; at < group.counts.size(); ++at) {
    const int32_t count = group.counts[at] + (self ? 1 : 0);
    if (count >= best_count || count - least > spec.max_skew) continue;
    if (!Allows(node, group.names[at])) continue;
    best = at;
    best_count = count;
  }
  if (best == group.counts.size()) return kNoId;
  group.only.resize(group.names.size(), kNoId);
  if (group.only[best] == kNoId) group.only[best] = algebra_.InOne(spec.key, group.names[best]);
  return group.only[best];
}

ReqId Topology::NextAffinity(const Group& group, LabelsId labels, const model::NodeRequirement* pod,
                             const model::NodeRequirement* node) const {
  std::vector<std::string> options;
  for (size_t at = 0; at < group.counts.size(); ++at) {
    if (group.counts[at] > 0 && Allows(pod, group.names[at]) && Allows(node, group.names[at]))
      options.push_back(group.names[at]);
  }
  const KeyId key = facts_.spec(group.spec).key;
  if (options.empty() && MayBeFirst(group, labels, pod)) {
    // One that both allow, and besides the first that the pod allows, which the place may not.
    const auto first = std::ranges::find_if(group.names, [&](const std::string& name) {
      return Allows(pod, name) && Allows(node, name);
    });
    if (first != group.names.end()) options.push_back(*first);
    const auto any = std::ranges::find_if(
        group.names, [&](const std::string& name) { return Allows(pod, name); });
    if (any != group.names.end()) options.push_back(*any);
  }
  if (options.empty()) return kNoId;
  return algebra_.Intern(model::NodeRequirement::In(algebra_.key_name(key), std::move(options)));
}

ReqId Topology::NextAntiAffinity(const Group& group, const model::NodeRequirement* pod,
                                 const model::NodeRequirement* node) const {
  std::vector<std::string> options;
  for (size_t at = 0; at < group.counts.size(); ++at) {
    if (group.counts[at] == 0 && Allows(pod, group.names[at]) && Allows(node, group.names[at]))
      options.push_back(group.names[at]);
  }
  if (options.empty()) return kNoId;
  const KeyId key = facts_.spec(group.spec).key;
  return algebra_.Intern(model::NodeRequirement::In(algebra_.key_name(key), std::move(options)));
}

const std::vector<GroupIndex>& Topology::CountingGroups(LabelsId labels) {
  if (counting_.size() <= labels) counting_.resize(labels + 1);
  Counting& counting = counting_[labels];
  for (; counting.seen < groups_.size(); ++counting.seen) {
    const Group& group = groups_[counting.seen];
    if (!group.inverse && facts_.Selects(group.spec, labels))
      counting.groups.push_back(static_cast<GroupIndex>(counting.seen));
  }
  return counting.groups;
}

void Topology::Record(const ClassRules& rules, const Place& place) {
  ++step_;
  for (const GroupIndex index : CountingGroups(rules.labels)) {
    Group& group = groups_[index];
    const TopologySpec& spec = facts_.spec(group.spec);
    if (!facts_.FilterMatches(spec.filter, place.taints, place.set, place.host)) continue;
    if (spec.is_hostname) {
      CountHost(group, place.host_id);
      continue;
    }
    const auto* domains = Requirement(place.set, spec.key);
    if (domains == nullptr) continue;
    // Anti-affinity blocks every domain in which the pod might end up; the others wait until it is
    // known. (Also the values of a NotIn, as with the peer.)
    if (spec.kind == TopologyKind::kAntiAffinity || domains->Length() == 1) {
      for (const std::string& domain : domains->values()) Count(group, domain);
    }
  }
  for (const GroupIndex index : rules.keeps_off) {
    Group& group = groups_[index];
    const TopologySpec& spec = facts_.spec(group.spec);
    if (spec.is_hostname) {
      CountHost(group, place.host_id);
    } else if (const auto* domains = Requirement(place.set, spec.key)) {
      for (const std::string& domain : domains->values()) Count(group, domain);
    }
  }
}

void Topology::Count(Group& group, const std::string& domain) {
  const auto it = std::ranges::lower_bound(group.names, domain);
  const auto at = it - group.names.begin();
  if (it == group.names.end() || *it != domain) {
    group.names.insert(it, domain);
    group.counts.insert(group.counts.begin() + at, 0);
    group.only.clear();
  }
  if (++group.counts[static_cast<size_t>(at)] == 1) ++group.occupied;
}

void Topology::CountHost(Group& group, HostId host) {
  if (group.hosts.size() <= host) group.hosts.resize(host + 1, 0);
  if (++group.hosts[host] == 1) ++group.occupied;
}

void Topology::Touch(HostId claim, const std::string& name) {
  const size_t at = claim - setting_.host_names->size();
  if (claim_names_.size() <= at) {
    claim_names_.resize(at + 1);
    claim_touched_.resize(at + 1);
  }
  claim_names_[at] = name;
  claim_touched_[at] = step_ + 1;
}

const std::string& Topology::HostName(HostId host) const {
  const size_t existing = setting_.host_names->size();
  return host < existing ? (*setting_.host_names)[host] : claim_names_[host - existing];
}

bool Topology::HasHostAffinity(const ClassRules& rules) const {
  return std::ranges::any_of(rules.obeys, [this](GroupIndex index) {
    const TopologySpec& spec = facts_.spec(groups_[index].spec);
    return spec.is_hostname && spec.kind == TopologyKind::kAffinity;
  });
}

std::string Topology::Text(GroupIndex index, const ClassRules& rules, SetId place_set,
                           const std::string& place_host) const {
  constexpr size_t kShown = 25;
  const Group& group = groups_[index];
  const TopologySpec& spec = facts_.spec(group.spec);
  const std::string& key = algebra_.key_name(spec.key);
  std::map<std::string, int32_t> all;
  for (size_t at = 0; at < group.names.size(); ++at) all[group.names[at]] = group.counts[at];
  if (spec.is_hostname) {
    const size_t existing = setting_.host_names->size();
    for (HostId host = 0; host < existing; ++host) {
      if (group.known_hosts[host]) all[HostName(host)] += HostCount(group, host);
    }
    for (size_t at = 0; at < claim_names_.size(); ++at) {
      const int32_t count = HostCount(group, static_cast<HostId>(existing + at));
      if (count > 0 || claim_touched_[at] > group.born) all[claim_names_[at]] += count;
    }
  }
  std::string counts;
  size_t shown = 0;
  for (const auto& [domain, count] : all) {
    if (shown++ == kShown) {
      counts += fmt::format(" and {} other(s)", all.size() - kShown);
      break;
    }
    counts += fmt::format("{}{}: {}", counts.empty() ? "" : ", ", domain, count);
  }
  const auto text = [&](const model::NodeRequirement* requirement) {
    return requirement == nullptr ? model::NodeRequirement::Exists(key).ToString()
                                  : requirement->ToString();
  };
  const auto host = model::NodeRequirement::In(key, {place_host});
  const auto* pod = spec.is_hostname ? (rules.strict_host ? &*rules.strict_host : nullptr)
                                     : Requirement(rules.strict, spec.key);
  const auto* node = spec.is_hostname ? &host : Requirement(place_set, spec.key);
  return fmt::format(
      "unsatisfiable topology constraint for {}, key={} (counts = {}, podDomains = {}, nodeDomains "
      "= "
      "{}",
      KindName(spec.kind), key, counts, text(pod), text(node));
}

}  // namespace coppice::provision
