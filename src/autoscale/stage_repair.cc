#include "autoscale/stage_repair.h"

#include <algorithm>
#include <utility>

#include "base/go_duration.h"

namespace coppice::autoscale {

// Not before the provider was asked: which nodes are ours is not known until then, and marks of a
// process before us would stay for ever. This pass still sees them. A node that the provider could
// not answer for is seen to when it can; until then it is not removed, so that a mark on it cannot
// be a new one of ours.
Task<void> RepairStage::CleanUp(Pass& pass) {
  const bool first = !std::exchange(initialized_, true);
  if (!first && not_cleaned_.empty()) co_return;
  std::vector<cluster::NodePtr> all;
  if (first) {
    all = shared_.world.Nodes();
  } else {
    for (const std::string& name : not_cleaned_) {
      if (cluster::NodePtr node = shared_.world.FindNode(name)) all.push_back(std::move(node));
    }
  }
  not_cleaned_.clear();
  std::vector<cluster::NodePtr> owned;
  for (const cluster::NodePtr& node : all) {
    const auto group = parts_.owners.GroupOf(*node);
    if (!group) {
      not_cleaned_.insert(node->metadata.name);
    } else if (!group->empty()) {
      owned.push_back(node);
    }
  }
  if (first) {
    parts_.down.Adopt(parts_.nodes.nodes(), taints_are_fresh_, pass.now);
  } else {
    all.clear();
  }
  co_await parts_.actuator.CleanUp(std::move(owned), std::move(all));
}

Task<void> RepairStage::TakeBackTimedOut(Pass& pass, std::vector<TimedOutRequest> timed_out) {
  for (const TimedOutRequest& late : timed_out) {
    const std::string waited = FormatGoDuration(late.waited);
    shared_.tell.Status(
        "Warning", "ScaleUpTimedOut",
        "Nodes added to group " + late.group + " failed to register within " + waited);
    parts_.buyer.Failed(late.group, late.increase,
                        {cloud::ErrorClass::kOther, "timeout",
                         "Scale-up timed out for node group " + late.group + " after " + waited},
                        pass.now);
    if (late.increase <= 0) continue;
    const Status reverted = co_await shared_.cloud.DecreaseTarget(late.group, -late.increase);
    if (!reverted.ok()) {
      shared_.tell.Status("Warning", "FailedToRevertScaleUp",
                          "Failed to decrease target size for group " + late.group +
                              " after scale-up timeout: " + reverted.message());
    }
  }
}

void RepairStage::TellFailedCreations(Pass& pass, const std::vector<FailedCreations>& all) {
  for (const FailedCreations& failed : all) {
    const std::string_view kind =
        failed.error.error_class == cloud::ErrorClass::kOutOfResources ? "OutOfResource" : "Other";
    shared_.tell.Status("Warning", "ScaleUpFailed",
                        "Failed adding " + std::to_string(failed.count) + " nodes to group " +
                            failed.group + " due to " + std::string(kind) + "." +
                            failed.error.code + "; source errors: " + failed.error.message);
    parts_.buyer.Failed(failed.group, failed.count, failed.error, pass.now);
  }
}

// An all-or-nothing group loses all its machines or none.
std::vector<cloud::NodeRef> RepairStage::WholeOrNothing(const std::string& group,
                                                        std::vector<cloud::NodeRef> machines) {
  const cloud::ScalingOptions options = shared_.options_of(group);
  if (!options.zero_or_max_node_scaling) return machines;
  const auto instances = shared_.groups.Instances(group);
  if (!instances.ok() ||
      (instances->size() != machines.size() && options.allow_non_atomic_scale_up_to_max)) {
    return {};
  }
  std::vector<cloud::NodeRef> all;
  for (const auto& instance : *instances) all.push_back({instance.id, instance.id, ""});
  return all;
}

Task<void> RepairStage::RemoveLongUnregistered(Pass& pass) {
  // On a view that is behind, the very nodes that these machines became may be missing.
  if (!parts_.view.Stale().empty()) co_return;
  for (const cloud::GroupInfo& group : shared_.groups.Groups()) {
    std::vector<cloud::NodeRef> machines;
    for (const auto& machine : parts_.state.LongUnregistered(group.id, pass.now)) {
      machines.push_back({machine.id, machine.id, "unregistered"});
    }
    if (machines.empty()) continue;
    // Any of them may be the machine of a node of which not even the provider's id could be read.
    const auto unknown = [](const ListedNode& of) {
      return of.node->metadata.unreadable && of.node->spec.provider_id.empty();
    };
    if (std::ranges::any_of(parts_.nodes.nodes(), unknown)) co_return;
    if (!shared_.options.repair.force_delete_unregistered_nodes) {
      const auto target = shared_.groups.TargetSize(group.id);
      if (!target.ok() || *target <= group.min_size) continue;
      const auto spare = static_cast<size_t>(*target - group.min_size);
      if (machines.size() > spare) machines.resize(spare);
    }
    machines = WholeOrNothing(group.id, std::move(machines));
    if (machines.empty()) continue;
    const Status status = co_await shared_.cloud.Delete(group.id, machines);
    parts_.state.InvalidateInstances(group.id);
    for (const auto& machine : machines) {
      if (status.ok()) {
        shared_.tell.Status("Normal", "DeleteUnregistered",
                            "Removed unregistered node " + machine.name);
      } else {
        shared_.tell.Status("Warning", "DeleteUnregisteredFailed",
                            "Failed to remove node " + machine.name + ": " + status.message());
      }
    }
    if (!status.ok()) co_return;  // the first failure ends the step
    pass.report->unregistered_removed += static_cast<int>(machines.size());
  }
}

Task<void> RepairStage::DeleteFailedCreations() {
  bool any = false;
  for (const cloud::GroupInfo& group : shared_.groups.Groups()) {
    std::vector<cloud::NodeRef> machines;
    for (const auto& instance : parts_.state.FailedInstances(group.id)) {
      machines.push_back({instance.id, instance.id, "create-error"});
    }
    if (machines.empty()) continue;
    machines = WholeOrNothing(group.id, std::move(machines));
    if (machines.empty()) continue;
    const Status status = co_await shared_.cloud.Delete(group.id, std::move(machines));
    if (!status.ok()) {
      shared_.log.Warning("machines that failed to come up could not be deleted",
                          {{"group", group.id}, {"error", status}});
      continue;
    }
    any = true;
    parts_.state.InvalidateInstances(group.id);
  }
  if (any) parts_.state.RecalculateRanges();
}

// True: something was fixed, and the rest of the pass would work on wrong numbers.
Task<bool> RepairStage::FixSizes(Pass& pass) {
  bool fixed = false;
  // A node that seems to be missing may be one of those that the provider has not placed yet.
  if (shared_.options.deviations.fuses && parts_.nodes.unknown() > 0) co_return false;
  for (const cloud::GroupInfo& group : shared_.groups.Groups()) {
    const auto wrong = parts_.state.WrongSizeOf(group.id);
    if (!wrong ||
        !(wrong->first_observed + shared_.options_of(group.id).max_node_provision_time < pass.now))
      continue;
    const int delta = wrong->current - wrong->expected;
    if (delta >= 0) continue;
    const Status status = co_await shared_.cloud.DecreaseTarget(group.id, delta);
    if (!status.ok()) {
      pass.Fail("cloudProviderError", "failed to decrease " + group.id + ": " + status.message());
      co_return true;
    }
    fixed = true;
  }
  co_return fixed;
}

Task<bool> RepairStage::Run(Pass& pass, const Observation& seen) {
  if (!seen.unhealthy.empty()) shared_.tell.Status("Warning", "ClusterUnhealthy", seen.unhealthy);
  if (seen.listed) co_await CleanUp(pass);
  if (seen.nothing_is_unneeded) parts_.down.ForgetUnneeded();
  if (!seen.known) co_return false;
  co_await TakeBackTimedOut(pass, seen.findings.timed_out);
  TellFailedCreations(pass, seen.findings.failed_creations);
  co_await RemoveLongUnregistered(pass);
  if (!parts_.state.ClusterHealthy()) {
    parts_.down.ForgetUnneeded();
    shared_.tell.Status("Warning", "ClusterUnhealthy", "Cluster is unhealthy");
    co_return false;
  }
  co_await DeleteFailedCreations();
  const bool fixed = co_await FixSizes(pass);
  co_return !fixed;
}

}  // namespace coppice::autoscale
