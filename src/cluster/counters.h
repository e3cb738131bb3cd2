// Counters: how many placed pods of a kind are in each domain of a topology.
//
// What topology spread and inter-pod affinity ask. A counter is built when it is first asked for,
// by one walk over the placed pods, and is then kept by every place and remove: a place costs one
// addition per counter that looks at the pod's labels. Which label sets a counter looks at is
// remembered per label set.
//
// What makes two counters different: the topology (with everything that decides which nodes it
// counts, see topology.h), the namespaces, the selectors (all of which one pod must match), and
// whether terminating pods count.
//
// The other direction, pods that are placed and keep others away, is counted per distinct
// anti-affinity term: how many placed pods carry it in each domain. Which terms look at a label set
// is remembered, too.
//
// Part of the Snapshot, which calls the On... functions; filters call the others.

#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "cluster/id_table.h"
#include "cluster/shapes.h"
#include "cluster/topology.h"
#include "model/selector.h"

namespace coppice::cluster {

class Snapshot;

using CounterId = uint32_t;
using TermId = uint32_t;

// Pods in some namespaces with some labels.
struct PodTerm {
  bool all_namespaces = false;
  std::vector<std::string> namespaces;
  model::Selector selector = model::Selector::Nothing();
  bool Matches(const LabelSet& pod) const;
};

// The pods that a counter counts: those that match every term. No term: none.
struct PodKind {
  std::vector<PodTerm> terms;
  bool skip_terminating = false;
  bool Matches(const LabelSet& pod) const;
};

class Counters {
 public:
  explicit Counters(const Snapshot& snapshot) : snapshot_(snapshot) {}

  // ---- Asked by filters. Ids stay valid as long as the snapshot.

  // O(N) for a new one.
  TopologyId Topology(const TopologySpec& spec);
  TopologyId PlainTopology(std::string_view key);
  // O(placed pods) for a new one.
  CounterId Counter(TopologyId topology, const PodKind& kind);

  const cluster::Topology& topology(TopologyId id) const { return topologies_[id]; }
  // By domain; at least as long as the topology's key has domains. Good until a node arrives or
  // changes.
  std::span<const int32_t> counts(CounterId id) const { return counters_[id].counts; }
  TopologyId topology_of(CounterId id) const { return counters_[id].topology; }
  int64_t total(CounterId id) const { return counters_[id].total; }
  // The smallest count among domains that have a node; INT32_MAX if there are none. O(1) mostly.
  int32_t Least(CounterId id);

  // A term of required anti-affinity that some pod has carried: who is kept away, and how many
  // carriers there are per domain.
  struct AntiTerm {
    TopologyId topology = 0;
    std::vector<std::string> namespaces;
    model::Selector namespace_selector = model::Selector::Nothing();
    model::Selector selector = model::Selector::Nothing();
    std::vector<int32_t> carriers;  // by domain
    int64_t total = 0;              // in any domain
  };
  // The terms that keep pods with these labels away, carried by somebody or not.
  std::span<const TermId> TermsAgainst(LabelSetId labels);
  const AntiTerm& term(TermId id) const { return terms_[id]; }
  // Grows when a term gets its first carrier or loses its last.
  uint64_t terms_version() const { return terms_version_; }
  bool any_term_carried() const { return carried_terms_ != 0; }

  // ---- Called by the snapshot.

  void OnPod(SpecId spec, LabelSetId labels, bool terminating, NodeIndex node, int sign) {
    if (counter_count_ != 0) {
      Watch& watch = WatchOf(labels);
      for (CounterId id : watch.all) Bump(counters_[id], node, sign);
      if (!terminating) {
        for (CounterId id : watch.not_terminating) Bump(counters_[id], node, sign);
      }
    }
    if (HasTerms(spec)) CountCarrier(spec, labels, node, sign);
  }
  void OnNodeShown(NodeIndex node);    // no pods on it yet
  void OnNodeHidden(NodeIndex node);   // no pods on it any more
  void OnNodeChanged(NodeIndex node);  // its facts are new, its pods the same

 private:
  friend class SnapshotInspector;

  struct CounterState {
    TopologyId topology = 0;
    PodKind kind;
    std::string bytes;
    std::vector<int32_t> counts;
    int64_t total = 0;
    int32_t least = 0;
    int32_t at_least = 0;  // domains that have it
    bool least_known = false;
  };
  struct Watch {  // the counters that look at a label set, of the first `seen` ones
    uint32_t seen = 0;
    std::vector<CounterId> all;
    std::vector<CounterId> not_terminating;
  };
  struct Against {  // the anti-affinity terms that look at a label set
    uint32_t seen = 0;
    uint64_t namespaces_version = 0;
    std::vector<TermId> terms;
  };
  enum class Carries : uint8_t { kUnknown, kNothing, kTerms };

  Watch& WatchOf(LabelSetId labels) {
    if (labels >= watches_.size()) watches_.resize(labels + 1);
    Watch& watch = watches_[labels];
    if (watch.seen != counter_count_) CatchUp(labels, watch);
    return watch;
  }
  void CatchUp(LabelSetId labels, Watch& watch);

  void Bump(CounterState& counter, NodeIndex node, int sign) {
    const DomainId domain = topologies_[counter.topology].domain_of[node];
    if (domain != kNoDomain) BumpDomain(counter, domain, sign);
  }
  static void BumpDomain(CounterState& counter, DomainId domain, int sign);

  bool HasTerms(SpecId spec) {
    if (spec >= carries_.size()) carries_.resize(spec + 1, Carries::kUnknown);
    if (carries_[spec] == Carries::kUnknown) carries_[spec] = LearnCarries(spec);
    return carries_[spec] == Carries::kTerms;
  }
  Carries LearnCarries(SpecId spec);
  const std::vector<TermId>& TermsOf(SpecId spec, LabelSetId labels);
  void CountCarrier(SpecId spec, LabelSetId labels, NodeIndex node, int sign);
  TermId InternTerm(AntiTerm term);
  void MovePod(PodIndex pod, TopologyId topology, DomainId before, DomainId after);

  KeyId Key(std::string_view key);
  DomainId DomainFor(const cluster::Topology& topology, NodeIndex node);
  void SetDomain(TopologyId topology, NodeIndex node, DomainId domain);
  void Enlarge(KeyId key);  // room for new domains in all that is counted by this key

  const Snapshot& snapshot_;
  std::deque<TopologyKey> keys_;
  std::deque<cluster::Topology> topologies_;
  std::deque<std::string> topology_bytes_;
  IdTable topology_table_;
  std::deque<CounterState> counters_;
  uint32_t counter_count_ = 0;  // their number, which a deque has to work out
  IdTable counter_table_;
  std::vector<Watch> watches_;  // by label set

  void AddCarriers(AntiTerm& term, int count) {
    const bool any = term.total > 0;
    term.total += count;
    if (any == (term.total > 0)) return;
    ++terms_version_;
    any ? --carried_terms_ : ++carried_terms_;
  }

  uint64_t terms_version_ = 0;
  size_t carried_terms_ = 0;  // by anybody
  std::deque<AntiTerm> terms_;
  std::deque<std::string> term_bytes_;
  IdTable term_table_;
  std::vector<Carries> carries_;  // by spec
  std::vector<Against> against_;  // by label set
  struct SpecTerms {
    SpecId spec;
    uint32_t namespace_id;
    std::vector<TermId> terms;
  };
  std::deque<SpecTerms> spec_terms_;
  IdTable spec_terms_table_;
};

}  // namespace coppice::cluster
