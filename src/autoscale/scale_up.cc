#include "autoscale/scale_up.h"

#include <algorithm>
#include <set>
#include <unordered_set>

#include "autoscale/similar.h"

namespace coppice::autoscale {

namespace {

using Reasons = std::map<std::string, std::vector<std::string>>;
using report::GroupResize;
using report::ScaleUpResult;

constexpr char kInBackoff[] = "in backoff after failed scale-up";
constexpr char kMaxSize[] = "max node group size reached";
constexpr char kNotReady[] = "not ready for scale-up";
constexpr char kAtomicTooLarge[] = "atomic scale-up exceeds cluster node count limit";
constexpr char kAllOrNothing[] =
    "not all pods would fit and scale-up is using all-or-nothing strategy";
constexpr char kFilteredOut[] = "expansion options filtered out and no longer considered";
constexpr char kExecutionFailed[] = "scale-up execution failed";

std::string QuotaReason(const QuotaAnswer& answer) {
  return "exceeded quota: \"cluster-wide\", resources: " + Join(answer.exceeded, ", ");
}

report::Packing PackingOf(const std::vector<const pack::PodKind*>& kinds, const model::Node& node) {
  report::Packing packing{.kinds = kinds.size()};
  const std::string* type = node.metadata.labels.Find("node.kubernetes.io/instance-type");
  if (type != nullptr) packing.instance_type = *type;
  const model::Quantity* cpu = node.status.capacity.Find(model::kCpu);
  packing.cpu = cpu == nullptr ? "0" : cpu->ToString();
  std::set<std::string_view> namespaces;
  std::string_view last;
  for (const pack::PodKind* kind : kinds) {  // mostly of the same as the one before
    const std::string& name = kind->front().pod->metadata.namespace_;
    if (namespaces.empty() || name != last) namespaces.insert(name);
    last = name;
  }
  packing.namespaces = namespaces.size();
  return packing;
}

model::Verdict Rejection(std::string_view text) {
  return model::Verdict::No("", model::VerdictCode::kUnschedulable, std::string(text));
}

// All kinds that some group could have helped become unhelped, for `reason`.
void GiveUpAll(std::vector<ScaleUpPlan::Kind>& kinds, std::string_view reason) {
  for (auto& kind : kinds) {
    if (!kind.schedulable) continue;
    for (const std::string& group : kind.schedulable_groups) {
      kind.rejected.insert_or_assign(group, Rejection(reason));
    }
    kind.schedulable = false;
  }
}

report::Unhelped Describe(const ScaleUpPlan& plan, const ScaleUpPlan::Kind& kind) {
  report::Unhelped unhelped{{}, kind.rejected, plan.skipped};
  for (const auto& pending : kind.pods) unhelped.pods.push_back(pending.pod);
  if (plan.skipped_asked) {
    Reasons left = *plan.skipped;
    for (const auto& [group, verdict] : kind.skipped_rejects) {
      unhelped.rejected.insert_or_assign(group, verdict);
      left.erase(group);
    }
    unhelped.skipped = std::make_shared<const Reasons>(std::move(left));
  }
  return unhelped;
}

std::vector<report::Unhelped> UnhelpedOf(const ScaleUpPlan& plan) {
  std::vector<report::Unhelped> all;
  for (const auto& kind : plan.kinds) {
    if (!kind.schedulable) all.push_back(Describe(plan, kind));
  }
  return all;
}

std::vector<report::Unhelped> UnservedOf(const ScaleUpPlan& plan) {
  std::vector<report::Unhelped> all;
  for (const auto& kind : plan.kinds) {
    if (kind.schedulable) all.push_back(Describe(plan, kind));
  }
  return all;
}

void EndWithout(ScaleUpPlan& plan, ScaleUpResult result) {
  plan.report.result = result;
  plan.report.unhelped = UnhelpedOf(plan);
}

void EndWithError(ScaleUpPlan& plan, std::string error, std::string type) {
  GiveUpAll(plan.kinds, kExecutionFailed);
  plan.report.error = std::move(error);
  plan.report.error_type = std::move(type);
  plan.report.considered_groups.clear();
  EndWithout(plan, ScaleUpResult::kError);
}

}  // namespace

// Everything that one planning run works on.
struct ScaleUpPlanner::Draft {
  ScaleUpPlan plan;
  std::vector<cloud::GroupInfo> groups;       // provider order
  std::optional<TemplatesByGroup> templates;  // of a processor; absent: the engine's
  std::set<std::string, std::less<>> absent;  // would have to be made first
  std::map<std::string, int> targets;
  std::vector<std::string> valid;  // may grow
  std::map<std::string, std::vector<const pack::PodKind*>>
      takers;  // by group: the kinds it could take
  std::vector<expand::Option> options;
  std::optional<Quotas> quotas;
  size_t node_count = 0;
  size_t pod_count = 0;

