#include "cluster/counters.h"

#include <algorithm>
#include <limits>

#include "cluster/canonical.h"
#include "cluster/snapshot.h"

namespace coppice::cluster {
namespace {

std::string CounterBytes(TopologyId topology, const PodKind& kind) {
  Canonical bytes;
  bytes.Add(static_cast<int64_t>(topology));
  bytes.Add(kind.skip_terminating);
  for (const PodTerm& term : kind.terms) {
    bytes.Add(term.all_namespaces);
    if (!term.all_namespaces) bytes.Add(term.namespaces);
    bytes.Add(term.selector.matches_nothing());
    bytes.Add(term.selector.Canonical());
  }
  return std::string(bytes.bytes());
}

}  // namespace

bool PodTerm::Matches(const LabelSet& pod) const {
  return (all_namespaces || std::ranges::find(namespaces, pod.namespace_) != namespaces.end()) &&
         selector.Matches(pod.labels);
}

bool PodKind::Matches(const LabelSet& pod) const {
  return !terms.empty() &&
         std::ranges::all_of(terms, [&](const PodTerm& t) { return t.Matches(pod); });
}

KeyId Counters::Key(std::string_view key) {
  const auto it = std::ranges::find(keys_, key, &TopologyKey::key);  // a handful
  if (it != keys_.end()) return static_cast<KeyId>(it - keys_.begin());
  keys_.push_back({.key = std::string(key)});
  return static_cast<KeyId>(keys_.size() - 1);
}

TopologyId Counters::PlainTopology(std::string_view key) {
  return Topology({.key = std::string(key)});
}

TopologyId Counters::Topology(const TopologySpec& spec) {
  std::string bytes = TopologyBytes(spec);
  const uint64_t hash = HashBytes(bytes);
  const uint32_t known =
      topology_table_.Find(hash, [&](uint32_t id) { return topology_bytes_[id] == bytes; });
  if (known != IdTable::kAbsent) return known;
  const auto id = static_cast<TopologyId>(topologies_.size());
  const KeyId key = Key(spec.key);
  topologies_.push_back(MakeTopology(spec, key));
  keys_[key].topologies.push_back(id);
  topology_bytes_.push_back(std::move(bytes));
  topology_table_.Insert(hash, id);
  topologies_[id].domain_of.assign(snapshot_.node_bound(), kNoDomain);
  for (NodeIndex node : snapshot_.nodes()) {
    SetDomain(id, node, DomainFor(topologies_[id], node));
  }
  Enlarge(key);
  return id;
}

DomainId Counters::DomainFor(const cluster::Topology& topology, NodeIndex node) {
  const NodeFacts& facts = snapshot_.node(node);
  const std::string* value = facts.labels.Find(topology.key);
  if (!value || !topology.Admits(facts, snapshot_.node_shape(node))) return kNoDomain;
  return keys_[topology.key_id].Intern(*value);
}

void Counters::SetDomain(TopologyId id, NodeIndex node, DomainId domain) {
  cluster::Topology& topology = topologies_[id];
  TopologyKey& key = keys_[topology.key_id];
  if (node >= topology.domain_of.size()) topology.domain_of.resize(node + 1, kNoDomain);
  const DomainId before = std::exchange(topology.domain_of[node], domain);
  if (before == domain) return;
  if (domain != kNoDomain) {
    if (static_cast<size_t>(domain) >= topology.nodes_in.size()) {
      topology.nodes_in.resize(key.domains());
    }
    if (topology.nodes_in[domain]++ == 0) ++topology.live_domains;
    key.Use(domain);
  }
  if (before != kNoDomain) {
    if (--topology.nodes_in[before] == 0) --topology.live_domains;
    key.Leave(before);
  }
  for (CounterId counter : topology.counters) counters_[counter].least_known = false;
}

void Counters::Enlarge(KeyId id) {
  const TopologyKey& key = keys_[id];
  for (TopologyId topology : key.topologies) topologies_[topology].nodes_in.resize(key.domains());
  for (CounterId counter : key.counters) counters_[counter].counts.resize(key.domains());
  for (TermId term : key.terms) terms_[term].carriers.resize(key.domains());
}

CounterId Counters::Counter(TopologyId topology, const PodKind& kind) {
  std::string bytes = CounterBytes(topology, kind);
  const uint64_t hash = HashBytes(bytes);
  const uint32_t known =
      counter_table_.Find(hash, [&](uint32_t id) { return counters_[id].bytes == bytes; });
  if (known != IdTable::kAbsent) return known;
  const CounterId id = counter_count_++;
  counters_.push_back({.topology = topology, .kind = kind, .bytes = std::move(bytes)});
  counter_table_.Insert(hash, id);
  topologies_[topology].counters.push_back(id);
  keys_[topologies_[topology].key_id].counters.push_back(id);
  CounterState& counter = counters_.back();
  counter.counts.assign(keys_[topologies_[topology].key_id].domains(), 0);
  std::vector<int8_t> matches(snapshot_.interner().label_set_count(), -1);
  for (NodeIndex node : snapshot_.nodes()) {
    if (topologies_[topology].domain_of[node] == kNoDomain) continue;
    for (PodIndex index : snapshot_.pods_on(node)) {
      const PodView pod = snapshot_.pod(index);
      if (pod.terminating && kind.skip_terminating) continue;
      int8_t& match = matches[pod.label_set_id];
      if (match < 0) match = kind.Matches(pod.label_set) ? 1 : 0;
      if (match == 1) Bump(counter, node, 1);
    }
  }
  return id;
}

void Counters::CatchUp(LabelSetId labels, Watch& watch) {
  const LabelSet& set = snapshot_.interner().label_set(labels);
  for (; watch.seen < counter_count_; ++watch.seen) {
    const PodKind& kind = counters_[watch.seen].kind;
    if (kind.Matches(set))
      (kind.skip_terminating ? watch.not_terminating : watch.all).push_back(watch.seen);
  }
}

// The least is kept along as long as that is cheap; when the last domain that had it rises, the
// next who asks looks for it anew.
void Counters::BumpDomain(CounterState& counter, DomainId domain, int sign) {
  const int32_t before = counter.counts[domain];
  const int32_t after = counter.counts[domain] = before + sign;
  counter.total += sign;
  if (!counter.least_known) return;
  if (sign > 0) {
    if (before == counter.least && --counter.at_least == 0) counter.least_known = false;
  } else if (after < counter.least) {
    counter.least = after;
    counter.at_least = 1;
  } else if (after == counter.least) {
    ++counter.at_least;
  }
}

int32_t Counters::Least(CounterId id) {
  CounterState& counter = counters_[id];
  if (counter.least_known) return counter.least;
  const cluster::Topology& topology = topologies_[counter.topology];
  counter.least = std::numeric_limits<int32_t>::max();
  counter.at_least = 0;
  for (size_t domain = 0; domain < topology.nodes_in.size(); ++domain) {
    if (topology.nodes_in[domain] == 0 || counter.counts[domain] > counter.least) continue;
    if (counter.counts[domain] < counter.least) counter.at_least = 0;
    counter.least = counter.counts[domain];
    ++counter.at_least;
  }
  counter.least_known = true;
  return counter.least;
}

void Counters::OnNodeShown(NodeIndex node) { OnNodeChanged(node); }

void Counters::OnNodeHidden(NodeIndex node) {
  for (TopologyId id = 0; id < topologies_.size(); ++id) SetDomain(id, node, kNoDomain);
}

// Pods on the node move with it from one domain to another.
void Counters::OnNodeChanged(NodeIndex node) {
  for (TopologyId id = 0; id < topologies_.size(); ++id) {
    cluster::Topology& topology = topologies_[id];
    if (node >= topology.domain_of.size()) topology.domain_of.resize(node + 1, kNoDomain);
    const size_t domains = keys_[topology.key_id].domains();
    const DomainId before = topology.domain_of[node];
    const DomainId after = DomainFor(topology, node);
    if (keys_[topology.key_id].domains() != domains) Enlarge(topology.key_id);
    if (before == after) continue;
    for (PodIndex index : snapshot_.pods_on(node)) MovePod(index, id, before, after);
    SetDomain(id, node, after);
  }
}

}  // namespace coppice::cluster
