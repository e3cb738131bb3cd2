// ScaleUpPlanner: which groups may grow, which kinds of pods each could take, and how many of its
// nodes that needs.

#include <algorithm>
#include <set>

#include "autoscale/scale_up_draft.h"
#include "autoscale/scale_up_outcome.h"
#include "autoscale/similar.h"

namespace coppice::autoscale {

namespace {

constexpr char kInBackoff[] = "in backoff after failed scale-up";
constexpr char kMaxSize[] = "max node group size reached";
constexpr char kNotReady[] = "not ready for scale-up";
constexpr char kAtomicTooLarge[] = "atomic scale-up exceeds cluster node count limit";

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

}  // namespace

// The provider's groups, or what a processor makes of them.
Status ScaleUpPlanner::ListGroups(Draft& draft, const std::vector<fit::PendingPod>& pods) {
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
  auto skipped = std::make_shared<SkipReasons>();
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
      const int limit = parts_.limits.max_nodes_total;
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
  const SimilarityCheck check = SimilarityFrom(parts_.similarity, "");
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
      const auto room = [&](const std::string& id) {  // of one that may grow
        return draft.info(id).max_size - draft.targets.at(id);
      };
      pack::EstimateLimits limits{.max_nodes = parts_.options.max_nodes_per_scaleup,
                                  .max_duration = parts_.options.max_nodegroup_binpacking_duration,
                                  .group_free = room(group),
                                  .max_nodes_total = parts_.limits.max_nodes_total,
                                  .current_nodes = static_cast<int>(draft.node_count)};
      for (const std::string& other : SimilarTo(draft, group, start))
        limits.group_free += room(other);
      draft.plan.report.packings.push_back(PackingOf(kinds->second, node_template->node));
      const pack::Estimate estimate = estimator.Run(kinds->second, *node_template, limits);
      expand::Option option{
          .group = group, .node_count = estimate.nodes, .node = &node_template->node};
      option.exists = !draft.absent.contains(group);
      option.pods.reserve(estimate.pods.size());
      for (const fit::PendingPod* pod : estimate.pods) option.pods.push_back(pod->pod.get());
      if (parts_.options_of(group).zero_or_max_node_scaling) {
        if (option.node_count > 0) option.node_count = draft.info(group).max_size;
      }
      if (!option.pods.empty() && option.node_count > 0) {
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

}  // namespace coppice::autoscale
