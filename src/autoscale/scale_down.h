// ScaleDownPlanner: which nodes are not needed, since when, and which of them may go now. A pure
// plan, like scale-up: removal is simulated on the snapshot, moved pods are seen by later
// candidates, and everything is reverted at the end; only timers and remembered verdicts stay.

#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "autoscale/group_states.h"
#include "autoscale/listed_node.h"
#include "autoscale/options.h"
#include "autoscale/processors.h"
#include "autoscale/quotas.h"
#include "autoscale/tpu.h"
#include "autoscale/utilization.h"
#include "cluster/world.h"
#include "drain/memory.h"
#include "drain/rules.h"
#include "fit/placer.h"
#include "report/pass_report.h"

namespace coppice::autoscale {

// What is being deleted right now.
struct DeletionsInProgress {
  std::vector<std::string> empty;
  std::vector<std::string> drained;
  std::map<std::string, int, std::less<>> by_group;
  bool Contains(std::string_view node) const;
  int InGroup(std::string_view group) const;
};

// A node that could go, with what would become of its pods. The indexes are good for the pass that
// found it; objects would be touched for every pod of every node, and few are asked for.
struct RemovableNode {
  std::string node;
  std::string group;
  std::vector<cluster::PodIndex> to_reschedule;
  std::vector<cluster::PodIndex> daemon_set;
  std::vector<cluster::PodIndex> on_completion;
  bool risky = false;  // its pods cannot all go at once under their budgets
  std::vector<cluster::NodeIndex> destinations = {};  // of to_reschedule, as the plan has it
  // Of the node that the plan looked at, once it is chosen to go: a name may be somebody else's
  // when its turn comes. "": not known.
  std::string uid = {};
  std::string provider_id = {};
};

struct NodesToDelete {
  std::vector<RemovableNode> empty;
  std::vector<RemovableNode> drain;
};

class ScaleDownPlanner {
 public:
  // What it reads of the options.
  struct Rules {
    const ScaleDownOptions& looking;
    const DrainOptions& drain;
    const LimitOptions& limits;
    const Deviations& deviations;
    const Duration unneeded_time;  // of groups that say nothing else
    const Duration candidate_ttl;  // of marks that an earlier process left
    const int most_at_once;
    const bool explains_all;  // whatever it costs
  };
  struct Parts {
    const Rules rules;
    cloud::NodeGroups& groups;
    cluster::World& world;
    fit::Search& search;
    const Clock& clock;
    GroupStates::OptionsOf options_of;
    Processors& slots;
  };
  explicit ScaleDownPlanner(Parts parts);

  struct View {
    // Registered ones; stand-ins are neither candidates nor listed here.
    const std::vector<ListedNode>& nodes;
    // With stand-ins: what minimal limits are reckoned from.
    const std::vector<Quotas::NodeOf>& all_nodes;
    drain::PdbTracker budgets;
    const drain::Controllers* controllers = nullptr;
    DeletionsInProgress deleting;
    TimePoint now;
    const PassView* pass = nullptr;  // for processors
  };

  // Takes over timers from soft taints that an earlier process left; once, at the start.
  // `taints_are_fresh`: who set them was alive a moment ago, so that they count whatever their age.
  void Adopt(const std::vector<ListedNode>& nodes, bool taints_are_fresh, TimePoint now);

  // Places in view.nodes, the first to be tried first. Groups that are not to be touched for a
  // while (--scale-down-delay-type-local) are named by the caller.
  std::vector<uint32_t> Candidates(View& view, const std::set<std::string>& delayed_groups);
  // The unneeded nodes of now. Keeps `view.budgets` reduced by what would be evicted.
  void Evaluate(View& view, const std::vector<uint32_t>& candidates);
  // Of the unneeded ones, those whose time has come and that no limit keeps. Once per evaluation:
  // the lists of pods go with them.
  NodesToDelete Choose(const View& view);
  // How full the node was found by the last evaluation, if it got that far.
  const report::Utilization* UseOf(cluster::NodeIndex index) const;
  // For the report: kinds of pods that nobody moves.
  drain::PodTraits& traits() { return traits_; }

  // Timers start anew. As upstream's, the order of candidates and what the status counts stay those
  // of the last evaluation.
  void ForgetUnneeded();
  std::map<std::string, int> CandidatesByGroup() const;
  std::vector<std::string> Unneeded() const;  // in the order in which they were found
  const std::vector<report::StayingNode>& Staying() const { return staying_; }  // likewise
  TimePoint last_evaluation() const { return last_evaluation_; }
  // A fuse or a failure kept it. In the same pass as the evaluation.
  void Stays(const std::string& node, report::StayReason reason, std::string detail);
  // Nodes that upstream keeps without a reason: what was no candidate, and what the pass adds.
  void StaysUntold(report::StayingNode node) { staying_untold_.push_back(std::move(node)); }
  // All that are not needed: nothing is removed for another `wait`.
  void UnneededStay(std::string_view why, Duration wait, TimePoint now);
  const std::vector<report::StayingNode>& StayingUntold() const { return staying_untold_; }
  // When nodes have not been needed for long enough, and when a verdict is forgotten.
  void NoteDue(Wakeups& wake) const;

 private:
  struct Entry {
    RemovableNode removable;
    TimePoint since;
    Duration threshold{};
    bool ready = false;
    bool disabled = false;  // an annotation keeps it
    bool drained = false;   // it has pods to move
    cluster::NodePtr node;
  };
  struct Removable {
    const ListedNode* of;
    RemovableNode node;
  };
  struct SizeLeft {  // of a group, while nodes are chosen
    int size;
    int min;
  };
  struct Simulated {
    std::optional<RemovableNode> removable;
    report::StayingNode staying;
  };

