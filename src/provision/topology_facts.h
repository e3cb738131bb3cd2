// TopologyFacts: what is known about spreading, affinity and anti-affinity before any pod is
// placed.
//
// A rule of a pod ("at most one more of us per zone") becomes a spec; equal rules of many pods are
// one group with one set of counts. Here: the specs, which domains exist for a label, and how many
// pods that run already count for each. A question (topology.h) starts from these, takes off what
// is left out, and counts on.

#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "model/selector.h"
#include "provision/algebra.h"
#include "provision/solver.h"
#include "provision/taint_book.h"

namespace coppice::provision {

enum class TopologyKind : uint8_t { kSpread, kAffinity, kAntiAffinity };

using SpecId = uint32_t;
using IdentityId = uint32_t;
using LabelsId = uint32_t;  // a namespace with the labels of pods in it
using HostId = uint32_t;

// A set of requirements together with what it says about the hostname, which sets leave out.
struct HostedSet {
  SetId set = Algebra::kEmptySet;
  std::optional<model::NodeRequirement> host;
};

// Which nodes count for a spread.
struct NodeFilter {
  bool honors_affinity = false;
  bool honors_taints = false;
  std::vector<HostedSet> any_of;
  TolerationsId tolerations = 0;
};

struct TopologySpec {
  TopologyKind kind = TopologyKind::kSpread;
  KeyId key = 0;
  bool is_hostname = false;
  std::vector<std::string> namespaces;  // sorted
  model::Selector selector = model::Selector::Nothing();
  bool selects_all_placed = false;  // an absent selector, read as the peer does where it counts
  int32_t max_skew = 0;
  std::optional<int32_t> min_domains;
  NodeFilter filter;
  TolerationsId creator = 0;  // domains of pools that its pod does not tolerate do not exist
  IdentityId identity = 0;    // specs of one identity are one group; the first of them made it
};

using DomainCounts = std::map<std::string, int32_t>;

class TopologyFacts {
 public:
  TopologyFacts(const SolverInput& input, const SolverOptions& options, Algebra& algebra,
                TaintBook& taints);

  // The rules of a pod that it has to obey; preferred ones among them as the options say.
  std::vector<SpecId> RulesOf(const model::Pod& pod, TolerationsId tolerations);
  // What its required anti-affinity means to others.
  std::vector<SpecId> InverseRulesOf(const model::Pod& pod, TolerationsId tolerations);

  const TopologySpec& spec(SpecId id) const { return specs_[id]; }

  LabelsId LabelsOf(const model::Pod& pod);
  bool Selects(SpecId spec, LabelsId labels);

  // Of a node that exists or is planned. `host` is null if it has no such label.
  bool FilterMatches(const NodeFilter& filter, TaintsId taints, SetId set, const std::string* host);

  // Domains that the pools could create for this spec, sorted.
  const std::vector<std::string>& Universe(SpecId spec);
  // Per domain: state nodes that take pods and count, and pods that run there and count.
  const DomainCounts& NodesPerDomain(SpecId spec);
  const DomainCounts& PodsPerDomain(SpecId spec);
  // The domain in which a pod that runs counts, or null.
  const std::string* DomainOf(SpecId spec, const model::Pod& pod);
  // The domain that a state node stands for, or null.
  const std::string* DomainOf(SpecId spec, const StateNode& node);

  // Pods that run and keep others away, as one group per rule: the counts are theirs.
  struct KeeperGroup {
    SpecId spec;
    DomainCounts counts;
  };
  const std::map<IdentityId, KeeperGroup>& keeper_groups() const { return keeper_groups_; }
  // The labels of the node on which a tracked pod runs, or null.
  const model::Labels* NodeLabelsOf(const model::Pod& pod) const;

 private:
  struct NodeFact {
    const model::Node* node;
    SetId set;
    TaintsId taints;
  };
  struct Placed {
    const model::Pod* pod;
    LabelsId labels;
    const NodeFact* node;
  };
  using DomainTaints = std::map<std::string, std::vector<TaintsId>>;

  void NoteDomains(const Pool& pool);
  void NoteDomain(const std::string& key, const std::string& value, TaintsId taints);
  void NotePlaced(const PodPtr& pod);
  const NodeFact& FactOf(const model::Node& node);
  void NoteKeepers();
  const std::string* DomainAt(SpecId id, LabelsId labels, const NodeFact& node);
  std::vector<std::string> NamespacesOf(const model::Pod& pod, const model::PodAffinityTerm& term);
  NodeFilter FilterOf(const model::Pod& pod, const model::TopologySpreadConstraint& constraint,
                      TolerationsId tolerations);
  SpecId ForTerm(const model::Pod& pod, const model::PodAffinityTerm& term, TopologyKind kind,
                 TolerationsId tolerations);
  SpecId ForSpread(const model::Pod& pod, const model::TopologySpreadConstraint& constraint,
                   TolerationsId tolerations);
  SpecId InternSpec(TopologySpec spec, const std::optional<model::LabelSelector>& selector,
                    std::string filter_text, std::string filter_identity);

  const SolverInput& input_;
  const SolverOptions& options_;
  Algebra& algebra_;
  TaintBook& taints_;
  std::unordered_map<std::string, NodeFact> nodes_;  // by name
  std::vector<Placed> placed_;
  std::map<IdentityId, KeeperGroup> keeper_groups_;
  std::map<std::string, DomainTaints, std::less<>> domains_;  // by label
  std::unordered_map<std::string, LabelsId> labels_ids_;
  std::vector<std::pair<std::string, model::Labels>> labels_;
  std::unordered_map<std::string, SpecId> spec_ids_;
  std::unordered_map<std::string, IdentityId> identities_;
  std::vector<TopologySpec> specs_;
  PairMemo selects_;
  std::unordered_map<SpecId, std::vector<std::string>> universes_;
  std::unordered_map<SpecId, DomainCounts> node_counts_;
  std::unordered_map<SpecId, DomainCounts> pod_counts_;
};

// Whether a requirement on the hostname allows this host; null: the node has none.
bool HostMeets(const std::string* host, const std::optional<model::NodeRequirement>& demand);

}  // namespace coppice::provision
