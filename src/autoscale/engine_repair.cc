// The repair stage: machines that never became nodes, creations that failed, sizes that do not add
// up.

#include <algorithm>

#include "autoscale/engine_pass.h"

namespace coppice::autoscale {

namespace {
constexpr Duration kInstanceRefresh = std::chrono::minutes(2);  // upstream's
}  // namespace

// Upstream's background refresh. By its own clock, not by the passes: what has come since the last
// round is not known to a pass, however late that is.
Task<void> Engine::RefreshInstances(Executor& executor, std::weak_ptr<ClusterState> of) {
  for (;;) {
    {
      const std::shared_ptr<ClusterState> state = of.lock();
      if (state == nullptr) co_return;
      state->RefreshInstances();
    }
    co_await executor.Sleep(kInstanceRefresh);
  }
}

// "" or why nothing may be decided on what is known of the cluster.
std::string Engine::StaleView() const {
  const Deviations& fuses = parts_.options.deviations;
  if (!fuses.fuses || !parts_.view_age) return "";
  const Duration age = parts_.view_age();
  if (age <= fuses.fuse_max_view_age) return "";
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(age);
  return "the view of the cluster is stale: " +
         (parts_.oldest_kind ? parts_.oldest_kind() : std::string("it")) +
         " has not been read for " + FormatGoDuration(seconds) + " (--fuse-max-view-age is " +
         FormatGoDuration(fuses.fuse_max_view_age) + "); nothing is bought or removed";
}

// An all-or-nothing group loses all its machines or none.
std::vector<cloud::NodeRef> Engine::WholeOrNothing(const std::string& group,
                                                   std::vector<cloud::NodeRef> nodes, bool& skip) {
  const cloud::ScalingOptions options = OptionsOf(group);
  if (!options.zero_or_max_node_scaling) return nodes;
  const auto instances = groups_.Instances(group);
  if (!instances.ok() ||
      (instances->size() != nodes.size() && options.allow_non_atomic_scale_up_to_max)) {
    skip = true;
    return {};
  }
  std::vector<cloud::NodeRef> all;
  for (const auto& instance : *instances) all.push_back({instance.id, instance.id, ""});
  return all;
}

Task<void> Engine::RemoveLongUnregistered(PassState& pass) {
  // On a view that is behind, the very nodes that these machines became may be missing.
  if (!StaleView().empty()) co_return;
  for (const cloud::GroupInfo& group : groups_.Groups()) {
    std::vector<cloud::NodeRef> machines;
    for (const auto& machine : state_.LongUnregistered(group.id, pass.now)) {
      machines.push_back({machine.id, machine.id, "unregistered"});
    }
    if (machines.empty()) continue;
    // Any of them may be the machine of a node of which not even the provider's id could be read.
    const auto unknown = [](const ListedNode& of) {
      return of.node->metadata.unreadable && of.node->spec.provider_id.empty();
    };
    if (std::ranges::any_of(*pass.nodes, unknown)) co_return;
    if (!parts_.options.force_delete_unregistered_nodes) {
      const auto target = groups_.TargetSize(group.id);
      if (!target.ok() || *target <= group.min_size) continue;
      const auto spare = static_cast<size_t>(*target - group.min_size);
      if (machines.size() > spare) machines.resize(spare);
    }
    bool skip = false;
    machines = WholeOrNothing(group.id, std::move(machines), skip);
    if (skip || machines.empty()) continue;
    const coppice::Status status = co_await parts_.cloud.Delete(group.id, machines);
    state_.InvalidateInstances(group.id);
    for (const auto& machine : machines) {
      if (status.ok()) {
        StatusEvent("Normal", "DeleteUnregistered", "Removed unregistered node " + machine.name);
      } else {
        StatusEvent("Warning", "DeleteUnregisteredFailed",
                    "Failed to remove node " + machine.name + ": " + status.message());
      }
    }
    if (!status.ok()) co_return;  // the first failure ends the step
    pass.report->unregistered_removed += static_cast<int>(machines.size());
  }
}

Task<void> Engine::DeleteFailedCreations(PassState&) {
  bool any = false;
  for (const cloud::GroupInfo& group : groups_.Groups()) {
    std::vector<cloud::NodeRef> machines;
    for (const auto& instance : state_.FailedInstances(group.id)) {
      machines.push_back({instance.id, instance.id, "create-error"});
    }
    if (machines.empty()) continue;
    bool skip = false;
    machines = WholeOrNothing(group.id, std::move(machines), skip);
    if (skip || machines.empty()) continue;
    const coppice::Status status = co_await parts_.cloud.Delete(group.id, std::move(machines));
    if (!status.ok()) {
      parts_.log.Warning("machines that failed to come up could not be deleted",
                         {{"group", group.id}, {"error", status}});
      continue;
    }
    any = true;
    state_.InvalidateInstances(group.id);
  }
  if (any) state_.RecalculateRanges();
}

// True: something was fixed, and the rest of the pass would work on wrong numbers.
Task<bool> Engine::FixSizes(PassState& pass) {
  bool fixed = false;
  // A node that seems to be missing may be one of those that the provider has not placed yet.
  if (parts_.options.deviations.fuses && pass.unknown_nodes > 0) co_return false;
  for (const cloud::GroupInfo& group : groups_.Groups()) {
    const auto wrong = state_.WrongSizeOf(group.id);
    if (!wrong || !(wrong->first_observed + OptionsOf(group.id).max_node_provision_time < pass.now))
      continue;
    const int delta = wrong->current - wrong->expected;
    if (delta >= 0) continue;
    const coppice::Status status = co_await parts_.cloud.DecreaseTarget(group.id, delta);
    if (!status.ok()) {
      pass.Fail("cloudProviderError", "failed to decrease " + group.id + ": " + status.message());
      co_return true;
    }
    fixed = true;
  }
  co_return fixed;
}

Task<bool> Engine::Repair(PassState& pass) {
  co_await RemoveLongUnregistered(pass);
  if (!state_.ClusterHealthy()) {
    down_.ForgetUnneeded();
    StatusEvent("Warning", "ClusterUnhealthy", "Cluster is unhealthy");
    co_return false;
  }
  co_await DeleteFailedCreations(pass);
  const bool stop = co_await FixSizes(pass);
  co_return !stop;
}

}  // namespace coppice::autoscale
