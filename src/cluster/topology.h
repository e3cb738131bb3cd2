// Topologies: which domain of a topology key each node is in, and whether it counts there at all.
//
// A plain topology holds every node that has the label. Topology spread asks for narrower ones:
// only nodes that have all the keys of the pod's constraints, that its node affinity admits, that
// have no taints it does not tolerate. Domains are numbered per key and not per topology, so that a
// node's domain in the plain one indexes the counts of a narrow one.

#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cluster/id_table.h"
#include "cluster/shapes.h"
#include "model/node_selector.h"

namespace coppice::cluster {

using TopologyId = uint32_t;
using KeyId = uint32_t;
using DomainId = int32_t;
inline constexpr DomainId kNoDomain = -1;

struct NodeFacts;

// Which nodes a topology counts. The pointers name the asking pod's shape; only what they say is
// kept.
struct TopologySpec {
  std::string key;
  std::vector<std::string> needed_keys;  // labels that the node must have, besides `key`
  const PodSpecShape* honor_affinity =
      nullptr;  // its node selector and required node affinity must match
  const PodSpecShape* honor_taints = nullptr;  // it must tolerate the node's taints
};

struct Topology {
  std::string key;
  KeyId key_id = 0;
  std::vector<DomainId> domain_of;  // by node index; kNoDomain: does not count
  std::vector<int32_t> nodes_in;    // by domain
  int32_t live_domains = 0;         // with at least one node
  std::vector<uint32_t> counters;   // CounterId: those that count by it

  // The conditions, compiled.
  std::vector<std::string> needed_keys;
  std::optional<model::RequiredNodeAffinity> affinity;
  std::optional<std::vector<model::Toleration>> tolerations;

  bool Admits(const NodeFacts& node, const NodeShape& shape) const;
};

// Values of one topology key, numbered, and who is numbered by them. A number is used again when no
// node of any topology is in its domain any more: imagined nodes bring a hostname each, pass after
// pass.
struct TopologyKey {
  std::string key;
  std::deque<std::string> values;
  std::vector<int32_t> uses;  // by domain: nodes in it, over all topologies of this key
  std::vector<DomainId> free;
  IdTable table;
  std::vector<TopologyId> topologies;
  std::vector<uint32_t> counters;  // CounterId
  std::vector<uint32_t> terms;     // TermId

  DomainId Find(std::string_view value) const;  // kNoDomain if nobody is in it
  DomainId Intern(std::string_view value);
  void Use(DomainId domain) { ++uses[domain]; }
  void Leave(DomainId domain);
  size_t domains() const { return values.size(); }
};

// Canonical text of a spec: equal ones are one topology.
std::string TopologyBytes(const TopologySpec& spec);
Topology MakeTopology(const TopologySpec& spec, KeyId key_id);

}  // namespace coppice::cluster