  using Names = std::unordered_set<std::string_view>;
  void ForgetVerdicts(TimePoint now);
  std::vector<uint8_t> DestinationsOf(const View& view, const Names& deleting);
  std::vector<const ListedNode*> EligibleOf(const View& view,
                                            const std::vector<uint32_t>& candidates,
                                            const Names& deleting);
  std::vector<Removable> SimulateAll(View& view, const std::vector<const ListedNode*>& eligible,
                                     std::vector<uint8_t> destinations);
  struct Seen {            // of a node, before its removal is simulated
    uint64_t content = 0;  // its version: the same, and so are its pods
    uint64_t pods = 0;     // their fingerprint
  };
  void RememberWhyItStays(const View& view, const ListedNode& of, const Seen& as_it_was,
                          report::StayingNode staying);
  report::StayReason WhyNoCandidate(const View& view, const ListedNode& of);
  Simulated SimulateRemoval(View& view, const ListedNode& of, std::vector<uint8_t>& destinations);
  // `pods` are the snapshot's; `objects` those that stand behind them, place by place.
  struct Moving {
    std::vector<cluster::PodIndex> pods;
    std::vector<cluster::PodIndex> objects;
  };
  bool FindPlaces(cluster::NodeIndex index, const Moving& moving,
                  const std::vector<uint8_t>& destinations, Simulated& result);
  void DescribeStuck(const Moving& moving, const fit::Placement& placement,
                     const std::vector<uint8_t>& destinations, cluster::NodeIndex except,
                     report::StayingNode& staying);
  void DescribeNoCandidate(const View& view, const ListedNode& of, report::StayingNode& staying);
  // What was worked out about a node and holds until something about it or its pods changes.
  struct Emptiness {
    bool empty = false;  // nothing on it has to move
    bool waits = false;  // but something has to end by itself
  };
  struct NodeMemory {
    uint64_t emptiness_version = 0;
    Emptiness emptiness;
    uint64_t use_version = 0;
    bool without_daemons = false;
    std::optional<report::Utilization> use;
    // Read off an object.
    uint64_t read_version = 0;
    const model::Node* read_from = nullptr;
    bool ready = false;
    bool disabled = false;
    bool unreadable = false;
    bool has_gpu = false;
    std::optional<TimePoint> going_since;
    // Of one evaluation (its number), void in others.
    uint64_t judged_by_use = 0;  // its utilization has counted
    uint64_t stays_in = 0;       // there is an entry in staying_,
    uint32_t staying = 0;        // this one
  };
  const cloud::ScalingOptions& GroupOptions(const std::string& group) const;
  NodeMemory& MemoryOf(cluster::NodeIndex index);
  Emptiness EmptinessOf(cluster::NodeIndex index, TimePoint now);
  const std::optional<report::Utilization>& ReckonUse(const model::Node& node,
                                                      cluster::NodeIndex index,
                                                      const UtilizationRules& rules);
  const model::Pod& ObjectOf(cluster::PodIndex pod) const {
    return *parts_.world.EntryOf(pod)->pod;
  }
  const NodeMemory& Read(const ListedNode& of);  // what its object says
  void AddStaying(cluster::NodeIndex index, report::StayingNode staying);
  void UseBudgets(drain::PdbTracker& budgets, RemovableNode& node) const;
  report::StayReason MayGo(const View& view, const Entry& entry, Quotas& minima,
                           std::map<std::string, SizeLeft>& sizes);
  void NarrowDestinations(const View& view, std::vector<uint8_t>& destinations);
  void AskProcessor(const View& view, std::vector<RemovableNode>& nodes);
  void KeepAtomicGroupsWhole(const View& view, std::vector<RemovableNode>& nodes);
  int UnneededLimit() const;
  void UpdateUnneeded(TimePoint now, std::vector<Removable> removable);
  uint64_t PodsFingerprint(cluster::NodeIndex index) const;

  Parts parts_;
  std::vector<drain::Rule> rules_;
  drain::PodTraits traits_;  // before who asks it
  drain::Memory judged_;
  drain::Memory alone_;                  // without budgets and controllers: whether a node is empty
  std::vector<NodeMemory> node_memory_;  // by node index
  fit::Placer placer_;
  TpuRequests tpus_;
  std::vector<std::pair<std::string, Entry>> unneeded_;  // in the order of the last evaluation
  struct Candidate {
    std::string node;
    std::string group;
  };
  std::vector<Candidate> forgotten_;  // were in it, and no evaluation since
  struct Remembered {
    TimePoint until;
    uint64_t content = 0;
    uint64_t pods = 0;
    uint64_t room = 0;  // World::room_version
    TimePoint found{};
    report::StayingNode why = {};
  };
  bool MayBeOtherwise(const Remembered& remembered, cluster::NodeIndex index, TimePoint now) const;
  TimePoint NextLook(const Remembered& remembered, TimePoint now) const;
  std::unordered_map<std::string, Remembered> recently_unremovable_;
  TimePoint first_forgotten_ = TimePoint::max();  // of those, or looked at again
  bool budget_keeps_ = false;                     // one of them, as the last evaluation found
  std::vector<report::StayingNode> staying_;      // as found; node_memory_ leads to them
  std::vector<report::StayingNode> staying_untold_;
  std::vector<cluster::PodIndex> pods_;  // of the node that is looked at
  // Of the evaluation that goes on.
  uint64_t evaluation_ = 0;
  std::string gpu_label_;
  mutable std::unordered_map<std::string, cloud::ScalingOptions> group_options_;
  TimePoint last_evaluation_;
  Duration shortest_interval_;
};

}  // namespace coppice::autoscale
