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
#include <vector>

#include "autoscale/cluster_state.h"
#include "autoscale/drain_memory.h"
#include "autoscale/drain_rules.h"
#include "autoscale/options.h"
#include "autoscale/processors.h"
#include "autoscale/quotas.h"
#include "autoscale/tpu.h"
#include "autoscale/utilization.h"
#include "cluster/world.h"
#include "pack/placer.h"
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

// A node that could go, with what would become of its pods.
struct RemovableNode {
  std::string node;
  std::string group;
  std::vector<cluster::PodPtr> to_reschedule;
  std::vector<cluster::PodPtr> daemon_set;
  std::vector<cluster::PodPtr> on_completion;
  bool risky = false;  // its pods cannot all go at once under their budgets
  std::vector<cluster::NodeIndex> destinations = {};  // of to_reschedule, as the plan has it
};

struct NodesToDelete {
  std::vector<RemovableNode> empty;
  std::vector<RemovableNode> drain;
};

class ScaleDownPlanner {
 public:
  struct Parts {
    const Options& options;
    cloud::NodeGroups& groups;
    cluster::World& world;
    pack::Search& search;
    const Clock& clock;
    ClusterState::OptionsOf options_of;
    Processors& slots;
  };
  explicit ScaleDownPlanner(Parts parts);

  struct NodeOf {
    cluster::NodePtr node;  // after readiness overrides
    std::string group;
  };
  struct View {
    std::vector<NodeOf> nodes;  // registered ones; stand-ins are neither candidates nor listed here
    std::vector<Quotas::NodeOf> all_nodes;  // with stand-ins: what minimal limits are reckoned from
    PdbTracker budgets;
    const Controllers* controllers = nullptr;
    DeletionsInProgress deleting;
    TimePoint now;
    // For processors.
    std::vector<ListedNode> listed = {};
    const PassView* pass = nullptr;
  };

  // Takes over timers from soft taints that an earlier process left; once, at the start.
  // `taints_are_fresh`: who set them was alive a moment ago, so that they count whatever their age.
  void Adopt(const std::vector<NodeOf>& nodes, bool taints_are_fresh, TimePoint now);

  // Groups that are not to be touched for a while (--scale-down-delay-type-local) are left out by
  // the caller.
  std::vector<std::string> Candidates(View& view, const std::set<std::string>& delayed_groups);
  // The unneeded nodes of now. Keeps `view.budgets` reduced by what would be evicted.
  void Evaluate(View& view, const std::vector<std::string>& candidates);
  // Of the unneeded ones, those whose time has come and that no limit keeps.
  NodesToDelete Choose(const View& view);

  void ForgetUnneeded() { unneeded_.clear(); }
  std::vector<std::string> Unneeded() const;  // in the order in which they were found
  std::vector<report::StayingNode> Staying() const;
  std::optional<TimePoint> UnneededSince(std::string_view node) const;
  TimePoint last_evaluation() const { return last_evaluation_; }
  // A fuse or a failure kept it.
  void Stays(const std::string& node, report::Unremovable reason, std::string detail);
  // Nodes that upstream keeps without a reason: what was no candidate, and what the pass adds.
  void Holds(report::StayingNode node) { held_.push_back(std::move(node)); }
  // All that are not needed: nothing is removed for another `wait`.
  void HoldUnneeded(std::string_view why, Duration wait, TimePoint now);
  const std::vector<report::StayingNode>& Held() const { return held_; }

 private:
  struct Entry {
    RemovableNode removable;
    TimePoint since;
    Duration threshold{};
    bool ready = false;
    cluster::NodePtr node;
  };
  struct Simulated {
    std::optional<RemovableNode> removable;
    report::StayingNode staying;
  };

  report::Unremovable Ineligible(const View& view, const NodeOf& of,
                                 std::optional<report::Utilization>& use);
  Simulated SimulateRemoval(View& view, const NodeOf& of, std::vector<uint8_t>& destinations);
  bool FindPlaces(const NodeOf& of, cluster::NodeIndex index,
                  const std::vector<pack::PendingPod>& pods,
                  const std::vector<uint8_t>& destinations, TimePoint now, Simulated& result);
  void DescribeStuck(const std::vector<pack::PendingPod>& pods, const pack::Placement& placement,
                     const std::vector<uint8_t>& destinations, cluster::NodeIndex except,
                     report::StayingNode& staying);
  void DescribeIneligible(const View& view, const NodeOf& of, report::StayingNode& staying) const;
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
  };
  const cloud::ScalingOptions& GroupOptions(const std::string& group) const;
  NodeMemory& MemoryOf(cluster::NodeIndex index);
  Emptiness EmptinessOf(cluster::NodeIndex index, TimePoint now);
  std::optional<report::Utilization> UseOf(const model::Node& node, cluster::NodeIndex index,
                                           const UtilizationRules& rules);
  report::Unremovable MayGo(const View& view, const Entry& entry, Quotas& minima,
                            std::map<std::string, int>& sizes);
  void NarrowDestinations(const View& view, std::vector<uint8_t>& destinations);
  void AskProcessor(const View& view, std::vector<RemovableNode>& nodes);
  void KeepAtomicGroupsWhole(const View& view, std::vector<RemovableNode>& nodes);
  int UnneededLimit() const;
  void UpdateUnneeded(const View& view, std::vector<RemovableNode> removable);
  uint64_t PodsFingerprint(cluster::NodeIndex index) const;

  Parts parts_;
  std::vector<DrainRule> rules_;
  DrainMemory judged_;
  std::vector<NodeMemory> node_memory_;  // by node index
  pack::Placer placer_;
  TpuRequests tpus_;
  std::vector<std::pair<std::string, Entry>> unneeded_;  // in the order of the last evaluation
  struct Remembered {
    TimePoint until;
    uint64_t pods = 0;  // fingerprint of what was on the node
    TimePoint found{};
    report::StayingNode why = {};
  };
  std::map<std::string, Remembered> recently_unremovable_;
  std::map<std::string, report::StayingNode> staying_;
  std::vector<report::StayingNode> held_;
  std::unordered_map<std::string, report::Utilization> utilization_;
  // Of the evaluation that goes on.
  std::string gpu_label_;
  mutable std::map<std::string, cloud::ScalingOptions> group_options_;
  TimePoint last_evaluation_;
  Duration shortest_interval_;
};

}  // namespace coppice::autoscale
