// Which domains a rule leaves for a pod: zones and the like as bits while they are few, as text
// when they are many. Hosts are judged in topology.cc.

#include <algorithm>
#include <bit>
#include <limits>
#include <utility>

#include "provision/bits.h"
#include "provision/topology.h"

namespace coppice::provision {
namespace {

bool MayHold(const model::NodeRequirement* requirement, const std::string& value) {
  return requirement == nullptr || requirement->Has(value);
}

}  // namespace

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
  if (group.names.size() > kBitsPerWord) return CheckManyDomains(group, rules, place);
  const KeyId key = facts_.spec(group.spec).key;
  const uint64_t pod = Allowed(group, algebra_.Find(rules.strict, key));
  const uint64_t node = Allowed(group, algebra_.Find(place.set, key));
  uint64_t found = 0;
  switch (group.kind) {
    case TopologyKind::kSpread:
      found = NextSpread(group, facts_.Selects(group.spec, rules.labels), pod, node);
      break;
    case TopologyKind::kAffinity:
      found = NextAffinity(group, rules.labels, pod, node);
      break;
    case TopologyKind::kAntiAffinity:
      for (size_t at = 0; at < group.counts.size(); ++at) {
        if (group.counts[at] == 0) found |= uint64_t{1} << at;
      }
      found &= pod & node;
      break;
  }
  return found == 0 ? kNoId : InThese(group, found);
}

uint64_t Topology::Allowed(Group& group, ReqId requirement) {
  if (requirement == kNoId) {
    return group.names.size() == kBitsPerWord ? ~uint64_t{0}
                                              : (uint64_t{1} << group.names.size()) - 1;
  }
  for (const auto& [known, domains] : group.allowed) {
    if (known == requirement) return domains;
  }
  uint64_t domains = 0;
  for (size_t at = 0; at < group.names.size(); ++at) {
    if (algebra_.requirement(requirement).Has(group.names[at])) domains |= uint64_t{1} << at;
  }
  group.allowed.emplace_back(requirement, domains);
  return domains;
}

ReqId Topology::InThese(Group& group, uint64_t domains) {
  for (const auto& [known, id] : group.in_these) {
    if (known == domains) return id;
  }
  std::vector<std::string> names;
  for (size_t at = 0; at < group.names.size(); ++at) {
    if ((domains >> at & 1) != 0) names.push_back(group.names[at]);
  }
  const std::string& key = algebra_.key_name(facts_.spec(group.spec).key);
  const ReqId id = algebra_.Intern(model::NodeRequirement::In(key, std::move(names)));
  group.in_these.emplace_back(domains, id);
  return id;
}

void Topology::SetTurn(size_t turn) {
  turn_ = turn;
  if (turn == 0) most_equal_ = 0;
}

size_t Topology::Turn(size_t equal) {
  most_equal_ = std::max(most_equal_, equal);
  return equal == 0 ? 0 : turn_ % equal;
}

uint64_t Topology::OneOf(uint64_t equal) {
  for (size_t past = Turn(static_cast<size_t>(std::popcount(equal))); past > 0; --past)
    equal &= equal - 1;
  return equal & (~equal + 1);
}

uint64_t Topology::NextSpread(const Group& group, bool self, uint64_t pod, uint64_t node) {
  const TopologySpec& spec = facts_.spec(group.spec);
  int32_t least = std::numeric_limits<int32_t>::max();
  for (uint64_t left = pod; left != 0; left &= left - 1)
    least = std::min(least, group.counts[static_cast<size_t>(std::countr_zero(left))]);
  if (spec.min_domains && std::popcount(pod) < *spec.min_domains) least = 0;
  uint64_t best = 0;
  int32_t best_count = std::numeric_limits<int32_t>::max();
  for (uint64_t left = node; left != 0; left &= left - 1) {
    const int32_t count =
        group.counts[static_cast<size_t>(std::countr_zero(left))] + (self ? 1 : 0);
    if (count > best_count || count - least > spec.max_skew) continue;
    best = (count == best_count ? best : 0) | (left & (~left + 1));
    best_count = count;
  }
  return OneOf(best);
}

uint64_t Topology::NextAffinity(const Group& group, LabelsId labels, uint64_t pod, uint64_t node) {
  uint64_t occupied = 0;
  for (size_t at = 0; at < group.counts.size(); ++at) {
    if (group.counts[at] > 0) occupied |= uint64_t{1} << at;
  }
  if ((occupied & pod & node) != 0) return occupied & pod & node;
  if ((occupied & pod) != 0 || !facts_.Selects(group.spec, labels)) return 0;
  // The first one: a domain that both allow, and besides the first that the pod allows, which the
  // place may not.
  const uint64_t first = OneOf(pod & node);
  return turn_ == 0 ? first | (pod & (~pod + 1)) : first;
}

