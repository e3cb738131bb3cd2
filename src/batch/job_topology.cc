// What a job asks of the network, and where in it the job is.

#include <algorithm>
#include <utility>

#include "batch/hyper_nodes.h"
#include "batch/job.h"
#include "batch/node.h"

namespace coppice::batch {
namespace {

using Topology = std::optional<model::NetworkTopology>;

// A soft wish is a hard one for `soft_tier`: what is lower is tried first all the same.
Topology Settled(const Topology& asked, const HyperNodeTree& tree, int64_t soft_tier,
                 bool upstream_exact) {
  Topology settled = asked;
  if (!settled) return settled;
  if (settled->mode.empty() && !upstream_exact) settled->mode = "hard";
  if (!settled->highest_tier_allowed && !settled->highest_tier_name.empty()) {
    if (const auto tier = tree.TierCalled(settled->highest_tier_name)) {
      settled->highest_tier_allowed = tier;
      settled->highest_tier_name.clear();
    }
  }
  if (settled->mode == "soft") {
    settled->mode = "hard";
    settled->highest_tier_allowed = soft_tier;
    settled->highest_tier_name.clear();
  }
  return settled;
}

std::vector<uint32_t> PlacesOf(const std::vector<Task*>& tasks) {
  std::vector<uint32_t> places;
  for (const Task* task : tasks) {
    if (IsAllocated(task->status) && task->node != nullptr) places.push_back(task->node->index);
  }
  std::ranges::sort(places);
  places.erase(std::ranges::unique(places).begin(), places.end());
  return places;
}

std::string NameOf(const HyperNode* hyper_node) {
  return hyper_node == nullptr ? "" : hyper_node->name;
}

}  // namespace

std::optional<int64_t> HardTier(const Topology& topology) {
  if (!topology || topology->mode != "hard") return std::nullopt;
  return topology->highest_tier_allowed;
}

bool Job::HasNetworkTopology() const {
  return network_topology ||
         (asks_topology_ && std::ranges::any_of(sub_jobs, [](const auto& sub_job) {
            return sub_job->network_topology.has_value();
          }));
}

bool Job::HasHardTopology() const {
  return HardTier(network_topology) || std::ranges::any_of(sub_jobs, [](const auto& sub_job) {
           return HardTier(sub_job->network_topology).has_value();
         });
}

// What a sub-job would like is bounded by what the job must have.
void Job::SettleTopology(const HyperNodeTree& tree, bool upstream_exact) {
  if (!network_topology && !asks_topology_) return;
  const int64_t top = tree.top().tier;
  network_topology = Settled(group.spec.network_topology, tree, top, upstream_exact);
  const int64_t of_job =
      network_topology ? network_topology->highest_tier_allowed.value_or(top) : top;
  for (const auto& sub_job : sub_jobs) {
    const auto policy = std::ranges::find_if(
        group.spec.sub_group_policy,
        [&](const model::SubGroupPolicy& p) { return sub_job->group_id == id + "/" + p.name; });
    const Topology& asked = policy == group.spec.sub_group_policy.end()
                                ? group.spec.network_topology
                                : policy->network_topology;
    sub_job->network_topology = Settled(asked, tree, of_job, upstream_exact);
  }
  LocateTasks(tree, upstream_exact);
}

// By the nodes that its tasks have. What was written down is believed only as far as it holds them.
void Job::LocateTasks(const HyperNodeTree& tree, bool upstream_exact) {
  allocated_hyper_node.clear();
  const HyperNode* together = nullptr;
  for (const auto& sub_job : sub_jobs) {
    sub_job->allocated_hyper_node.clear();
    if (!sub_job->network_topology || sub_job->counts.Allocated() == 0) continue;
    const HyperNode* at = tree.Smallest(PlacesOf(sub_job->tasks));
    sub_job->allocated_hyper_node = NameOf(at);
    together = HyperNodeTree::LowestCommon(together, at);
  }
  if (counts.Allocated() == 0) return;
  if (upstream_exact) {
    allocated_hyper_node = NameOf(together);
    return;
  }
  const std::vector<uint32_t> places = PlacesOf(tasks);
  const HyperNode* smallest = tree.Smallest(places);
  const std::string* noted = group.metadata.annotations.Find(kAllocatedHyperNodeKey);
  const HyperNode* wider = noted == nullptr ? nullptr : tree.Find(*noted);
  const bool holds = wider != nullptr &&
                     wider->tier <= HardTier(network_topology).value_or(tree.top().tier) &&
                     std::ranges::all_of(places, [&](uint32_t place) { return wider->Has(place); });
  allocated_hyper_node = NameOf(holds ? wider : smallest);
}

}  // namespace coppice::batch
