#include "provision/observation.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

namespace coppice::provision {

namespace {

// As often as Karpenter looks at its nodes.
constexpr Duration kEvery = std::chrono::seconds(5);

}  // namespace

Observation::Observation(Context& context)
    : times(context),
      context_(context),
      conditions_(context),
      page_(std::make_shared<StatePage>()) {
  // They exist before anything has happened: a rate over something absent is no rate. No search is
  // cut short here, so the first never counts.
  for (const char* type : {"multi", "single"}) {
    context.parts.metrics.GetCounter("karpenter_voluntary_disruption_consolidation_timeouts_total",
                                     "How often a search for consolidation ran out of time.",
                                     {{"consolidation_type", type}});
  }
  if (IsOn()) context.parts.metric_sources->Add(page_);
}

void Observation::Look(const std::vector<ClaimPtr>& claims, TimePoint now) {
  if (!IsOn()) return;
  conditions_.Look(claims, now);
  if (now < next_) return;
  next_ = Later(now, kEvery);
  const cluster::World& world = context_.world();
  auto state = std::make_shared<ClusterState>();
  state->at = now;
  state->nodes = world.Nodes();
  const std::vector<PodPtr> pending = CopyPods(*state);
  state->claims = claims;
  for (const NodePoolPtr& pool : world.objects<model::NodePool>().List()) {
    if (context_.Manages(pool->spec.template_.spec.node_class_ref)) state->pools.push_back(pool);
  }
  times.Look(pending);
  conditions_.Look(state->pools, now);
  conditions_.Look(state->nodes, now);
  state->pod_times = times.all();
  state->class_labels = context_.class_labels();
  state->well_known = context_.labels().well_known;
  page_->Put(std::move(state));
}

// Pods by node as they are known already. Answers those that are pending.
std::vector<PodPtr> Observation::CopyPods(ClusterState& state) {
  const cluster::World& world = context_.world();
  std::vector<PodPtr> pending;
  PodList::Pods others;
  for (const auto* entry : world.Unbound()) others.push_back(entry->pod);
  size_t known = others.size();
  const auto on_nodes = context_.node_pods.Of(state.nodes);
  for (const NodePodsPtr& on_node : on_nodes) known += on_node->all.size();
  if (known == world.pod_count()) {
    for (const NodePodsPtr& on_node : on_nodes) {
      if (!on_node->all.empty()) state.pods.push_back(on_node->all);
      pending.insert(pending.end(), on_node->pending.begin(), on_node->pending.end());
    }
  } else {  // some are bound to nodes that are not there
    others.clear();
    for (const auto* entry : world.Pods()) others.push_back(entry->pod);
  }
  std::ranges::copy_if(others, std::back_inserter(pending), IsPendingPod);
  state.pods.emplace_back(std::move(others));
  return pending;
}

void Observation::Synced(const std::vector<ClaimPtr>& claims, bool provider_is_known,
                         TimePoint now) {
  const bool synced =
      provider_is_known && std::ranges::all_of(claims, [](const ClaimPtr& claim) {
        return !claim->status.provider_id.empty() || claim->metadata.deletion_timestamp.has_value();
      });
  if (synced || synced_at_ == TimePoint::min()) synced_at_ = now;
  context_.Set("karpenter_cluster_state_synced",
               "1 if every claim has a machine and the provider has been read, else 0.",
               synced ? 1 : 0);
  context_.Set("karpenter_cluster_state_unsynced_time_seconds",
               "For how long that has not been so.", Seconds(now - synced_at_));
}

void Observation::Priced(const std::vector<report::ClaimState>& claims) {
  std::set<std::string> unpriced;
  std::map<std::string_view, Counter*> errors;  // of a pool with claims, also if there are none
  for (const report::ClaimState& claim : claims) {
    Counter*& of_pool = errors[claim.pool];
    if (of_pool == nullptr) {
      of_pool = &context_.parts.metrics.GetCounter(
          "karpenter_nodepools_cost_tracker_errors_total",
          "Machines whose price was not known when the cost of their pool was added up.",
          {{"nodepool", claim.pool}});
    }
    if (claim.provider_id.empty() || claim.price > 0) continue;
    unpriced.insert(claim.name);
    if (!unpriced_.contains(claim.name)) of_pool->Increment();
  }
  unpriced_ = std::move(unpriced);
}

}  // namespace coppice::provision