ReqId Topology::CheckManyDomains(const Group& group, const ClassRules& rules, const Place& place) {
  const TopologySpec& spec = facts_.spec(group.spec);
  const auto* pod = Requirement(rules.strict, spec.key);
  const auto* node = Requirement(place.set, spec.key);
  const bool self = facts_.Selects(group.spec, rules.labels);
  const size_t size = group.names.size();
  std::vector<std::string> options;
  if (spec.kind == TopologyKind::kSpread) {
    int32_t least = std::numeric_limits<int32_t>::max();
    int32_t supported = 0;
    for (size_t at = 0; at < size; ++at) {
      if (!MayHold(pod, group.names[at])) continue;
      ++supported;
      least = std::min(least, group.counts[at]);
    }
    if (spec.min_domains && supported < *spec.min_domains) least = 0;
    int32_t best_count = std::numeric_limits<int32_t>::max();
    for (size_t at = 0; at < size; ++at) {
      const int32_t count = group.counts[at] + (self ? 1 : 0);
      if (count > best_count || count - least > spec.max_skew) continue;
      if (!MayHold(node, group.names[at])) continue;
      if (count < best_count) options.clear();
      options.push_back(group.names[at]);
      best_count = count;
    }
    if (!options.empty()) options = {options[Turn(options.size())]};
  } else {
    const bool wants_some = spec.kind == TopologyKind::kAffinity;
    for (size_t at = 0; at < size; ++at) {
      if ((group.counts[at] > 0) == wants_some && MayHold(pod, group.names[at]) &&
          MayHold(node, group.names[at])) {
        options.push_back(group.names[at]);
      }
    }
    if (wants_some && options.empty() && MayBeFirst(group, rules.labels, pod)) {
      std::vector<std::string> both;
      const std::string* first = nullptr;
      for (const std::string& name : group.names) {
        if (!MayHold(pod, name)) continue;
        if (first == nullptr) first = &name;
        if (MayHold(node, name)) both.push_back(name);
      }
      if (!both.empty()) options.push_back(both[Turn(both.size())]);
      if (first != nullptr && turn_ == 0) options.push_back(*first);
    }
  }
  if (options.empty()) return kNoId;
  return algebra_.Intern(
      model::NodeRequirement::In(algebra_.key_name(spec.key), std::move(options)));
}

std::set<std::string> Topology::DomainsLeft(const Group& group, const ClassRules& rules) {
  const TopologySpec& spec = facts_.spec(group.spec);
  const auto* pod = Requirement(rules.strict, spec.key);
  const bool self = facts_.Selects(group.spec, rules.labels);
  int32_t least = std::numeric_limits<int32_t>::max();
  int32_t supported = 0;
  bool occupied = false;
  for (size_t at = 0; at < group.names.size(); ++at) {
    if (!MayHold(pod, group.names[at])) continue;
    ++supported;
    least = std::min(least, group.counts[at]);
    occupied = occupied || group.counts[at] > 0;
  }
  if (spec.min_domains && supported < *spec.min_domains) least = 0;
  std::set<std::string> left;
  for (size_t at = 0; at < group.names.size(); ++at) {
    const int32_t count = group.counts[at];
    const bool would_do = group.kind == TopologyKind::kSpread
                              ? count + (self ? 1 : 0) - least <= spec.max_skew
                          : group.kind == TopologyKind::kAffinity ? count > 0 || (self && !occupied)
                                                                  : count == 0;
    if (would_do && MayHold(pod, group.names[at])) left.insert(group.names[at]);
  }
  return left;
}

std::optional<std::set<std::string>> Topology::DomainsLeft(const ClassRules& rules,
                                                           std::string_view key) {
  std::optional<std::set<std::string>> left;
  for (const GroupIndex index : rules.obeys) {
    const Group& group = groups_[index];
    if (algebra_.key_name(facts_.spec(group.spec).key) != key) continue;
    std::set<std::string> of_one = DomainsLeft(group, rules);
    if (left) std::erase_if(of_one, [&](const auto& domain) { return !left->contains(domain); });
    left = std::move(of_one);
  }
  return left;
}

}  // namespace coppice::provision
