#include "provision/topology.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <limits>
#include <utility>

#include "provision/bits.h"

namespace coppice::provision {
namespace {

bool Allows(const model::NodeRequirement* requirement, const std::string& value) {
  return requirement == nullptr || requirement->Has(value);
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
  group.is_hostname = facts_.spec(spec).is_hostname;
  group.kind = facts_.spec(spec).kind;
  Fill(group);
  groups_.push_back(std::move(group));
  if (inverse) inverse_groups_.push_back(it->second);
  return it->second;
}

void Topology::Fill(Group& group) {
  DomainCounts counts;
  DomainCounts nodes;
  // Values, not a reference to the rule: asking for a pod's rules may make others and move it.
  const auto identity = facts_.spec(group.spec).identity;
  const auto creator = facts_.spec(group.spec).creator;
  const KeyId key = facts_.spec(group.spec).key;
  if (group.inverse) {
    const auto& keepers = facts_.keeper_groups();
    const auto it = keepers.find(identity);
    if (it != keepers.end()) counts = it->second.counts;
    for (const model::Pod* pod : *setting_.pods) {
      const model::Labels* labels = counts.empty() ? nullptr : facts_.NodeLabelsOf(*pod);
      if (labels == nullptr) continue;
      for (const SpecId rule : facts_.InverseRulesOf(*pod, creator)) {
        if (facts_.spec(rule).identity != identity) continue;
        const std::string* domain = labels->Find(algebra_.key_name(key));
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
    for (const size_t at : *setting_.left_out) {
      const std::string* domain = facts_.DomainOf(group.spec, input_.nodes[at]);
      if (domain != nullptr) --nodes[*domain];
    }
  }
  std::erase_if(counts, [](const auto& entry) { return entry.second <= 0; });
  std::erase_if(nodes, [](const auto& entry) { return entry.second <= 0; });
  group.occupied = static_cast<int32_t>(counts.size());
  if (group.is_hostname) return FillHosts(group, counts, nodes);
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
  const auto find = [&names](const std::string& name) {
    return static_cast<size_t>(std::ranges::lower_bound(names, name) - names.begin());
  };
  for (const auto& [name, count] : counts) {
    const size_t host = find(name);
    if (host == names.size()) continue;
    group.hosts[host] = count;
    group.known_hosts[host] = true;
  }
  for (const auto& [name, count] : nodes) {
    const size_t host = find(name);
    if (host < names.size()) group.known_hosts[host] = true;
  }
  group.knows_all_targets = set_up_;
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
  for (const auto* groups : {&rules.obeys, &rules.kept_off_by}) {
    for (const GroupIndex index : *groups) {
      (groups_[index].is_hostname ? rules.looks_at_hosts : rules.looks_at_domains) = true;
    }
  }
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
      if (group.is_hostname) {
        const TopologyVerdict verdict = CheckHost(group, rules, *place.host, place.host_id);
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
                                    const std::string& host, HostId host_id) const {
  const int32_t count = HostCount(group, host_id);
  switch (group.kind) {
    case TopologyKind::kSpread: {
      // A new host can always be had, so the smallest count is 0.
      const int32_t with_it = count + (facts_.Selects(group.spec, rules.labels) ? 1 : 0);
      return with_it <= facts_.spec(group.spec).max_skew ? TopologyVerdict::kYes
                                                         : TopologyVerdict::kNever;
    }
    case TopologyKind::kAntiAffinity:
      return count == 0 ? TopologyVerdict::kYes : TopologyVerdict::kNever;
    case TopologyKind::kAffinity:
      break;
  }
  const auto* pod_domains = rules.strict_host ? &*rules.strict_host : nullptr;
  if (!Allows(pod_domains, host)) return TopologyVerdict::kNever;
  return count > 0 || MayBeFirst(group, rules.labels, pod_domains) ? TopologyVerdict::kYes
                                                                   : TopologyVerdict::kNotNow;
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
    group.allowed.clear();
    group.in_these.clear();
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

bool Topology::IsHopeless(const ClassRules& rules) {
  if (!rules.looks_at_domains) return false;
  const Place anywhere{.set = Algebra::kEmptySet, .taints = 0, .host = nullptr, .host_id = 0};
  for (const auto* groups : {&rules.obeys, &rules.kept_off_by}) {
    for (const GroupIndex index : *groups) {
      Group& group = groups_[index];
      if (!group.is_hostname && CheckDomains(group, rules, anywhere) == kNoId) return true;
    }
  }
  return false;
}

TopologyVerdict Topology::CheckHosts(const ClassRules& rules, const std::string& host,
                                     HostId host_id) const {
  if (!rules.looks_at_hosts) return TopologyVerdict::kYes;
  TopologyVerdict verdict = TopologyVerdict::kYes;
  for (const auto* groups : {&rules.obeys, &rules.kept_off_by}) {
    for (const GroupIndex index : *groups) {
      const Group& group = groups_[index];
      if (!group.is_hostname) continue;
      const TopologyVerdict one = CheckHost(group, rules, host, host_id);
      if (one == TopologyVerdict::kNever) return one;
      if (one == TopologyVerdict::kNotNow) verdict = one;
    }
  }
  return verdict;
}

}  // namespace coppice::provision
