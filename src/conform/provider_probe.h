// What the rules of the provider's contract share: the calls, what was listed, and what was ordered.

#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "conform/calls.h"
#include "conform/provider.h"
#include "conform/report.h"
#include "externalgrpc.pb.h"
#include "model/objects.h"

namespace coppice::conform {

namespace pb = clusterautoscaler::cloudprovider::v1::externalgrpc;

class ProviderProbe {
 public:
  ProviderProbe(const ProviderOptions& options, Transport transport, Clock& clock);

  Status Alive() const;

  Result<std::vector<pb::NodeGroup>> ListGroups() const;
  Status Refresh() const;
  Result<int> TargetSize(const std::string& group) const;
  Result<std::vector<pb::Instance>> Instances(const std::string& group) const;
  // By the id alone, as for a stand-in of a machine that has not joined; "" is nobody's.
  Result<pb::NodeGroup> GroupOf(const std::string& provider_id) const;
  Status Increase(const std::string& group, int delta) const;
  Status Decrease(const std::string& group, int delta) const;
  Status Delete(const std::string& group, const std::vector<std::string>& ids) const;

  // Asks `look` at least twice, with a Refresh before each further time, until it says true or
  // patience ends. False: it ended.
  bool Wait(const std::function<bool()>& look) const;

  const ProviderOptions& options;
  Calls calls;

  // Found by the rules as they go.
  bool refreshes = false;
  std::vector<pb::NodeGroup> groups;  // with an id, each once
  std::map<std::string, std::vector<pb::Instance>> instances;
  std::map<std::string, int> targets;
  std::map<std::string, model::Node> templates;

  // What was ordered in options.grow.
  struct Order {
    std::set<std::string> before;  // machines that are not ours
    int target_before = 0;
    int count = 0;
    bool kept = true;               // the target still counted it after a Refresh
    std::vector<std::string> ours;  // machines that have come of it
    int unborn = 0;                 // counted by the target, and no machine has come of it
  };
  std::optional<Order> order;
  std::string deleted;          // one of ours, by delete-lowers-target
  bool deletes_count = false;   // it lowered the target
  bool deletes_happen = false;  // and the machine went
  bool deletes_return = false;  // and came back with a Refresh

  // Ours that are still listed and not going.
  Result<std::vector<std::string>> OursNow() const;
  // Why nothing can be tried in the group, or nothing.
  std::optional<Outcome> CannotChange() const;
};

bool Going(const pb::Instance& instance);
// Any id that no provider has given out.
inline constexpr char kStranger[] = "coppice-conform://nobody/0";
inline constexpr char kNoGroup[] = "coppice-conform-no-such-group";

// The rules, by file.
Outcome GroupsBeforeRefresh(ProviderProbe& probe);
Outcome RefreshTwice(ProviderProbe& probe);
Outcome GroupIds(ProviderProbe& probe);
Outcome GroupLimits(ProviderProbe& probe);
Outcome GroupsStable(ProviderProbe& probe);
Outcome TargetSizes(ProviderProbe& probe);
Outcome MachineIds(ProviderProbe& probe);
Outcome MachineStates(ProviderProbe& probe);
Outcome TargetCountsMachines(ProviderProbe& probe);
Outcome GroupOfMachine(ProviderProbe& probe);
Outcome GroupOfMachineAsListed(ProviderProbe& probe);
Outcome GroupOfStranger(ProviderProbe& probe);
Outcome UnknownGroup(ProviderProbe& probe);

Outcome TemplateThere(ProviderProbe& probe);
Outcome TemplateBothEras(ProviderProbe& probe);
Outcome TemplateReads(ProviderProbe& probe);
Outcome TemplateResources(ProviderProbe& probe);
Outcome TemplateLabels(ProviderProbe& probe);
Outcome OptionsComplete(ProviderProbe& probe);
Outcome OptionsErasAgree(ProviderProbe& probe);
Outcome OptionsFollowDefaults(ProviderProbe& probe);
Outcome GpuLabel(ProviderProbe& probe);
Outcome GpuTypes(ProviderProbe& probe);
Outcome NodePrice(ProviderProbe& probe);
Outcome PodPrice(ProviderProbe& probe);

Outcome OrderOfNothing(ProviderProbe& probe);
Outcome OrderAboveMaximum(ProviderProbe& probe);
Outcome OrderTaken(ProviderProbe& probe);
Outcome OrderRaisesTarget(ProviderProbe& probe);
Outcome RefreshKeepsOrders(ProviderProbe& probe);
Outcome MachinesAppear(ProviderProbe& probe);
Outcome NewMachinesBelong(ProviderProbe& probe);
Outcome DeleteStranger(ProviderProbe& probe);
Outcome DeleteFromAnotherGroup(ProviderProbe& probe);
Outcome DeleteIsWhole(ProviderProbe& probe);
Outcome DecreaseUpwards(ProviderProbe& probe);
Outcome DecreaseKeepsMachines(ProviderProbe& probe);
Outcome DeleteLowersTarget(ProviderProbe& probe);
Outcome DeletedMachineGoes(ProviderProbe& probe);
Outcome RepeatedDelete(ProviderProbe& probe);
Outcome RefreshKeepsDeletes(ProviderProbe& probe);
Outcome ParallelDeletes(ProviderProbe& probe);
Outcome OrderCutShort(ProviderProbe& probe);
Outcome LeavesNothing(ProviderProbe& probe);

Outcome ParallelReads(ProviderProbe& probe);
Outcome ParallelRefreshes(ProviderProbe& probe);
Outcome UnknownFields(ProviderProbe& probe);
Outcome UnknownMethod(ProviderProbe& probe);
Outcome ShortDeadlines(ProviderProbe& probe);
Outcome LargeRequest(ProviderProbe& probe);
Outcome GarbageRequest(ProviderProbe& probe);
Outcome CleanupLeavesItUp(ProviderProbe& probe);

}  // namespace coppice::conform
