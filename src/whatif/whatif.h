// What would the autoscaler do with this cluster, and why? Runs the real engine on a dump, on a
// clock that jumps, until it has nothing left to do: new machines come up at once, pods are bound,
// timers run out. The answer is a value; nothing outside is touched.

#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "autoscale/flags.h"
#include "autoscale/plugins.h"
#include "base/log.h"
#include "report/pass_report.h"
#include "whatif/dump_groups.h"
#include "whatif/dump_reader.h"
#include "whatif/gangs.h"
#include "whatif/group_discovery.h"

namespace coppice::whatif {

struct WhatIf {
  autoscale::FlagValues flags;
  ClusterObjects cluster;
  ClusterObjects added;                   // workloads to add, not yet expanded
  std::vector<std::string> remove_nodes;  // in this order
  DiscoveredGroups groups;
  std::optional<TimePoint> now;  // unset: the newest time in the dump
  Duration horizon = std::chrono::hours(2);
  // Asked between passes: whoever waits has had enough, and gets kDeadlineExceeded. Null: nobody.
  std::function<bool()> stop = nullptr;
  // With PodGroups in the dump their pods start together or not at all. Null: they are pods like
  // others.
  const batch::PluginRegistry* batch_plugins = nullptr;
  // Who else buys for the same pods, asked once, after the removals and before the first pass: is
  // given the nodes and pods as they are, and leaves them as they would be. Null: nobody.
  std::function<Status(ClusterObjects&)> asked_first = nullptr;
};

// One pass that did something.
struct WhatIfStep {
  Duration after{};  // since the dump
  std::vector<report::GroupResize> bought;
  std::vector<std::string> new_nodes;
  std::shared_ptr<const report::PassReport> report;
};

// The answer to --remove-node.
struct RemovalAnswer {
  struct PodFate {
    report::PodPtr pod;
    enum class Kind { kMoves, kStaysBehind, kWaits, kBlocks, kNoPlace } kind = Kind::kMoves;
    std::string text;  // where to, or why not
  };
  std::string node;
  std::string group;
  bool drains = false;  // nothing blocks
  bool at_once = true;  // budgets let all its pods go together
  std::string why;      // what keeps the node itself, if that is no pod
  std::vector<PodFate> pods;
};

struct WhatIfPlan {
  TimePoint now;
  size_t nodes = 0;
  size_t pods = 0;
  size_t pending = 0;      // without a node, and the scheduler has said so
  size_t unscheduled = 0;  // without a node, and the scheduler has said nothing yet
  size_t added = 0;
  std::string groups_how;
  std::vector<DumpGroups::Group> groups_before;
  std::vector<DumpGroups::Group> groups_after;
  std::vector<RemovalAnswer> removals;
  std::vector<report::FittingPod> fitting;  // pods that a present node takes
  std::optional<GangsPlan> gangs;           // there are PodGroups in the dump; after the first pass
  std::vector<WhatIfStep> steps;
  std::shared_ptr<const report::PassReport> last;  // how it ended
  Duration took{};                                 // on the clock of the simulation
  int passes = 0;
  bool settled = true;  // false: the horizon came first
  std::vector<std::string> notes;

  bool min_sizes = false;  // --enforce-node-group-min-size: the last scale-up is about these
  // What the last pass decided about pods.
  const report::ScaleUp& about_pods() const {
    const bool before = min_sizes && !last->earlier_rounds.empty();
    return before ? last->earlier_rounds.back() : last->scale_up;
  }
  bool everybody_helped() const;  // no pod is left that nothing helps, and every removal drains
};

// A node without a provider id (kubeadm on bare metal) gets one, for it still has to belong to its
// group. Call before the groups are looked for.
void GiveProviderIds(ClusterObjects& objects);

Result<WhatIfPlan> RunWhatIf(WhatIf what_if, const autoscale::Plugins& plugins, const Log& log);

// The newest time that the objects tell of; absent if they tell of none.
std::optional<TimePoint> NewestTime(const ClusterObjects& objects);

}  // namespace coppice::whatif
