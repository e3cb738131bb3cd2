// What a pod is told that topology refuses, with the counts as they are in the end.

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "provision/topology.h"

namespace coppice::provision {
namespace {

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
      if (group.known_hosts[host]) all[HostName(host)] = HostCount(group, host);
    }
    // What takes pods is known to all rules that were there from the beginning.
    for (size_t at = 0; group.knows_all_targets && at < input_.nodes.size(); ++at) {
      const StateNode& node = input_.nodes[at];
      if (!node.marked_for_deletion &&
          std::ranges::find(*setting_.left_out, at) == setting_.left_out->end()) {
        all.try_emplace(node.hostname(), 0);
      }
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
