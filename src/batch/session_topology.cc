// How the session's nodes lie in the network.

#include <algorithm>

#include <fmt/format.h>

#include "base/check.h"
#include "batch/session.h"

namespace coppice::batch {

void Session::SettleTopologies() {
  auto& tree = input_.hyper_nodes;
  if (tree == nullptr) tree = std::make_shared<const HyperNodeTree>(node_list_.size());
  CHECK(tree->node_count() == node_list_.size());  // made of this very list
  for (Job* job : job_list_) job->SettleTopology(*tree, upstream_exact());
}

const std::vector<NodeInfo*>& Session::NodesOf(const HyperNode& hyper_node) {
  if (&hyper_node == &hyper_nodes().top()) return node_list_;
  const auto [known, is_new] = hyper_node_nodes_.try_emplace(&hyper_node);
  if (is_new) {
    for (const uint32_t node : hyper_node.nodes) known->second.push_back(node_list_[node]);
  }
  return known->second;
}

bool Session::IsConfined(const Job& job) const {
  const auto confined = [&](const std::optional<model::NetworkTopology>& topology) {
    const auto tier = HardTier(topology);
    return tier && *tier < hyper_nodes().top().tier;
  };
  return confined(job.network_topology) || std::ranges::any_of(job.sub_jobs, [&](const auto& s) {
           return confined(s->network_topology);
         });
}

std::string Session::WhyNoTopology(const Job& job) const {
  // Upstream takes a tier that nobody knows for no wish at all, and with nobody who knows
  // HyperNodes it places within the whole cluster.
  if (upstream_exact() || !job.HasNetworkTopology()) return "";
  const auto why = [&](const std::optional<model::NetworkTopology>& asked) -> std::string {
    if (!asked || asked->mode == "soft") return "";
    if (!asked->highest_tier_allowed && asked->highest_tier_name.empty()) return "";
    if (hyper_nodes().empty())
      return "the group asks for a network topology, and there are no HyperNodes";
    if (!combine_.KnowsGradients()) {
      return "the group asks for a network topology, and of the configuration's plug-ins none "
             "knows one: network-topology-aware does";
    }
    if (!asked->highest_tier_allowed && !hyper_nodes().TierCalled(asked->highest_tier_name))
      return fmt::format("no tier of the network is called {}", asked->highest_tier_name);
    return "";
  };
  std::string text = why(job.group.spec.network_topology);
  for (const model::SubGroupPolicy& policy : job.group.spec.sub_group_policy) {
    if (text.empty()) text = why(policy.network_topology);
  }
  return text;
}

}  // namespace coppice::batch