  const cloud::GroupInfo& info(std::string_view id) const {
    return *std::ranges::find(groups, id, &cloud::GroupInfo::id);
  }
};

Quotas ScaleUpPlanner::MaximaOf(const std::vector<Quotas::NodeOf>& nodes) const {
  return Quotas::ToMaxima(parts_.options, nodes, parts_.groups.GpuLabel(),
                          DevicesFrom(parts_.slots, parts_.groups.GpuLabel()));
}

// The provider's groups, or what a processor makes of them.
Status ScaleUpPlanner::ListGroups(Draft& draft, const std::vector<pack::PendingPod>& pods) {
  draft.groups = parts_.groups.Groups();
  if (!parts_.slots.node_group_list) return Status::Ok();
  std::set<std::string, std::less<>> existing;
  for (const cloud::GroupInfo& group : draft.groups) existing.insert(group.id);
  auto listed = TRY(parts_.slots.node_group_list->Process(
      {std::move(draft.groups), parts_.templates.all()}, pods));
  draft.groups = std::move(listed.groups);
  draft.templates = std::move(listed.templates);
  for (const cloud::GroupInfo& group : draft.groups) {
    if (!existing.contains(group.id)) draft.absent.insert(group.id);
  }
  return Status::Ok();
}

TemplatePtr ScaleUpPlanner::TemplateOf(const Draft& draft, std::string_view group) const {
  if (!draft.templates) return parts_.templates.Find(group);
  const auto it = draft.templates->find(group);
  return it == draft.templates->end() ? nullptr : it->second;
}

Result<int> ScaleUpPlanner::TargetOf(const Draft& draft, const std::string& group) const {
  if (draft.absent.contains(group)) return 0;
  return parts_.groups.TargetSize(group);
}

void ScaleUpPlanner::FilterGroups(Draft& draft, TimePoint now) {
  auto skipped = std::make_shared<Reasons>();
  for (const cloud::GroupInfo& group : draft.groups) {
    const auto skip = [&](std::string reason) { (*skipped)[group.id] = {std::move(reason)}; };
    const bool exists = !draft.absent.contains(group.id);
    if (exists && !parts_.state.GroupHealthy(group.id)) {
      skip(kNotReady);
      continue;
    }
    if (exists && parts_.state.BackedOff(group.id, now)) {
      skip(kInBackoff);
      continue;
    }
    const auto target = TargetOf(draft, group.id);
    if (!target.ok()) {
      skip(kNotReady);
      continue;
    }
    draft.targets[group.id] = *target;
    if (*target >= group.max_size) {
      skip(kMaxSize);
      continue;
    }
    int wanted = 1;
    if (parts_.options_of(group.id).zero_or_max_node_scaling) {
      wanted = group.max_size - *target;
      const int limit = parts_.options.max_nodes_total;
      if (limit != 0 && static_cast<int>(draft.node_count) + wanted > limit) {
        skip(kAtomicTooLarge);
        continue;
      }
    }
    const TemplatePtr node_template = TemplateOf(draft, group.id);
    if (node_template == nullptr) {
      skip(kNotReady);
      continue;
    }
    const QuotaAnswer quota = draft.quotas->Check({&node_template->node, group.id}, wanted);
    if (!quota.exceeded.empty()) {
      skip(QuotaReason(quota));
      continue;
    }
    draft.valid.push_back(group.id);
  }
  draft.plan.skipped = std::move(skipped);
}

// What a fresh node of the group says to each kind of pods.
void ScaleUpPlanner::AskGroup(const NodeTemplate& node_template,
                              const std::function<void(ScaleUpPlan::Kind&, model::Verdict)>& tell,
                              Draft& draft) {
  cluster::Snapshot& snapshot = parts_.search.snapshot();
  const auto fork = snapshot.Fork();
  const auto node = pack::AddTo(snapshot, node_template);
  if (!node.ok()) return;
  // Thousands of pods without a controller are kinds of their own and yet look the same to every
  // filter.
  std::map<std::pair<cluster::SpecId, cluster::LabelSetId>, model::Verdict> answered;
  const auto check = [&](cluster::PodIndex pod) {
    if (!snapshot.IsPlain(pod)) return parts_.search.Check(pod, *node);
    const auto key = std::make_pair(snapshot.spec_id(pod), snapshot.label_set_id(pod));
    const auto known = answered.find(key);
    if (known != answered.end()) return known->second;
    return answered.emplace(key, parts_.search.Check(pod, *node)).first->second;
  };
  for (auto& kind : draft.plan.kinds) tell(kind, check(kind.pods.front().index));
}

void ScaleUpPlanner::FindTakers(Draft& draft) {
  for (const std::string& group : draft.valid) {
    std::vector<const pack::PodKind*> takers;
    takers.reserve(draft.plan.kinds.size());
    const auto tell = [&](ScaleUpPlan::Kind& kind, model::Verdict verdict) {
      if (verdict.yes()) {
        takers.push_back(&kind.pods);
        kind.schedulable = true;
        kind.schedulable_groups.push_back(group);
      } else {
        kind.rejected.insert_or_assign(group, std::move(verdict));
      }
    };
    AskGroup(*TemplateOf(draft, group), tell, draft);
    if (!takers.empty()) draft.takers[group] = std::move(takers);
  }
}

// --scaleup-simulation-for-skipped-node-groups-enabled: a group that would not have taken the pods
// anyway is told as such, and "skipped" is left for those that would have.
void ScaleUpPlanner::AskSkipped(Draft& draft) {
  if (!parts_.options.scaleup_simulation_for_skipped_node_groups_enabled) return;
  draft.plan.skipped_asked = true;
  for (const cloud::GroupInfo& group : draft.groups) {
    const TemplatePtr node_template = TemplateOf(draft, group.id);
    if (!draft.plan.skipped->contains(group.id) || node_template == nullptr) continue;
    const auto tell = [&](ScaleUpPlan::Kind& kind, model::Verdict verdict) {
      if (!verdict.yes()) kind.skipped_rejects.insert_or_assign(group.id, std::move(verdict));
    };
    AskGroup(*node_template, tell, draft);
  }
}

std::vector<std::string> ScaleUpPlanner::AlikeTo(const Draft& draft,
                                                 const std::string& group) const {
  if (parts_.slots.node_group_set) {
    auto found = parts_.slots.node_group_set->FindSimilar(
        group, draft.templates ? *draft.templates : parts_.templates.all());
    if (found.ok()) return std::move(*found);
    parts_.log.Warning("similar node groups could not be found",
                       {{"group", group}, {"error", found.status()}});
    return {};
  }
  std::vector<std::string> alike;
  const SimilarityCheck check = SimilarityFrom(parts_.options, "");
  const TemplatePtr node_template = TemplateOf(draft, group);
  for (const cloud::GroupInfo& other : draft.groups) {
    if (other.id == group) continue;
    const TemplatePtr other_template = TemplateOf(draft, other.id);
    if (other_template != nullptr && check(*node_template, *other_template).similar)
      alike.push_back(other.id);
  }
  return alike;
}

std::vector<std::string> ScaleUpPlanner::SimilarTo(const Draft& draft, const std::string& group,
                                                   TimePoint now) const {
  std::vector<std::string> similar;
  if (!parts_.options.balance_similar_node_groups) return similar;
  if (parts_.options_of(group).zero_or_max_node_scaling) return similar;
  const auto mine = draft.takers.find(group);
  if (mine == draft.takers.end() || mine->second.empty()) return similar;
  for (const std::string& other : AlikeTo(draft, group)) {
    if (!parts_.state.SafeToScaleUp(other, now)) continue;
    const auto theirs = draft.takers.find(other);
    if (theirs == draft.takers.end()) continue;
    const std::set<const pack::PodKind*> takes(theirs->second.begin(), theirs->second.end());
    const bool takes_all =
        std::ranges::all_of(mine->second, [&](const auto* k) { return takes.contains(k); });
    if (takes_all) similar.push_back(other);
  }
  return similar;
}

void ScaleUpPlanner::ComputeOptions(Draft& draft) {
  const TimePoint start = parts_.clock.Now();
  pack::Estimator estimator(parts_.search, parts_.clock,
                            {.fast_path = parts_.options.fastpath_binpacking_enabled});
  BinpackingLimiter* limiter = parts_.slots.binpacking_limiter.get();
  if (limiter != nullptr) limiter->Begin(draft.valid);
  for (const std::string& group : draft.valid) {
    const auto kinds = draft.takers.find(group);
    if (kinds != draft.takers.end() && !kinds->second.empty()) {
      const TemplatePtr node_template = TemplateOf(draft, group);
      const auto room = [&](const std::string& id) {
        const auto target = TargetOf(draft, id);
        return target.ok() ? std::max(0, draft.info(id).max_size - *target) : 0;
      };
      pack::EstimateLimits limits{.max_nodes = parts_.options.max_nodes_per_scaleup,
                                  .max_duration = parts_.options.max_nodegroup_binpacking_duration,
                                  .group_free = room(group),
                                  .max_nodes_total = parts_.options.max_nodes_total,
                                  .current_nodes = static_cast<int>(draft.node_count)};
      for (const std::string& other : SimilarTo(draft, group, start))
        limits.group_free += room(other);
      draft.plan.report.packings.push_back(PackingOf(kinds->second, node_template->node));
      const pack::Estimate estimate = estimator.Run(kinds->second, *node_template, limits);
      expand::Option option{
          .group = group, .node_count = estimate.nodes, .node = &node_template->node};
      option.exists = !draft.absent.contains(group);
      option.pods.reserve(estimate.pods.size());
      for (const pack::PendingPod* pod : estimate.pods) option.pods.push_back(pod->pod.get());
      if (parts_.options_of(group).zero_or_max_node_scaling) {
        const int max = draft.info(group).max_size;
        if (draft.plan.all_or_nothing && option.node_count > max) {
          option.node_count = 0;
          option.pods.clear();
        }
        if (option.node_count > 0) option.node_count = max;
      }
      const bool helps = !option.pods.empty() && option.node_count > 0;
      if (helps && (!draft.plan.all_or_nothing || option.pods.size() >= draft.pod_count)) {
        draft.plan.report.options.push_back({group, option.node_count, option.pods.size()});
        draft.options.push_back(std::move(option));
      }
    }
    if (limiter != nullptr ? limiter->Stop(group, draft.options)
                           : parts_.clock.Now() - start > parts_.options.max_binpacking_time) {
      break;
    }
  }
  if (limiter != nullptr) limiter->End(draft.options);
  draft.plan.report.took.push_back({"scaleUp:estimate", parts_.clock.Now() - start});
}

bool ScaleUpPlanner::Cap(Draft& draft, int& nodes, int current, const std::string& group) {
  const int limit = parts_.options.max_nodes_total;
  if (limit > 0 && nodes + current > limit) {
    nodes = limit - current;
    draft.plan.events.push_back({"Warning", "MaxNodesTotalReached",
                                 "Max total nodes in cluster reached: " + std::to_string(limit)});
    if (nodes < 1) {
      EndWithError(draft.plan, "max node total count already reached", "transientError");
      return false;
    }
  }
  nodes = draft.quotas->Check({&TemplateOf(draft, group)->node, group}, nodes).allowed;
  return true;
}

void ScaleUpPlanner::Balance(Draft& draft, int nodes, TimePoint now) {
  std::vector<GroupSize> sizes;
  const auto add = [&](const std::string& id) {
    sizes.push_back({id, draft.targets[id], draft.info(id).max_size, 0});
  };
  add(draft.plan.chosen);
  for (const std::string& id : SimilarTo(draft, draft.plan.chosen, now)) {
    const NodeTemplate& node_template = *TemplateOf(draft, id);
    if (draft.quotas->Check({&node_template.node, id}, 1).exceeded.empty()) add(id);
  }
  const auto balanced = parts_.slots.node_group_set
                            ? parts_.slots.node_group_set->Balance(std::move(sizes), nodes)
                            : autoscale::Balance(std::move(sizes), nodes);
  if (!balanced.ok()) {
    EndWithError(draft.plan, balanced.status().message(), "internalError");
    return;
  }
  int total = 0;
  for (const GroupSize& size : *balanced) {
    const Quotas::NodeOf like{&TemplateOf(draft, size.group)->node, size.group};
    const int delta = draft.quotas->Check(like, size.planned - size.current).allowed;
    if (delta > 0) draft.quotas->Consume(like, delta);
    if (delta != 0) {
      draft.plan.resizes.push_back({size.group, size.current, size.current + delta, size.max});
    }
    total += delta;
  }
  if (draft.plan.all_or_nothing && total < nodes) {
    draft.plan.resizes.clear();
    GiveUpAll(draft.plan.kinds, kAllOrNothing);
    EndWithout(draft.plan, ScaleUpResult::kNoOptionsAvailable);
  }
}

Task<ScaleUpPlan> ScaleUpPlanner::Plan(const std::vector<pack::PendingPod>& pods,
                                       const std::vector<Quotas::NodeOf>& nodes,
                                       const expand::Surroundings& around, TimePoint now,
                                       bool all_or_nothing) {
  Draft draft;
  ScaleUpPlan& plan = draft.plan;
  plan.all_or_nothing = all_or_nothing;
  const TimePoint began = parts_.clock.Now();
  auto kinds = pack::GroupEquivalent(pods, &parts_.search.snapshot());
  plan.kinds.reserve(kinds.size());
  for (auto& kind : kinds) plan.kinds.push_back({.pods = std::move(kind)});
  plan.report.took.push_back({"scaleUp:buildPodEquivalenceGroups", parts_.clock.Now() - began});
  plan.skipped = std::make_shared<const Reasons>();
  draft.node_count = nodes.size();
  draft.pod_count = pods.size();
  if (const Status listed = ListGroups(draft, pods); !listed.ok()) {
    EndWithError(plan, "node group list: " + listed.message(), "internalError");
    co_return std::move(plan);
  }

  for (const auto& upcoming : parts_.state.UpcomingNodes(now)) {
    if (parts_.templates.Find(upcoming.group) != nullptr) continue;
    EndWithError(plan,
                 "could not get upcoming nodes: failed to find template node for node group " +
                     upcoming.group,
                 "internalError");
    co_return std::move(plan);
  }
  draft.quotas = MaximaOf(nodes);
  FilterGroups(draft, now);
  for (const auto& group : draft.groups) plan.report.considered_groups.push_back(group.id);
  FindTakers(draft);
  AskSkipped(draft);
  ComputeOptions(draft);
  if (draft.options.empty()) {
    plan.report.unserved = UnservedOf(plan);
    EndWithout(plan, ScaleUpResult::kNoOptionsAvailable);
    co_return std::move(plan);
  }

  expand::Options options;
  for (const auto& option : draft.options) options.push_back(&option);
  const expand::Choice choice = co_await parts_.expanders.ChooseElsewhere(
      options, around, parts_.elsewhere, parts_.first_of_tie);
  for (const auto& step : choice.steps) {
    plan.report.chosen_by.push_back({step.expander, step.survivors, step.note});
    for (const auto& m : step.measured)
      plan.report.chosen_by.back().scores.push_back({m.group, m.value, m.text});
  }
  if (choice.chosen == nullptr || choice.chosen->node_count <= 0) {
    GiveUpAll(plan.kinds, kFilteredOut);
    EndWithout(plan, ScaleUpResult::kNoOptionsAvailable);
    co_return std::move(plan);
  }
  const expand::Option& best = *choice.chosen;
  plan.chosen = best.group;
  plan.report.chosen = best.group;
  plan.report.by_lot = choice.by_lot;
  const bool all_helped = best.pods.size() == pods.size();
  std::unordered_set<const model::Pod*> helped;
  if (!all_helped) helped.insert(best.pods.begin(), best.pods.end());
  plan.report.triggered.reserve(best.pods.size());
  for (const auto& kind : plan.kinds) {
    for (const auto& pending : kind.pods) {
      if (all_helped || helped.contains(pending.pod.get()))
        plan.report.triggered.push_back(pending.pod);
    }
  }
  int wanted = best.node_count;
  if (!Cap(draft, wanted, static_cast<int>(draft.node_count), best.group))
    co_return std::move(plan);
  if (all_or_nothing && wanted < best.node_count) {
    GiveUpAll(plan.kinds, kAllOrNothing);
    EndWithout(plan, ScaleUpResult::kNoOptionsAvailable);
    co_return std::move(plan);
  }
  Balance(draft, wanted, now);
  co_return std::move(plan);
}

ScaleUpPlan ScaleUpPlanner::PlanMinSizes(const std::vector<Quotas::NodeOf>& nodes, TimePoint now) {
  Draft draft;
  draft.groups = parts_.groups.Groups();
  draft.quotas = MaximaOf(nodes);
  for (const cloud::GroupInfo& group : draft.groups) {
    draft.plan.report.considered_groups.push_back(group.id);
    const auto target = parts_.groups.TargetSize(group.id);
    const TemplatePtr node_template = parts_.templates.Find(group.id);
    if (!target.ok() || *target >= group.min_size || !parts_.state.SafeToScaleUp(group.id, now) ||
        node_template == nullptr) {
      continue;
    }
    const Quotas::NodeOf like{&node_template->node, group.id};
    if (!draft.quotas->Check(like, 1).exceeded.empty()) continue;
    int delta = draft.quotas->Check(like, group.min_size - *target).allowed;
    // Upstream's quirk, kept: the cluster's limit is held against this group's own size.
    const int limit = parts_.options.max_nodes_total;
    if (limit > 0 && delta + *target > limit) {
      delta = limit - *target;
      draft.plan.events.push_back({"Warning", "MaxNodesTotalReached",
                                   "Max total nodes in cluster reached: " + std::to_string(limit)});
      if (delta < 1) continue;
    }
    draft.plan.resizes.push_back({group.id, *target, *target + delta, group.max_size});
  }
  if (draft.plan.resizes.empty()) draft.plan.report.result = ScaleUpResult::kNotNeeded;
  draft.plan.skipped = std::make_shared<const Reasons>();
  return std::move(draft.plan);
}

report::ScaleUp ScaleUpPlanner::Succeeded(ScaleUpPlan plan) {
  plan.report.result = ScaleUpResult::kSuccessful;
  plan.report.resizes = plan.resizes;
  plan.report.unhelped = UnhelpedOf(plan);
  for (const auto& kind : plan.kinds) {
    if (!kind.schedulable || !kind.rejected.contains(plan.chosen)) continue;
    for (const auto& pending : kind.pods) plan.report.awaiting.push_back(pending.pod);
  }
  return std::move(plan.report);
}

report::ScaleUp ScaleUpPlanner::Failed(ScaleUpPlan plan, const std::vector<std::string>& failed,
                                       std::string error, bool parallel) {
  std::set<std::string> lost(failed.begin(), failed.end());
  if (!parallel && failed.size() == 1) {  // what would have come after it was not tried either
    const auto at = std::ranges::find(plan.resizes, failed.front(), &GroupResize::group);
    for (auto it = at; it != plan.resizes.end(); ++it) lost.insert(it->group);
  }
  for (auto& kind : plan.kinds) {
    if (!kind.schedulable || kind.schedulable_groups.empty()) continue;
    bool all_failed = true;
    for (const std::string& group : kind.schedulable_groups) {
      if (lost.contains(group)) {
        kind.rejected.insert_or_assign(group, Rejection(kExecutionFailed));
      } else {
        all_failed = false;
      }
    }
    if (all_failed) kind.schedulable = false;
  }
  plan.report.result = ScaleUpResult::kError;
  plan.report.error = std::move(error);
  plan.report.error_type = "cloudProviderError";
  plan.report.failed_groups = failed;
  plan.report.considered_groups.clear();
  plan.report.unhelped = UnhelpedOf(plan);
  return std::move(plan.report);
}

}  // namespace coppice::autoscale
