// Topology: how many pods of which rule are where, while one question is being answered.
//
// Starts from TopologyFacts without what the question leaves out. Counts only ever rise in a
// question, so a refusal by anti-affinity or spread over hosts is final; one over zones is not, for
// the minimum rises as well. Groups come into being when the first pod that has the rule is looked
// at (also when it has become another rule by relaxing), and what was placed before that does not
// count in them: that is how the peer does it.

#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "provision/topology_facts.h"

namespace coppice::provision {

using GroupIndex = uint32_t;

// Where a pod might go, as far as topology looks at it.
struct Place {
  SetId set;  // with what the pod demands
  TaintsId taints;
  const std::string* host;
  HostId host_id;
};

// What a class of pods has to obey, and what it does to others.
struct ClassRules {
  std::vector<GroupIndex> obeys;
  std::vector<GroupIndex> kept_off_by;  // inverse groups that select its pods
  std::vector<GroupIndex> keeps_off;    // inverse groups of its own
  bool looks_at_hosts = false;          // some of those that it obeys or is kept off by
  bool looks_at_domains = false;
  LabelsId labels = 0;
  SetId strict = Algebra::kEmptySet;
  std::optional<model::NodeRequirement> strict_host;
};

enum class TopologyVerdict : uint8_t { kYes, kNotNow, kNever };

class Topology {
 public:
  struct Setting {
    const std::vector<const model::Pod*>* pods;  // to be placed; those that run count no longer
    const std::vector<size_t>* left_out;         // state nodes that would take pods otherwise
    const std::vector<std::string>* host_names;  // by HostId, of everything that exists
  };
  Topology(TopologyFacts& facts, Algebra& algebra, const SolverInput& input, Setting setting);

  // Creates the groups that do not exist yet.
  ClassRules RulesFor(const std::vector<SpecId>& rules, const std::vector<SpecId>& inverse_rules,
                      LabelsId labels);
  // From here on groups are made by relaxing, and nobody new keeps others off.
  void SetUpDone() { set_up_ = false; }
  // Only then it is known who keeps pods with these labels off.
  void NoteKeepers(ClassRules& rules);

  // Narrows `narrowed` (ids of requirements, one per label at most) or says no and which group did.
  TopologyVerdict Check(const ClassRules& rules, const Place& place, std::vector<ReqId>& narrowed,
                        GroupIndex& refusing);
  void Record(const ClassRules& rules, const Place& place);
  // A claim has come into being or got a pod.
  void Touch(HostId claim, const std::string& name);

  // The part of Check that is a look at counts per host.
  TopologyVerdict CheckHosts(const ClassRules& rules, const std::string& host,
                             HostId host_id) const;
  // Some rule leaves no domain at all, wherever the pod would go.
  bool IsHopeless(const ClassRules& rules);

  // The domains of this label that the pod's own rules leave to it, wherever it would go; absent if
  // it has no rule about them.
  std::optional<std::set<std::string>> DomainsLeft(const ClassRules& rules, std::string_view key);

  // Of domains that would do equally well the peer takes any, so that its next try may find the one
  // in which a machine can be had. Here the first by name is taken, or the one whose turn it is.
  void SetTurn(size_t turn);
  // How many were equal at most since the turn was set to 0.
  size_t most_equal() const { return most_equal_; }

  // "unsatisfiable topology constraint for ...", with the counts as they are now.
  std::string Text(GroupIndex group, const ClassRules& rules, SetId place_set,
                   const std::string& place_host) const;

 private:
  struct Group {
    SpecId spec;
    bool inverse;
    bool is_hostname = false;
    TopologyKind kind = TopologyKind::kSpread;
    // Domains that are known, by name, and what counts there; not used for hosts.
    std::vector<std::string> names;
    std::vector<int32_t> counts;
    // While there are few domains: which of them a requirement allows, and "In these domains".
    std::vector<std::pair<ReqId, uint64_t>> allowed;
    std::vector<std::pair<uint64_t, ReqId>> in_these;
    // By HostId; claims come behind what exists. Grown when asked for.
    std::vector<int32_t> hosts;
    std::vector<bool> known_hosts;
    bool knows_all_targets = false;  // nodes that take pods are domains, too
    uint64_t born = 0;
    int32_t occupied = 0;  // domains with a count
  };

  GroupIndex GroupOf(SpecId spec, bool inverse);
  void Fill(Group& group);
  void FillHosts(Group& group, const DomainCounts& counts, const DomainCounts& nodes);
  void Count(Group& group, const std::string& domain);
  void CountHost(Group& group, HostId host);
  int32_t HostCount(const Group& group, HostId host) const {
    return host < group.hosts.size() ? group.hosts[host] : 0;
  }
  bool AnyOccupied(const Group& group, const model::NodeRequirement* pod_domains) const;
  bool MayBeFirst(const Group& group, LabelsId labels,
                  const model::NodeRequirement* pod_domains) const;
  TopologyVerdict CheckHost(const Group& group, const ClassRules& rules, const std::string& host,
                            HostId host_id) const;
  ReqId CheckDomains(Group& group, const ClassRules& rules, const Place& place);
  // With sets of domains as bits.
  uint64_t Allowed(Group& group, ReqId requirement);
  ReqId InThese(Group& group, uint64_t domains);
  uint64_t NextSpread(const Group& group, bool self, uint64_t pod, uint64_t node);
  uint64_t NextAffinity(const Group& group, LabelsId labels, uint64_t pod, uint64_t node);
  // However many they are.
  ReqId CheckManyDomains(const Group& group, const ClassRules& rules, const Place& place);
  std::set<std::string> DomainsLeft(const Group& group, const ClassRules& rules);
  // Which of so many equal ones it is.
  size_t Turn(size_t equal);
  uint64_t OneOf(uint64_t equal);
  const model::NodeRequirement* Requirement(SetId set, KeyId key) const;
  const std::vector<GroupIndex>& CountingGroups(LabelsId labels);
  const std::string& HostName(HostId host) const;

  TopologyFacts& facts_;
  Algebra& algebra_;
  const SolverInput& input_;
  Setting setting_;
  bool set_up_ = true;
  uint64_t step_ = 0;
  size_t turn_ = 0;
  size_t most_equal_ = 0;
  std::vector<Group> groups_;
  std::unordered_map<uint64_t, GroupIndex> by_identity_;  // identity, and whether inverse
  std::vector<GroupIndex> inverse_groups_;
  std::unordered_map<LabelsId, std::vector<GroupIndex>> kept_off_by_;
  struct Counting {
    std::vector<GroupIndex> groups;
    size_t seen = 0;
  };
  std::vector<Counting> counting_;
  std::vector<std::string> claim_names_;
  std::vector<uint64_t> claim_touched_;
};

}  // namespace coppice::provision
