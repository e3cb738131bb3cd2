// SnapshotInspector: the state of a snapshot as text, and its counters counted anew.
//
// Ids differ between snapshots with different histories, so everything is named.

#pragma once

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include "cluster/snapshot.h"

namespace coppice::cluster {

class SnapshotInspector {
 public:
  // Nodes in visiting order, with what they have and what is left, and the pods on them.
  static std::string Nodes(const Snapshot& s) {
    std::string text;
    for (NodeIndex n : s.nodes()) {
      text += s.node(n).name + " shape=" + std::to_string(s.node_shape(n).labels.size()) + "/" +
              std::to_string(s.node_shape(n).taints.size());
      std::vector<std::string> columns;
      for (ResourceId r = 0; r < s.resources().count(); ++r) {
        const int64_t free = s.resources().free(r)[n];
        const int64_t allocatable = s.resources().allocatable(r)[n];
        if (free == 0 && allocatable == 0) continue;
        columns.push_back(" " + std::string(s.resources().name(r)) + "=" + std::to_string(free) +
                          "/" + std::to_string(allocatable));
      }
      std::ranges::sort(columns);
      for (const auto& column : columns) text += column;
      std::vector<std::string> pods;
      for (PodIndex p : s.pods_on(n)) pods.push_back(PodText(s.pod(p)));
      std::ranges::sort(pods);
      for (const auto& pod : pods) text += " " + pod;
      text += " ports=" + std::to_string(s.pods_with_ports_on(n).size()) +
              " volumes=" + std::to_string(s.pods_with_volumes_on(n).size()) + "\n";
    }
    text += std::to_string(s.pod_count()) + " pods\n";
    return text;
  }

  // Where the incremental counts and a count from scratch disagree; empty if nowhere.
  static std::string WrongCounts(Snapshot& s) {
    std::string wrong;
    Counters& counters = *s.counters_;
    for (TopologyId t = 0; t < counters.topologies_.size(); ++t)
      wrong += WrongTopology(s, counters, t);
    for (CounterId c = 0; c < counters.counters_.size(); ++c) wrong += WrongCounter(s, counters, c);
    for (TermId t = 0; t < counters.terms_.size(); ++t) wrong += WrongTerm(s, counters, t);
    return wrong + WrongPlaces(s) + WrongClaims(s);
  }

 private:
  static std::string PodText(const PodView& pod) {
    return std::string(pod.namespace_) + "/" + std::string(pod.name) + (pod.terminating ? "!" : "");
  }

  static DomainId Domain(const Snapshot& s, const Counters& counters, TopologyId t, NodeIndex n) {
    const Topology& topology = counters.topologies_[t];
    const std::string* value = s.node(n).labels.Find(topology.key);
    if (!value || !topology.Admits(s.node(n), s.node_shape(n))) return kNoDomain;
    return counters.keys_[topology.key_id].Find(*value);
  }

  static std::string WrongTopology(const Snapshot& s, const Counters& counters, TopologyId t) {
    const Topology& topology = counters.topologies_[t];
    std::vector<int32_t> nodes_in(topology.nodes_in.size());
    std::string wrong;
    for (NodeIndex n = 0; n < topology.domain_of.size(); ++n) {
      const DomainId expected = s.IsLive(n) ? Domain(s, counters, t, n) : kNoDomain;
      if (expected != topology.domain_of[n]) {
        wrong += "topology " + topology.key + ": node " + std::to_string(n) +
                 " is in the wrong domain\n";
      } else if (expected != kNoDomain) {
        ++nodes_in[expected];
      }
    }
    if (nodes_in != topology.nodes_in) wrong += "topology " + topology.key + ": nodes per domain\n";
    const auto live = std::ranges::count_if(nodes_in, [](int32_t n) { return n > 0; });
    if (live != topology.live_domains) wrong += "topology " + topology.key + ": live domains\n";
    return wrong;
  }

  static std::string WrongCounter(const Snapshot& s, Counters& counters, CounterId c) {
    const Counters::CounterState& counter = counters.counters_[c];
    std::vector<int32_t> counts(counter.counts.size());
    int64_t total = 0;
    for (NodeIndex n : s.nodes()) {
      const DomainId domain = Domain(s, counters, counter.topology, n);
      for (PodIndex p : s.pods_on(n)) {
        const PodView pod = s.pod(p);
        if (domain == kNoDomain || (pod.terminating && counter.kind.skip_terminating)) continue;
        if (!counter.kind.Matches(pod.label_set)) continue;
        ++counts[domain];
        ++total;
      }
    }
    std::string wrong;
    const std::string name = "counter " + std::to_string(c);
    if (counts != counter.counts || total != counter.total) wrong += name + ": counts\n";
    int32_t least = std::numeric_limits<int32_t>::max();
    const Topology& topology = counters.topologies_[counter.topology];
    for (size_t d = 0; d < counts.size(); ++d) {
      if (topology.nodes_in[d] > 0) least = std::min(least, counts[d]);
    }
    if (counters.Least(c) != least) wrong += name + ": least\n";
    return wrong;
  }

  static std::string WrongTerm(const Snapshot& s, Counters& counters, TermId t) {
    const Counters::AntiTerm& term = counters.terms_[t];
    std::vector<int32_t> carriers(term.carriers.size());
    for (NodeIndex n : s.nodes()) {
      const DomainId domain = Domain(s, counters, term.topology, n);
      for (PodIndex p : s.pods_on(n)) {
        const PodView pod = s.pod(p);
        if (domain == kNoDomain || !counters.HasTerms(pod.spec_id)) continue;
        const auto& carried = counters.TermsOf(pod.spec_id, pod.label_set_id);
        carriers[domain] += static_cast<int32_t>(std::ranges::count(carried, t));
      }
    }
    return carriers == term.carriers ? ""
                                     : "anti-affinity term " + std::to_string(t) + ": carriers\n";
  }

  static std::string WrongPlaces(const Snapshot& s) {
    std::string wrong;
    size_t placed = 0;
    for (NodeIndex n : s.nodes()) {
      for (uint32_t slot = 0; slot < s.pods_on(n).size(); ++slot, ++placed) {
        const auto& record = s.pods_[s.pods_on(n)[slot]];
        if (record.node != n || record.slot != slot || !record.known)
          wrong += "a pod is elsewhere\n";
      }
    }
    for (PodIndex p = 0; p < s.pod_bound(); ++p) {
      if (s.IsKnown(p) && s.pods_[p].node != kNone) --placed;
    }
    return placed == 0 ? wrong : wrong + "a placed pod is on no node\n";
  }

  static std::string WrongClaims(const Snapshot& s) {
    std::vector<uint32_t> users(s.claim_users_.size());
    for (NodeIndex n : s.nodes()) {
      for (PodIndex p : s.pods_on(n)) {
        for (ClaimId claim : s.pod(p).volumes.claims) ++users[claim];
      }
    }
    return users == s.claim_users_ ? "" : "users of claims\n";
  }
};

}  // namespace coppice::cluster
