// The scale-up stage: stand-ins for nodes on their way, pods that fit after all, and buying for the
// rest.

#include <algorithm>
#include <deque>
#include <set>

#include "autoscale/engine_pass.h"
#include "autoscale/gpu.h"
#include "model/pod_kinds.h"
#include "model/resources.h"

namespace coppice::autoscale {

namespace {

constexpr Duration kNewPod = std::chrono::seconds(2);
constexpr Duration kNewGpuPod = std::chrono::seconds(30);
constexpr std::string_view kPodDelayAnnotation =
    "cluster-autoscaler.kubernetes.io/pod-scale-up-delay";

TimePoint CreatedAt(const model::Pod& pod) {
  return pod.metadata.creation_timestamp ? pod.metadata.creation_timestamp->at : TimePoint();
}

// Pods may ask for a longer wait than the option, never for a shorter one.
Duration ScaleUpDelayOf(const model::Pod& pod, Duration at_least) {
  const std::string* text = pod.metadata.annotations.Find(kPodDelayAnnotation);
  if (text == nullptr) return at_least;
  const auto asked = ParseGoDuration(*text);
  return asked.ok() ? std::max(*asked, at_least) : at_least;
}

// By decreasing size, measured by what a pod takes of the nodes on their way; without any, pods
// keep their order.
void LargerFirst(Pods& pods, const std::deque<std::pair<std::string, pack::NodeTemplate>>& coming,
                 const cluster::Snapshot& snapshot) {
  double cpu_millis = 0;
  double memory_bytes = 0;
  for (const auto& [group, node] : coming) {
    const model::ResourceList& room = node.node.status.allocatable;
    if (const model::Quantity* cpu = room.Find(model::kCpu))
      cpu_millis += static_cast<double>(cpu->MilliValue());
    if (const model::Quantity* memory = room.Find(model::kMemory))
      memory_bytes += static_cast<double>(memory->Value());
  }
  if (cpu_millis <= 0 || memory_bytes <= 0) return;
  std::ranges::stable_sort(pods, std::greater<>(), [&](const fit::PendingPod& pod) {
    const auto& takes = snapshot.interner().spec(snapshot.spec_id(pod.index)).placed;
    return static_cast<double>(takes.cpu_millis) / cpu_millis +
           static_cast<double>(takes.memory_bytes) / memory_bytes;
  });
}

}  // namespace

void Engine::AddUpcoming(PassState& pass) {
  cluster::Snapshot& snapshot = parts_.world.snapshot();
  std::set<std::string> replaced;
  const auto upcoming = state_.UpcomingNodes(pass.now);
  for (const ClusterState::Upcoming& group : upcoming) {
    pass.report->upcoming[group.group] = group.count;
    replaced.insert(group.replaced.begin(), group.replaced.end());
    const TemplatePtr node_template = templates_.Find(group.group);
    if (node_template == nullptr) continue;
    for (int i = 0; i < group.count; ++i) {
      pack::NodeTemplate copy = pack::FreshCopy(*node_template, "upcoming-" + std::to_string(i));
      copy.node.metadata.annotations[kUpcomingAnnotation] = "true";
      const auto added = pack::AddTo(snapshot, copy);
      if (added.ok()) pass.upcoming.emplace_back(group.group, std::move(copy));
    }
  }
  for (const std::string& name : replaced) {
    const cluster::NodeIndex node = snapshot.FindNode(name);
    if (node != cluster::kNone) snapshot.RemoveNode(node);
  }
  if (!replaced.empty()) {
    std::ranges::copy_if(
        *pass.nodes, std::back_inserter(pass.fewer_nodes),
        [&](const ListedNode& of) { return !replaced.contains(of.node->metadata.name); });
    pass.nodes = &pass.fewer_nodes;
  }
  ListAllNodes(pass);
}

void Engine::ListAllNodes(PassState& pass) {
  pass.all_nodes.clear();
  pass.all_nodes.reserve(pass.nodes->size() + pass.upcoming.size());
  for (const ListedNode& of : *pass.nodes) pass.all_nodes.push_back({of.node.get(), of.group});
  for (const auto& [group, copy] : pass.upcoming) pass.all_nodes.push_back({&copy.node, group});
}

// The pod list: the standard step or somebody else's, then the pods' own delays.
void Engine::ListPodsToHelp(PassState& pass) {
  if (!slots_.pod_list) {
    pass.pending = HelpByExistingNodes(pass, std::move(pass.pending));
  } else {
    auto listed = slots_.pod_list->Process(
        std::move(pass.pending),
        [&](Pods pods) { return HelpByExistingNodes(pass, std::move(pods)); }, ViewOf(pass));
    if (!listed.ok()) {
      parts_.log.Warning("the list of pods could not be processed; nothing is bought in this pass",
                         {{"error", listed.status()}});
    }
    pass.pending = listed.ok() ? std::move(*listed) : Pods{};
  }
  pass.oldest_pending = TimePoint::max();
  pass.youngest_pending = TimePoint::min();
  std::erase_if(pass.pending, [&](const fit::PendingPod& pending) {
    const TimePoint created = CreatedAt(*pending.pod);
    const Duration delay = ScaleUpDelayOf(*pending.pod, parts_.options.new_pod_scale_up_delay);
    // The server's clock may be ahead of ours. That a pod is of the future does not make it one to
    // wait for: when it came we have seen ourselves.
    const bool from_the_future = created > pass.now && parts_.options.deviations.debounce_new_pods;
    if (from_the_future && delay == Duration::zero()) {
      pass.oldest_pending = TimePoint::min();
      return false;
    }
    if (pass.now - created <= delay) {
      pass.wake.After(created + delay, "a pod waits for its scale-up delay");
      return true;
    }
    pass.oldest_pending = std::min(pass.oldest_pending, created);
    pass.youngest_pending = std::max(pass.youngest_pending, created);
    return false;
  });
}

// Pods that were bought for go onto the nodes of their order before anybody else, by decreasing
// size and first fit: the search goes round, so that it would spread them, and of several sizes
// some would find no room. Those on their way come first, then those that are up already and that
// the scheduler has not used yet. Each pod onto the groups that were chosen for it, order by order;
// what finds no room there, because the scheduler has filled what is up in its own way, takes what
// the others leave. If that still leaves some out, all go onto all, where it helps more of them.
void Engine::PlaceOnOrdered(PassState& pass, Pods& pods) {
  cluster::Snapshot& snapshot = parts_.world.snapshot();
  std::map<std::string, std::shared_ptr<const Order>> still;
  std::vector<std::pair<const Order*, size_t>> waiting;
  for (size_t i = 0; i < pods.size(); ++i) {
    auto bought = bought_for_.extract(pods[i].pod->metadata.uid);
    if (bought.empty()) continue;
    waiting.emplace_back(still.insert(std::move(bought)).position->second.get(), i);
  }
  bought_for_ = std::move(still);
  if (waiting.empty() || pass.upcoming.empty()) return;

  std::map<uint64_t, std::vector<cluster::NodeIndex>> rooms;  // by order; 0: of all of them
  std::set<std::string> all_groups;
  const auto add_rooms = [&](uint64_t number, const std::set<std::string>& groups) {
    const auto [it, added] = rooms.try_emplace(number);
    if (!added) return;
    for (const auto& [group, node] : pass.upcoming) {
      if (number == 0 || groups.contains(group))
        it->second.push_back(snapshot.FindNode(node.node.metadata.name));
    }
    for (const ListedNode& of : *pass.nodes) {
      if (of.ready && groups.contains(of.group)) it->second.push_back(of.index);
    }
    std::erase(it->second, cluster::kNone);
  };
  for (const auto& [order, pod] : waiting) {
    add_rooms(order->number, order->groups);
    all_groups.insert(order->groups.begin(), order->groups.end());
  }
  add_rooms(0, all_groups);

  std::vector<uint8_t> placed(pods.size(), 0);
  const auto first_fit = [&](bool own_groups) {
    size_t count = 0;
    std::map<std::pair<uint64_t, cluster::SpecId>, size_t> full;  // so many take no more of these
    for (const auto& entry : waiting) {
      if (placed[entry.second] != 0) continue;
      const uint64_t order = own_groups ? entry.first->number : 0;
      const std::vector<cluster::NodeIndex>& nodes = rooms.at(order);
      const fit::PendingPod& pod = pods[entry.second];
      size_t& at = full[{order, snapshot.spec_id(pod.index)}];
      while (at < nodes.size() && !search_.Fits(pod.index, nodes[at])) ++at;
      if (at == nodes.size()) continue;
      snapshot.Place(pod.index, nodes[at]);
      placed[entry.second] = 1;
      ++count;
    }
    return count;
  };
  const auto take_back = [&] {
    for (const auto& entry : waiting) {
      if (std::exchange(placed[entry.second], uint8_t{0}) != 0)
        snapshot.Unplace(pods[entry.second].index);
    }
  };
  const auto by_size = waiting;
  std::ranges::stable_sort(waiting, {}, [](const auto& one) { return one.first->number; });
  const auto as_bought = [&] {
    const size_t own = first_fit(true);
    return own + first_fit(false);
  };
  const size_t helped = as_bought();
  if (helped < waiting.size()) {
    const auto by_order = std::exchange(waiting, by_size);
    take_back();
    if (first_fit(false) <= helped) {
      take_back();
      waiting = by_order;
      as_bought();
    }
  }
  Pods others;
  for (size_t i = 0; i < pods.size(); ++i) {
    if (placed[i] == 0) {
      others.push_back(std::move(pods[i]));
    } else if (parts_.options.explain_checks < 0) {
      pass.fitting.push_back({pods[i].pod, snapshot.node(snapshot.node_of(pods[i].index)).name});
    }
  }
  pods = std::move(others);
}

void Engine::RememberBought(const report::ScaleUp& done) {
  if (!parts_.options.deviations.larger_pods_first) return;  // nobody would ask, nor forget
  auto order = std::make_shared<Order>(Order{.number = ++order_number_});
  for (const report::GroupResize& resize : done.resizes) order->groups.insert(resize.group);
  for (const auto& pod : done.triggered) bought_for_[pod->metadata.uid] = order;
}

Pods Engine::HelpByExistingNodes(PassState& pass, Pods pods) {
  cluster::Snapshot& snapshot = parts_.world.snapshot();
  tpus_.Forget(pods, snapshot);
  // What is being evicted right now will come back as pending pods: reckon with it.
  for (const std::string& name : actuator_.InProgress().drained) {
    const cluster::NodeIndex node = snapshot.FindNode(name);
    if (node == cluster::kNone) continue;
    for (const cluster::PodIndex pod : parts_.world.PodsInOrder(node)) {
      const cluster::World::PodEntry* entry = parts_.world.EntryOf(pod);
      if (entry == nullptr || entry->pod->metadata.deletion_timestamp ||
          model::IsMirrorPod(*entry->pod) || model::IsStaticPod(*entry->pod) ||
          model::IsDaemonSetPod(*entry->pod)) {
        continue;
      }
      pods.push_back({entry->pod, snapshot.CopyPod(pod)});
    }
  }
  if (parts_.options.deviations.larger_pods_first) LargerFirst(pods, pass.upcoming, snapshot);
  const auto priority_of = [&](const fit::PendingPod& p) {
    return snapshot.spec(p.index).priority;
  };
  if (!std::ranges::is_sorted(pods, std::greater<>(), priority_of))
    std::ranges::stable_sort(pods, std::greater<>(), priority_of);
  if (parts_.options.deviations.larger_pods_first) PlaceOnOrdered(pass, pods);
  fit::PlaceOptions options;
  if (parts_.options.enable_graceful_degradation) {
    const TimePoint deadline =
        parts_.executor.clock().Now() + parts_.options.pending_pods_batching_timeout;
    options.out_of_time = [this, deadline] { return parts_.executor.clock().Now() > deadline; };
  }
  const fit::Placement placement = pending_placer_.Place(pods, options);
  pending_placer_.NextRun();
  pass.report->overflowing_controllers = placement.overflowing_controllers;
  Pods left;
  left.reserve(pods.size());
  bool unprocessed = false;
  for (size_t i = 0; i < pods.size(); ++i) {
    unprocessed = unprocessed || placement.unprocessed[i] != 0;
    pass.report->unprocessed_pods += placement.unprocessed[i] != 0 ? 1 : 0;
    if (placement.placed[i] != 0 && parts_.options.explain_checks < 0) {
      const cluster::NodeIndex node = snapshot.node_of(pods[i].index);
      pass.fitting.push_back({pods[i].pod, snapshot.node(node).name});
    }
    if (placement.placed[i] != 0 || placement.unprocessed[i] != 0 ||
        down_.traits().Of(snapshot, pods[i].index, *pods[i].pod).daemon_set) {
      continue;
    }
    left.push_back(std::move(pods[i]));
  }
  if (parts_.options.enable_graceful_degradation)
    degraded_passes_ = unprocessed ? degraded_passes_ + 1 : 0;
  return left;
}

bool Engine::AllNew(const PassState& pass) const {
  if (parts_.options.deviations.debounce_new_pods) {
    const Deviations& d = parts_.options.deviations;
    return pass.youngest_pending + d.new_pod_quiet > pass.now &&
           pass.oldest_pending + d.new_pod_wait > pass.now;
  }
  if (pass.oldest_pending + kNewPod > pass.now) return true;
  // Pods that ask for GPUs are waited for longer: if there are any, and all of them are new. In
  // most passes no pod is that new, and none needs to be looked at.
  if (pass.youngest_pending + kNewGpuPod <= pass.now) return false;
  bool new_one = false;
  for (const auto& pending : pass.pending) {
    if (!RequestsGpu(*pending.pod)) continue;
    if (CreatedAt(*pending.pod) + kNewGpuPod <= pass.now) return false;
    new_one = true;
  }
  return new_one;
}

bool Engine::ShouldScaleUp(PassState& pass) {
  const bool wanted = WantsScaleUp(pass);
  const bool forced = slots_.scale_up_enforcer &&
                      slots_.scale_up_enforcer->ForceScaleUp(pass.pending, ViewOf(pass));
  if (!wanted && !forced) return false;
  if (parts_.options.enable_graceful_degradation && degraded_passes_ > 0 &&
      degraded_passes_ % 4 == 0) {
    pass.report->scale_up.result =
        report::ScaleUpResult::kInCooldown;  // this one belongs to scale-down
    return false;
  }
  return true;
}

bool Engine::WantsScaleUp(PassState& pass) {
  report::ScaleUp& report = pass.report->scale_up;
  const int limit = parts_.options.max_nodes_total;
  if (pass.pending.empty()) {
    report.result = report::ScaleUpResult::kNotNeeded;
    return false;
  }
  if (limit > 0 && static_cast<int>(pass.ready_nodes) >= limit) {
    report.result = report::ScaleUpResult::kLimitedByMaxNodesTotal;
    StatusEvent("Warning", "MaxNodesTotalReached",
                "Max total nodes in cluster reached: " + std::to_string(limit));
    for (const auto& pending : pass.pending)
      report.unhelped.push_back({{pending.pod}, {}, nullptr});
    return false;
  }
  if (parts_.options.bypassed_scheduler_names.empty() && AllNew(pass)) {
    report.result = report::ScaleUpResult::kInCooldown;
    pass.no_scale_down = true;
    const Deviations& d = parts_.options.deviations;
    pass.wake.At(pass.youngest_pending + d.new_pod_quiet, "pending pods are new");
    pass.wake.At(pass.oldest_pending + d.new_pod_wait, "pending pods are new");
    return false;
  }
  return true;
}

expand::Surroundings Engine::Around() {
  expand::Surroundings around;
  around.cluster_nodes = parts_.world.node_count();
  around.config_map = [this](std::string_view name, std::string_view key) -> Result<std::string> {
    const auto map = parts_.world.config_maps.Find(parts_.options.namespace_, name);
    if (map == nullptr) return NotFound("there is no ConfigMap " + std::string(name));
    const std::string* text = map->data.Find(key);
    if (text == nullptr)
      return FailedPrecondition("ConfigMap " + std::string(name) + " has no key " +
                                std::string(key));
    return *text;
  };
  around.warn = [this](std::string_view reason, std::string text) {
    parts_.writer.Emit({"ConfigMap", parts_.options.namespace_,
                        "cluster-autoscaler-priority-expander", "", "Warning", std::string(reason),
                        std::move(text)});
  };
  for (const cloud::GroupInfo& group : groups_.Groups()) {
    if (const TemplatePtr found = templates_.Find(group.id))
      around.templates.emplace_back(group.id, &found->node);
  }
  return around;
}

// A group that only a processor knows is made first.
Result<std::string> Engine::ExistingGroup(const std::string& group) {
  if (!slots_.node_group_manager) return group;
  const auto groups = groups_.Groups();
  if (std::ranges::find(groups, group, &cloud::GroupInfo::id) != groups.end()) return group;
  auto made = slots_.node_group_manager->Create(group).Context("making node group " + group);
  if (made.ok()) ++groups_created_;
  return made;
}

void Engine::Ordered(const std::string& group, int delta, TimePoint at) {
  state_.RegisterScaleUp(group, delta, at);
  for (const auto& observer : slots_.scale_state) observer->ScaledUp(group, delta, at);
  group_scaled_up_[group] = at;
}

void Engine::OrderFailed(const report::GroupResize& resize, const coppice::Status& why,
                         TimePoint now) {
  StatusEvent("Warning", "FailedToScaleUpGroup",
              "Scale-up failed for group " + resize.group + ": " + why.message());
  const cloud::ErrorClass error_class = why.code() == Code::kResourceExhausted
                                            ? cloud::ErrorClass::kOutOfResources
                                            : cloud::ErrorClass::kOther;
  RegisterFailure(
      resize.group, resize.to - resize.from,
      {error_class, "cloudProviderError", "failed to increase node group size: " + why.message()},
      now);
}

// One group, with its events and books. An order that is not answered in time counts as good; if
// it turns out otherwise, the books are put right then, and the next pass looks elsewhere.
Task<coppice::Status> Engine::Resize(report::GroupResize resize, bool all_or_nothing, TimePoint now,
                                     TimePoint patience_ends) {
  const int delta = resize.to - resize.from;
  const std::string sizes = std::to_string(resize.to) + " instead of " +
                            std::to_string(resize.from) + " (max: " + std::to_string(resize.max) +
                            ")";
  StatusEvent("Normal", "ScaledUpGroup",
              "Scale-up: setting group " + resize.group + " size to " + sizes);
  const std::string done_text = "Scale-up: group " + resize.group + " size set to " + sizes;
  const Result<std::string> existing = ExistingGroup(resize.group);
  if (!existing.ok()) {
    OrderFailed(resize, existing.status(), now);
    co_return existing.status();
  }
  const Orders::Heard late = [this, resize, group = *existing, delta,
                              done_text](const coppice::Status& answer) {
    const TimePoint at = parts_.executor.clock().Now();
    if (answer.ok()) {
      StatusEvent("Normal", "ScaledUpGroup", done_text);
    } else {
      state_.RegisterScaleUp(group, -delta, at);
      OrderFailed(resize, answer, at);
    }
    parts_.log.Info("an order was answered late",
                    {{"group", group}, {"nodes", delta}, {"answer", answer}});
    Wake();
  };
  const std::optional<coppice::Status> answer =
      co_await orders_.Place(*existing, delta, all_or_nothing, patience_ends, late);
  if (answer && !answer->ok()) {
    OrderFailed(resize, *answer, now);
    co_return *answer;
  }
  Ordered(*existing, delta, parts_.executor.clock().Now());
  if (answer) StatusEvent("Normal", "ScaledUpGroup", done_text);
  co_return coppice::Status::Ok();
}

Task<report::ScaleUp> Engine::Execute(ScaleUpPlan plan, TimePoint now) {
  const Duration patience = parts_.options.deviations.order_patience;
  const TimePoint patience_ends = patience > Duration::zero()
                                      ? Later(parts_.executor.clock().Now(), patience)
                                      : TimePoint::max();
  std::vector<coppice::Status> results;
  if (parts_.options.parallel_scale_up) {
    std::vector<Task<coppice::Status>> tasks;
    for (const report::GroupResize& resize : plan.resizes)
      tasks.push_back(Resize(resize, plan.all_or_nothing, now, patience_ends));
    results = co_await WhenAll(std::move(tasks));
  } else {
    for (const report::GroupResize& resize : plan.resizes) {
      results.push_back(co_await Resize(resize, plan.all_or_nothing, now, patience_ends));
      if (!results.back().ok()) break;
    }
  }
  std::vector<std::string> failed;
  std::string error;
  for (size_t i = 0; i < results.size(); ++i) {
    if (results[i].ok()) continue;
    failed.push_back(plan.resizes[i].group);
    error = "failed to increase node group size: " + results[i].message();
  }
  if (!failed.empty()) {
    co_return ScaleUpPlanner::Failed(std::move(plan), failed, std::move(error),
                                     parts_.options.parallel_scale_up);
  }
  state_.RecalculateRanges();
  co_return ScaleUpPlanner::Succeeded(std::move(plan));
}

// The nodes just bought stand in the snapshot for the next round, with the pods they were bought
// for.
bool Engine::PlaceOnSalvoNodes(PassState& pass, const report::ScaleUp& done, int round,
                               const std::set<const model::Pod*>& helped) {
  cluster::Snapshot& snapshot = parts_.world.snapshot();
  const size_t first = snapshot.nodes().size();
  for (const report::GroupResize& resize : done.resizes) {
    const TemplatePtr node_template = templates_.Find(resize.group);
    if (node_template == nullptr || resize.to <= resize.from) return false;
    for (int i = 0; i < resize.to - resize.from; ++i) {
      pack::NodeTemplate copy =
          pack::FreshCopy(*node_template, std::to_string(i) + "-salvo-" + std::to_string(round));
      copy.node.metadata.annotations[kUpcomingAnnotation] = "true";
      if (!pack::AddTo(snapshot, copy).ok()) return false;
      pass.upcoming.emplace_back(resize.group, std::move(copy));
    }
  }
  for (const auto& pending : pass.pending) {
    if (!helped.contains(pending.pod.get())) continue;
    const cluster::NodeIndex node = search_.Find(pending.index, {.from_position = first});
    if (node == cluster::kNone) return false;
    snapshot.Place(pending.index, node);
  }
  return true;
}

Task<void> Engine::ScaleUp(PassState& pass) {
  pass.scale_up_tried = true;
  const TimePoint budget_ends =
      parts_.executor.clock().Now() + parts_.options.salvo_scale_up_budget;
  for (int round = 0;; ++round) {
    const expand::Surroundings around = Around();
    ScaleUpPlan plan = co_await up_.Plan(pass.pending, pass.all_nodes, around, pass.now);
    for (const PlannedEvent& event : plan.events) StatusEvent(event.type, event.reason, event.text);
    if (round > 0) pass.report->earlier_rounds.push_back(std::move(pass.report->scale_up));
    if (plan.resizes.empty()) {
      // A plan that a limit reduced to nothing is still a success upstream: it asked for no more
      // than it may.
      const bool capped = plan.report.result == report::ScaleUpResult::kNotTried;
      pass.report->scale_up =
          capped ? ScaleUpPlanner::Succeeded(std::move(plan)) : std::move(plan.report);
    } else {
      pass.report->scale_up = co_await Execute(std::move(plan), pass.now);
    }
    TellScaleUp(pass);
    if (pass.report->scale_up.result != report::ScaleUpResult::kSuccessful) break;
    last_scale_up_ = pass.now;
    RememberBought(pass.report->scale_up);
    if (!parts_.options.salvo_scale_up || pass.report->scale_up.triggered.empty()) break;

    std::set<const model::Pod*> helped;
    for (const auto& pod : pass.report->scale_up.triggered) helped.insert(pod.get());
    if (helped.size() == pass.pending.size() || parts_.executor.clock().Now() > budget_ends) break;
    if (!PlaceOnSalvoNodes(pass, pass.report->scale_up, round, helped)) break;
    std::erase_if(pass.pending, [&](const auto& p) { return helped.contains(p.pod.get()); });
    ListAllNodes(pass);
  }
  if (pass.report->scale_up.result == report::ScaleUpResult::kSuccessful) {
    pass.report->scale_down.result = report::ScaleDownResult::kInCooldown;
  }
}

}  // namespace coppice::autoscale
