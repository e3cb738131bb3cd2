#include "conform/provider.h"

#include <algorithm>
#include <utility>

#include "conform/provider_probe.h"
#include "rpc/node_group_server.h"

namespace coppice::conform {
namespace {

constexpr char kWhatToAnswer[] = "docs/extending/node_groups.md#what-to-answer";
constexpr char kWhatTheClientDoes[] = "docs/extending/node_groups.md#what-the-client-does";
constexpr char kWhenYouFail[] = "docs/extending/node_groups.md#when-you-fail";

constexpr Rule<ProviderProbe> kProviderRules[] = {
    // What exists.
    {"groups-before-refresh", "NodeGroups is answered before the first Refresh", kWhatTheClientDoes,
     GroupsBeforeRefresh},
    {"refresh", "Refresh is answered with OK, also twice in a row", kWhatToAnswer, RefreshTwice},
    {"group-ids", "every group has an id, and no two have the same", kWhatToAnswer, GroupIds},
    {"group-limits", "0 <= minSize <= maxSize", kWhatToAnswer, GroupLimits},
    {"groups-stable", "the same groups come in the same order, Refresh or not", kWhatToAnswer,
     GroupsStable},
    {"target-size", "every group has a target size of at least 0", kWhatToAnswer, TargetSizes},
    {"machine-ids", "every machine has an id, in one group only", kWhatToAnswer, MachineIds},
    {"machine-states",
     "every machine is running, creating or deleting; errors are of creating ones", kWhatToAnswer,
     MachineStates},
    {"target-counts-machines",
     "the target counts at least the machines that are there and not going", kWhatToAnswer,
     TargetCountsMachines},
    {"group-of-machine", "NodeGroupForNode knows a listed machine by its provider id alone",
     kWhatToAnswer, GroupOfMachine},
    {"group-of-machine-as-listed", "NodeGroupForNode says what NodeGroups says of that group",
     kWhatToAnswer, GroupOfMachineAsListed},
    {"group-of-stranger", "a node of somebody else is answered with no group, not with an error",
     kWhatToAnswer, GroupOfStranger},
    {"unknown-group", "an id that no group has is an error", kWhatToAnswer, UnknownGroup},

    // What a machine will be, and how a group is treated.
    {"template", "a template holds a node, or the call is Unimplemented", kWhatToAnswer,
     TemplateThere},
    {"template-both-eras", "nodeInfo and nodeBytes hold the same node", kWhatToAnswer,
     TemplateBothEras},
    {"template-reads", "the template's bytes are a core/v1 Node", kWhatToAnswer, TemplateReads},
    {"template-resources", "the template has allocatable cpu, memory and pods, within its capacity",
     kWhatToAnswer, TemplateResources},
    {"template-labels", "the template says os, arch, instance type and zone", kWhatToAnswer,
     TemplateLabels},
    {"options-complete", "options are absent, or have everything in the fields of the asker's era",
     kWhatToAnswer, OptionsComplete},
    {"options-eras-agree", "options that are filled in both eras say the same in both",
     kWhatToAnswer, OptionsErasAgree},
    {"options-follow-defaults", "an option is the request's default of the same name, or your own",
     kWhatToAnswer, OptionsFollowDefaults},
    {"gpu-label", "GPULabel is answered with OK, if only with nothing", kWhatToAnswer, GpuLabel},
    {"gpu-types", "GetAvailableGPUTypes is answered with OK", kWhatToAnswer, GpuTypes},
    {"node-price", "a node has one price, whichever fields carry the times", kWhatToAnswer,
     NodePrice},
    {"pod-price", "a pod has one price, whichever fields carry it", kWhatToAnswer, PodPrice},

    // Changes, in a group that somebody has named for it.
    {"order-of-nothing", "an increase by 0 or less is refused and changes nothing", kWhatToAnswer,
     OrderOfNothing},
    {"order-above-maximum", "an increase above maxSize is refused whole", kWhatToAnswer,
     OrderAboveMaximum},
    {"order", "an increase is answered with OK within the client's time-out", kWhatToAnswer,
     OrderTaken},
    {"order-raises-target", "right after an increase the target counts it", kWhatToAnswer,
     OrderRaisesTarget},
    {"refresh-keeps-orders", "a Refresh does not forget what was just ordered", kWhatToAnswer,
     RefreshKeepsOrders},
    {"machines-appear", "ordered machines are listed, as many as were ordered", kWhatToAnswer,
     MachinesAppear},
    {"new-machines-belong", "NodeGroupForNode knows the new machines by their ids", kWhatToAnswer,
     NewMachinesBelong},
    {"delete-stranger", "deleting what is not in the group is an error and lowers nothing",
     kWhatToAnswer, DeleteStranger},
    {"delete-from-another-group", "a machine is not deleted in another group's name", kWhatToAnswer,
     DeleteFromAnotherGroup},
    {"delete-is-whole", "a delete with one wrong id deletes nothing", kWhatToAnswer, DeleteIsWhole},
    {"decrease-upwards", "a decrease by 0 or more is refused", kWhatToAnswer, DecreaseUpwards},
    {"decrease-keeps-machines", "a decrease never takes a machine that exists", kWhatToAnswer,
     DecreaseKeepsMachines},
    {"delete-lowers-target", "a delete lowers the target by what it deletes", kWhatToAnswer,
     DeleteLowersTarget},
    {"deleted-machine-goes", "a deleted machine is listed as deleting, or not any more",
     kWhatToAnswer, DeletedMachineGoes},
    {"repeated-delete", "deleting a machine twice lowers the target once", kWhenYouFail,
     RepeatedDelete},
    {"refresh-keeps-deletes", "a Refresh does not bring back what was just deleted", kWhatToAnswer,
     RefreshKeepsDeletes},
    {"parallel-deletes", "deletes that come at once, beside a Refresh, are all done",
     kWhatTheClientDoes, ParallelDeletes},
    {"order-cut-short",
     "an increase whose caller has left is done or not done, and the target tells", kWhenYouFail,
     OrderCutShort},
    {"leaves-nothing", "everything that was ordered here can be deleted again", kWhatToAnswer,
     LeavesNothing},

    // What real clients bring.
    {"parallel-reads", "32 reads at once are answered as one by one", kWhatTheClientDoes,
     ParallelReads},
    {"parallel-refreshes", "a Refresh may come during another and during reads", kWhatTheClientDoes,
     ParallelRefreshes},
    {"unknown-fields", "fields that you do not know are no error", kWhatTheClientDoes,
     UnknownFields},
    {"unknown-method", "a method that you do not have is Unimplemented", kWhenYouFail,
     UnknownMethod},
    {"short-deadlines", "a caller that leaves early changes nothing for the next one", kWhenYouFail,
     ShortDeadlines},
    {"large-request", "a node with 5 MiB of annotations is taken", kWhatTheClientDoes,
     LargeRequest},
    {"garbage-request", "bytes that are no message are refused, and the server goes on",
     kWhatTheClientDoes, GarbageRequest},
    {"cleanup", "after Cleanup the next autoscaler is served as well", kWhatToAnswer,
     CleanupLeavesItUp},
};

}  // namespace

ProviderProbe::ProviderProbe(const ProviderOptions& probe_options, Transport transport,
                             Clock& clock)
    : options(probe_options),
      calls(std::move(transport), clock, rpc::kCloudProviderService, options.timeout) {}

Status ProviderProbe::Alive() const {
  Status last;
  for (const char* method : {"NodeGroups", "GPULabel", "Refresh"}) {
    last = calls.Bytes(method, "").status();
    if (last.code() != Code::kUnavailable && last.code() != Code::kDeadlineExceeded) {
      return Status::Ok();
    }
  }
  return last;
}

Result<std::vector<pb::NodeGroup>> ProviderProbe::ListGroups() const {
  const auto answer = TRY(calls.Ask<pb::NodeGroupsResponse>("NodeGroups", pb::NodeGroupsRequest()));
  return std::vector<pb::NodeGroup>(answer.nodegroups().begin(), answer.nodegroups().end());
}

Status ProviderProbe::Refresh() const {
  return calls.Ask<pb::RefreshResponse>("Refresh", pb::RefreshRequest()).status();
}

Result<int> ProviderProbe::TargetSize(const std::string& group) const {
  pb::NodeGroupTargetSizeRequest request;
  request.set_id(group);
  return TRY(calls.Ask<pb::NodeGroupTargetSizeResponse>("NodeGroupTargetSize", request))
      .targetsize();
}

Result<std::vector<pb::Instance>> ProviderProbe::Instances(const std::string& group) const {
  pb::NodeGroupNodesRequest request;
  request.set_id(group);
  const auto answer = TRY(calls.Ask<pb::NodeGroupNodesResponse>("NodeGroupNodes", request));
  return std::vector<pb::Instance>(answer.instances().begin(), answer.instances().end());
}

Result<pb::NodeGroup> ProviderProbe::GroupOf(const std::string& provider_id) const {
  pb::NodeGroupForNodeRequest request;
  request.mutable_node()->set_providerid(provider_id);
  request.mutable_node()->set_name(provider_id);
  return TRY(calls.Ask<pb::NodeGroupForNodeResponse>("NodeGroupForNode", request)).nodegroup();
}

Status ProviderProbe::Increase(const std::string& group, int delta) const {
  pb::NodeGroupIncreaseSizeRequest request;
  request.set_id(group);
  request.set_delta(delta);
  return calls.Ask<pb::NodeGroupIncreaseSizeResponse>("NodeGroupIncreaseSize", request).status();
}

Status ProviderProbe::Decrease(const std::string& group, int delta) const {
  pb::NodeGroupDecreaseTargetSizeRequest request;
  request.set_id(group);
  request.set_delta(delta);
  return calls.Ask<pb::NodeGroupDecreaseTargetSizeResponse>("NodeGroupDecreaseTargetSize", request)
      .status();
}

Status ProviderProbe::Delete(const std::string& group, const std::vector<std::string>& ids) const {
  pb::NodeGroupDeleteNodesRequest request;
  request.set_id(group);
  for (const std::string& id : ids) {
    pb::ExternalGrpcNode& node = *request.add_nodes();
    node.set_providerid(id);
    node.set_name(id);
  }
  return calls.Ask<pb::NodeGroupDeleteNodesResponse>("NodeGroupDeleteNodes", request).status();
}

bool ProviderProbe::Wait(const std::function<bool()>& look) const {
  const Deadline deadline = Deadline::In(calls.clock(), options.patience);
  Duration pause = std::chrono::milliseconds(100);
  if (look()) return true;
  while (true) {
    if (refreshes) (void)Refresh();
    if (look()) return true;
    if (deadline.Passed(calls.clock())) return false;
    calls.clock().SleepFor(std::min(pause, deadline.Left(calls.clock())));
    pause = std::min<Duration>(pause * 2, std::chrono::seconds(5));
  }
}

Result<std::vector<std::string>> ProviderProbe::OursNow() const {
  std::vector<std::string> now;
  if (!order) return now;
  for (const pb::Instance& instance : TRY(Instances(options.grow))) {
    const bool ours = std::ranges::find(order->ours, instance.id()) != order->ours.end();
    if (ours && !Going(instance)) now.push_back(instance.id());
  }
  return now;
}

std::optional<Outcome> ProviderProbe::CannotChange() const {
  if (options.grow.empty()) {
    return NotApplicable("nothing is ordered or deleted without --grow=GROUP");
  }
  const auto named = [&](const pb::NodeGroup& group) { return group.id() == options.grow; };
  if (std::ranges::none_of(groups, named)) {
    return NotApplicable("there is no group '" + options.grow + "' as --grow says");
  }
  return std::nullopt;
}

bool Going(const pb::Instance& instance) {
  return instance.status().instancestate() == pb::InstanceStatus::instanceDeleting;
}

std::vector<RuleText> ProviderRules() {
  return TextsOf(std::span<const Rule<ProviderProbe>>(kProviderRules));
}

Report TryProvider(const ProviderOptions& options, Transport transport, Clock& clock) {
  ProviderProbe probe(options, std::move(transport), clock);
  return Play(std::span<const Rule<ProviderProbe>>(kProviderRules), probe, options.play, clock);
}

}  // namespace coppice::conform
