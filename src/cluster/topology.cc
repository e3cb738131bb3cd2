#include "cluster/topology.h"

#include <algorithm>

#include "cluster/canonical.h"
#include "cluster/snapshot.h"
#include "model/taints.h"

namespace coppice::cluster {
namespace {

bool DemandsNodes(const PodSpecShape& pod) {
  return !pod.node_selector.empty() ||
         (pod.affinity && pod.affinity->node_affinity && pod.affinity->node_affinity->required);
}

std::vector<std::string> OtherKeys(const TopologySpec& spec) {
  std::vector<std::string> keys = spec.needed_keys;
  std::erase(keys, spec.key);
  std::ranges::sort(keys);
  keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
  return keys;
}

}  // namespace

DomainId TopologyKey::Find(std::string_view value) const {
  const uint32_t id = table.Find(HashBytes(value), [&](uint32_t i) { return values[i] == value; });
  return id == IdTable::kAbsent ? kNoDomain : static_cast<DomainId>(id);
}

DomainId TopologyKey::Intern(std::string_view value) {
  const DomainId known = Find(value);
  if (known != kNoDomain) return known;
  auto domain = static_cast<DomainId>(values.size());
  if (!free.empty()) {
    domain = free.back();
    free.pop_back();
    values[domain] = value;
  } else {
    values.emplace_back(value);
    uses.push_back(0);
  }
  table.Insert(HashBytes(value), static_cast<uint32_t>(domain));
  return domain;
}

void TopologyKey::Leave(DomainId domain) {
  if (--uses[domain] > 0) return;
  table.Erase(HashBytes(values[domain]), static_cast<uint32_t>(domain));
  values[domain].clear();
  free.push_back(domain);
}

std::string TopologyBytes(const TopologySpec& spec) {
  Canonical bytes;
  bytes.Add(spec.key);
  bytes.Add(OtherKeys(spec));
  const bool affinity = spec.honor_affinity && DemandsNodes(*spec.honor_affinity);
  bytes.Add(affinity);
  if (affinity) {
    bytes.Add(spec.honor_affinity->node_selector);
    const auto& whole = spec.honor_affinity->affinity;
    const bool required = whole && whole->node_affinity && whole->node_affinity->required;
    bytes.Add(required);
    if (required) bytes.Add(*whole->node_affinity->required);
  }
  bytes.Add(spec.honor_taints != nullptr);
  if (spec.honor_taints) bytes.Add(spec.honor_taints->tolerations);
  return std::string(bytes.bytes());
}

Topology MakeTopology(const TopologySpec& spec, KeyId key_id) {
  Topology topology{.key = spec.key, .key_id = key_id, .needed_keys = OtherKeys(spec)};
  if (spec.honor_affinity && DemandsNodes(*spec.honor_affinity)) {
    topology.affinity.emplace(spec.honor_affinity->node_selector, spec.honor_affinity->affinity);
  }
  if (spec.honor_taints) topology.tolerations = spec.honor_taints->tolerations;
  return topology;
}

bool Topology::Admits(const NodeFacts& node, const NodeShape& shape) const {
  for (const std::string& needed : needed_keys) {
    if (!node.labels.contains(needed)) return false;
  }
  if (affinity && !affinity->Matches(node.labels, node.name)) return false;
  return !tolerations || model::FirstUntolerated(shape.taints, *tolerations) == nullptr;
}

}  // namespace coppice::cluster
