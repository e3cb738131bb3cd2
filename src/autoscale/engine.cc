#include "autoscale/engine.h"

#include <algorithm>
#include <utility>

#include "autoscale/engine_pass.h"
#include "autoscale/gpu.h"
#include "autoscale/readiness.h"
#include "model/pod_kinds.h"

namespace coppice::autoscale {

namespace {

// A process that has been away for longer has not seen what nodes were needed for meanwhile.
constexpr Duration kMemoryLasts = std::chrono::minutes(10);
constexpr Duration kBootGrace = std::chrono::hours(1);  // no cool-down at the start of the process

bool Lists(const std::vector<std::string>& names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

// "" stands for the default scheduler wherever that is listed.
bool ListsScheduler(const std::vector<std::string>& names, std::string_view scheduler) {
  return Lists(names, scheduler) || (scheduler.empty() && Lists(names, "default-scheduler"));
}

const model::PodCondition* Scheduled(const model::Pod& pod) {
  const auto it =
      std::ranges::find(pod.status.conditions, "PodScheduled", &model::PodCondition::type);
  return it == pod.status.conditions.end() ? nullptr : &*it;
}

bool IsUnschedulable(const model::Pod& pod) {
  const model::PodCondition* condition = Scheduled(pod);
  return condition != nullptr && condition->status == "False" &&
         condition->reason == "Unschedulable";
}

// A scheduler that does not say "Unschedulable" is taken at its silence.
bool IsUnprocessed(const model::Pod& pod) {
  const model::PodCondition* condition = Scheduled(pod);
  return condition == nullptr || (condition->status == "False" && condition->reason.empty());
}

}  // namespace

bool Engine::Counts(const Options& options, const model::Pod& pod) {
  if (pod.status.phase == "Succeeded" || pod.status.phase == "Failed") return false;
  if (pod.metadata.unreadable) return true;  // whose it is, and how important, is not certain
  if (!options.allowed_scheduler_names.empty() &&
      !ListsScheduler(options.allowed_scheduler_names, pod.spec.scheduler_name)) {
    return false;
  }
  return !model::IsExpendable(pod, options.expendable_pods_priority_cutoff);
}

Engine::Engine(Parts parts)
    : parts_(std::move(parts)),
      slots_(parts_.processors != nullptr ? *parts_.processors : standard_),
      orders_(parts_.groups, parts_.cloud, parts_.executor),
      groups_(orders_.groups()),
      templates_(parts_.options, groups_, parts_.rng),
      state_(
          parts_.options, groups_, [this](std::string_view group) { return OptionsOf(group); },
          [this](std::string_view group) { return templates_.Find(group) != nullptr; }),
      search_(parts_.world.snapshot(), parts_.filters),
      pending_placer_(search_),
      up_({parts_.options, groups_, templates_, state_, search_, parts_.expanders,
           parts_.executor.clock(), [this](std::string_view group) { return OptionsOf(group); },
           parts_.first_of_tie,
           [this](std::function<void()> work) { return parts_.cloud.Elsewhere(std::move(work)); },
           slots_, parts_.log}),
      nearest_({parts_.options, groups_, templates_, state_, search_,
                [this](std::string_view group) { return OptionsOf(group); }}),
      down_({parts_.options, groups_, parts_.world, search_, parts_.executor.clock(),
             [this](std::string_view group) { return OptionsOf(group); }, slots_}),
      fuse_(parts_.options, parts_.writer, parts_.log),
      actuator_(
          {.options = parts_.options,
           .cloud = parts_.cloud,
           .writer = parts_.writer,
           .executor = parts_.executor,
           .world = parts_.world,
           .options_of = [this](std::string_view group) { return OptionsOf(group); },
           .counts =
               [this](const model::Pod& pod) {
                 return !model::IsExpendable(pod, parts_.options.expendable_pods_priority_cutoff);
               },
           .status_event = [this](std::string_view type, std::string_view reason,
                                  std::string text) { StatusEvent(type, reason, std::move(text)); },
           .removed =
               [this](std::string_view group, std::string_view node, TimePoint now) {
                 state_.RegisterScaleDown(group, now + std::chrono::minutes(5));
                 group_scaled_down_[std::string(group)] = now;
                 fuse_.Removed(node, now);
                 for (const auto& observer : slots_.scale_state) observer->ScaledDown(group, now);
               },
           .failed =
               [this](std::string_view group, TimePoint now) {
                 group_failed_[std::string(group)] = now;
                 for (const auto& observer : slots_.scale_state)
                   observer->ScaleDownFailed(group, now);
               },
           .ended = [this] { Wake(); },
           .may_delete = [this](const cloud::NodeRef& node,
                                std::string_view group) { return NotOurs(node, group); }}) {
  const TimePoint start = parts_.executor.clock().Now();
  last_scale_up_ = last_delete_ = last_fail_ = start - kBootGrace;
  if (!parts_.options.deviations.fresh_instances)
    parts_.executor.Spawn(RefreshInstances(parts_.executor, watched_));
}

void Engine::Wake() {
  if (parts_.wake) parts_.wake();
}

Memory Engine::Remember(TimePoint now) {
  return {.written = now,
          .last_scale_up = last_scale_up_,
          .last_delete = last_delete_,
          .last_failure = last_fail_,
          .backoffs = state_.backoffs().entries()};
}

void Engine::Recall(const Memory& memory, TimePoint now) {
  if (!parts_.options.deviations.survive_restarts) return;
  // Of the future: a clock is wrong, and nobody knows whose.
  if (memory.written > now || memory.written + kMemoryLasts < now) return;
  taints_are_fresh_ = true;
  last_scale_up_ = std::max(last_scale_up_, std::min(memory.last_scale_up, now));
  last_delete_ = std::max(last_delete_, std::min(memory.last_delete, now));
  last_fail_ = std::max(last_fail_, std::min(memory.last_failure, now));
  state_.backoffs().Restore(memory.backoffs, now);
}

PassView Engine::ViewOf(PassState& pass) {
  return {.now = pass.now,
          .world = parts_.world,
          .groups = groups_,
          .disable_scale_down = [&pass] { pass.no_scale_down = true; },
          .forget_unneeded = [this] { down_.ForgetUnneeded(); },
          .extra = pass.extra};
}

void Engine::RegisterFailure(std::string_view group, int nodes, const cloud::MachineError& why,
                             TimePoint now) {
  failed_additions_.push_back({std::string(group), why.code, nodes});
  for (const auto& observer : slots_.scale_state) observer->ScaleUpFailed(group, why, now);
  state_.RegisterFailure(group, why, now);
}

cloud::ScalingOptions Engine::OptionsOf(std::string_view group) {
  const auto options = groups_.Options(group, parts_.options.group_defaults);
  const cloud::ScalingOptions standard =
      options.ok() && options->has_value() ? **options : parts_.options.group_defaults;
  return slots_.node_group_config ? slots_.node_group_config->OptionsOf(group, standard) : standard;
}

// The last fuse, right before a machine goes: the provider itself must say that it is the group's.
std::string Engine::NotOurs(const cloud::NodeRef& node, std::string_view group) {
  if (!parts_.options.deviations.fuses) return "";
  const auto owner = groups_.GroupOf(node);
  if (!owner.ok()) return "nobody can say whose machine it is: " + owner.status().message();
  if (!owner->has_value()) return "the provider does not know the machine as its own";
  if (**owner != group)
    return "the provider has the machine in " + **owner + ", not in " + std::string(group);
  return "";
}

void Engine::StatusEvent(std::string_view type, std::string_view reason, std::string text) {
  if (!parts_.options.write_status_configmap) return;
  parts_.writer.Emit({"ConfigMap", parts_.options.namespace_, parts_.options.status_config_map_name,
                      "", std::string(type), std::string(reason), std::move(text)});
}

// A ready node whose devices have not appeared yet, or that still carries a startup taint, is not
// ready to us.
void Engine::ListNodes(PassState& pass) {
  const TaintConfig taints(parts_.options);
  const std::string gpu_label = groups_.GpuLabel();
  const auto no_gpu = [&gpu_label](const model::Node& node) {
    return !gpu_label.empty() && node.metadata.labels.contains(gpu_label) &&
           AllocatableGpus(node) == 0;
  };
  const auto set_group = [this](ListedNode& of) {
    auto group = GroupOf(*of.node);
    of.group_known = group.has_value();
    of.group = std::move(group).value_or("");
  };
  // What a processor says of a node may change by itself; all else is read off the object.
  const auto read = [&](const cluster::NodePtr& node) {
    ListedNode of{.node = node};
    of.ready = ReadinessOf(*node).ready && !node->spec.unschedulable;
    of.candidate = HasTaint(*node, kDeletionCandidateTaint);
    std::string_view override_reason;
    if (of.ready &&
        (slots_.custom_resources ? slots_.custom_resources->DevicesMissing(*node, no_gpu)
                                 : no_gpu(*node))) {
      override_reason = kResourceNotReady;
    } else if (of.ready && taints.HasStartupTaint(*node)) {
      override_reason = kStartupTaintReason;
    }
    if (!override_reason.empty()) {
      of.node = std::make_shared<const model::Node>(UnreadyCopy(*node, override_reason));
      of.ready = false;
    }
    set_group(of);
    of.index = parts_.world.snapshot().FindNode(node->metadata.name);
    return of;
  };
  if (gpu_label != listed_gpu_label_) read_ = {};
  listed_gpu_label_ = gpu_label;
  const uint64_t version = groups_.Version();
  const bool same_groups = version != 0 && version == listed_version_;
  const bool same_indexes = listed_set_ == parts_.world.node_set_version();
  pass.ready_nodes = 0;
  pass.unknown_nodes = 0;
  read_.Begin(parts_.world.node_count());
  listed_.clear();
  listed_.reserve(parts_.world.node_count());
  parts_.world.ForEachNode([&](const cluster::NodePtr& node) {
    bool fresh = false;
    ListedNode& of = read_.Next(node, [&] {
      fresh = true;
      return read(node);
    });
    if (!fresh && slots_.custom_resources) {
      of = read(node);
    } else if (!fresh) {
      if (!same_groups) set_group(of);
      if (!same_indexes) of.index = parts_.world.snapshot().FindNode(node->metadata.name);
    }
    pass.ready_nodes += of.ready ? 1 : 0;
    pass.unknown_nodes += of.group_known ? 0 : 1;
    listed_.push_back(of);
  });
  listed_version_ = version;
  listed_set_ = parts_.world.node_set_version();
  pass.nodes = &listed_;
}

void Engine::ListPods(PassState& pass) {
  std::vector<fit::PendingPod> unprocessed;
  const std::vector<const cluster::World::PodEntry*> unbound = parts_.world.Unbound();
  pass.pending.reserve(unbound.size());
  for (const cluster::World::PodEntry* entry : unbound) {
    const model::Pod& pod = *entry->pod;
    if (entry->index == cluster::kNone || pod.metadata.deletion_timestamp ||
        pod.metadata.unreadable ||  // what it asks for is not known: nothing is bought for it
        !pod.status.nominated_node_name.empty()) {
      continue;
    }
    if (IsUnschedulable(pod)) {
      pass.pending.push_back({entry->pod, entry->index});
    } else if (ListsScheduler(parts_.options.bypassed_scheduler_names, pod.spec.scheduler_name) &&
               IsUnprocessed(pod)) {
      unprocessed.push_back({entry->pod, entry->index});
    }
  }
  std::ranges::move(unprocessed, std::back_inserter(pass.pending));
}

Task<bool> Engine::Observe(PassState& pass) {
  // Before the cloud is asked nodes are listed only for who wants to know of them by then.
  if (slots_.actionable_cluster || !parts_.options.scale_up_from_zero) ListNodes(pass);
  if (slots_.actionable_cluster) {
    const auto why = slots_.actionable_cluster->ShouldAbort(*pass.nodes, ViewOf(pass));
    if (!why.ok()) pass.Fail("internalError", why.status().message());
    if (why.ok() && !why->empty()) StatusEvent("Warning", "ClusterUnhealthy", *why);
    if (!why.ok() || !why->empty()) {
      down_.ForgetUnneeded();
      co_return false;
    }
  } else if (!parts_.options.scale_up_from_zero && (pass.nodes->empty() || pass.ready_nodes == 0)) {
    down_.ForgetUnneeded();
    StatusEvent("Warning", "ClusterUnhealthy", "Cluster has no ready nodes.");
    co_return false;
  }
  pass.deleting = actuator_.InProgress();
  pass.report->deleting = pass.deleting.empty.size() + pass.deleting.drained.size();
  TellNodes();
  const Stopwatch refresh(parts_.executor.clock());
  const uint64_t answers = orders_.answers();
  const coppice::Status refreshed = co_await parts_.cloud.Refresh();
  if (!refreshed.ok()) {
    pass.Fail("cloudProviderError", refreshed.message());
    co_return false;
  }
  orders_.Refreshed(answers);
  refresh.Note(pass.report->took, "cloudProviderRefresh");
  if (const std::string stale = StaleView(); !stale.empty()) {
    pass.Fail("apiCallError", stale);
    co_return false;
  }
  const Stopwatch update(parts_.executor.clock());
  // The cluster went on while the cloud was asked. From here on what comes is held back until the
  // plan is made: what is listed now is what is planned with.
  parts_.world.Hold();
  ListNodes(pass);
  co_await CleanUp(pass);
  ListPods(pass);
  for (const auto& observer : slots_.loop_start) observer->Refresh(ViewOf(pass));
  auto budgets = drain::PdbTracker::Create(parts_.world.budgets.List());
  if (!budgets.ok()) {
    pass.Fail("internalError",
              "failed to initialize RemainingPdbTracker: " + budgets.status().message());
    co_return false;
  }
  pass.budgets = std::move(*budgets);

  const auto pods_of = [this](const model::Node& node) {
    std::vector<const model::Pod*> pods;
    const cluster::NodeIndex index = parts_.world.snapshot().FindNode(node.metadata.name);
    if (index == cluster::kNone) return pods;
    for (const cluster::PodIndex pod : parts_.world.PodsInOrder(index)) {
      if (const auto* entry = parts_.world.EntryOf(pod)) pods.push_back(entry->pod.get());
    }
    return pods;
  };
  templates_.Recompute(*pass.nodes, pods_of, parts_.world.daemon_sets.List(), pass.now);
  if (slots_.node_info) {
    auto processed = slots_.node_info->Process(templates_.all(), *pass.nodes, ViewOf(pass));
    if (!processed.ok()) {
      pass.Fail("internalError", "node info: " + processed.status().message());
      co_return false;
    }
    templates_.Replace(std::move(*processed));
  }

  const auto findings = state_.Update(*pass.nodes, pass.now);
  if (!findings.ok()) {
    down_.ForgetUnneeded();
    pass.Fail("cloudProviderError", findings.status().message());
    co_return false;
  }
  for (const TimedOutRequest& late : findings->timed_out) {
    const std::string waited = FormatGoDuration(late.waited);
    StatusEvent("Warning", "ScaleUpTimedOut",
                "Nodes added to group " + late.group + " failed to register within " + waited);
    RegisterFailure(late.group, late.increase,
                    {cloud::ErrorClass::kOther, "timeout",
                     "Scale-up timed out for node group " + late.group + " after " + waited},
                    pass.now);
    if (late.increase <= 0) continue;
    const coppice::Status reverted =
        co_await parts_.cloud.DecreaseTarget(late.group, -late.increase);
    if (!reverted.ok()) {
      StatusEvent("Warning", "FailedToRevertScaleUp",
                  "Failed to decrease target size for group " + late.group +
                      " after scale-up timeout: " + reverted.message());
    }
  }
  update.Note(pass.report->took, "updateClusterState");
  for (const FailedCreations& failed : findings->failed_creations) {
    const std::string_view kind =
        failed.error.error_class == cloud::ErrorClass::kOutOfResources ? "OutOfResource" : "Other";
    StatusEvent("Warning", "ScaleUpFailed",
                "Failed adding " + std::to_string(failed.count) + " nodes to group " +
                    failed.group + " due to " + std::string(kind) + "." + failed.error.code +
                    "; source errors: " + failed.error.message);
    RegisterFailure(failed.group, failed.count, failed.error, pass.now);
  }
  co_return true;
}

Task<std::shared_ptr<const report::PassReport>> Engine::Pass(TimePoint now) {
  PassState pass(now);
  const bool known = co_await Observe(pass);
  if (!known) {
    parts_.world.ApplyHeld();
    pass.wake.In(kTryAgain, "the pass ended early");
    pass.report->call_again = pass.wake.earliest();
    co_return pass.report;
  }

  const bool go_on = co_await Repair(pass);
  if (!go_on) {
    parts_.world.ApplyHeld();
  } else {
    parts_.world.snapshot().OpenFork();  // everything that is only imagined from here on
    AddUpcoming(pass);
    const Stopwatch filter(parts_.executor.clock());
    ListPodsToHelp(pass);
    filter.Note(pass.report->took, "filterOutSchedulable");
    const bool buy = ShouldScaleUp(pass);
    const Stopwatch scale_up(parts_.executor.clock());
    if (buy) co_await ScaleUp(pass);
    if (buy) scale_up.Note(pass.report->took, "scaleUp");
    nearest_.Explain(pass.report->scale_up, pass.all_nodes, pass.ready_nodes, pass.now);
    const bool degraded = parts_.options.enable_graceful_degradation && degraded_passes_ > 0;
    if (parts_.options.scale_down_enabled && !(degraded && degraded_passes_ % 4 != 0)) {
      co_await ScaleDown(pass);
    } else {
      parts_.world.snapshot().RevertFork();
      parts_.world.ApplyHeld();
    }
    if (parts_.options.enforce_node_group_min_size) {
      pass.scale_up_tried = true;
      ScaleUpPlan plan = up_.PlanMinSizes(pass.all_nodes, pass.now);
      pass.report->earlier_rounds.push_back(std::move(pass.report->scale_up));
      for (const PlannedEvent& event : plan.events)
        StatusEvent(event.type, event.reason, event.text);
      if (plan.resizes.empty()) {
        pass.report->scale_up = std::move(plan.report);
      } else {
        pass.report->scale_up = co_await Execute(std::move(plan), pass.now);
        if (pass.report->scale_up.result == report::ScaleUpResult::kSuccessful)
          last_scale_up_ = pass.now;
      }
      TellScaleUp(pass);
    }
  }
  Finish(pass);
  co_return pass.report;
}

}  // namespace coppice::autoscale
