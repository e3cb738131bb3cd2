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
#include <string>
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
  LabelsId labels = 0;
  SetId strict = Algebra::kEmptySet;
  std::optional<model::NodeRequirement> strict_host;
};

enum class TopologyVerdict : uint8_t { kYes, kNotNow, kNever };

class Topology {
 public:
  struct Setting {
    const std::vector<const model::Pod*>* pods;  // to be placed; those that run count no longer
    const std::vector<bool>* is_target;          // by state node
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

  // Rules over hosts that can be judged by a look at the count: for skipping claims quickly.
  bool HasHostAffinity(const ClassRules& rules) const;

  // "unsatisfiable topology constraint for ...", with the counts as they are now.
  std::string Text(GroupIndex group, const ClassRules& rules, SetId place_set,
                   const std::string& place_host) const;

 private:
  struct Group {
    SpecId spec;
    bool inverse;
    // Domains that are known, by name, and what counts there; not used for hosts.
    std::vector<std::string> names;
    std::vector<int32_t> counts;
    std::vector<ReqId> only;  // "In this domain", kNoId until it is asked for
    // By HostId; claims come behind what exists. Grown when asked for.
    std::vector<int32_t> hosts;
    std::vector<bool> known_hosts;
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
  TopologyVerdict CheckHost(const Group& group, const ClassRules& rules, const Place& place) const;
  ReqId CheckDomains(Group& group, const ClassRules& rules, const Place& place);
  ReqId NextSpread(Group& group, bool self, const model::NodeRequirement* pod,
                   const model::NodeRequirement* node);
  ReqId NextAffinity(const Group& group, LabelsId labels, const model::NodeRequirement* pod,
                     const model::NodeRequirement* node) const;
  ReqId NextAntiAffinity(const Group& group, const model::NodeRequirement* pod,
                         const model::NodeRequirement* node) const;
  const model::NodeRequirement* Requirement(SetId set, KeyId key) const;
  const std::vector<GroupIndex>& CountingGroups(LabelsId labels);
  const std::string& HostName(HostId host) const;

  TopologyFacts& facts_;
  Algebra& algebra_;
  const SolverInput& input_;
  Setting setting_;
  bool set_up_ = true;
  uint64_t step_ = 0;
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
