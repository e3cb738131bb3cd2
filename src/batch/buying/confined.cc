#include "batch/buying/confined.h"

#include <algorithm>
#include <memory>
#include <utility>

#include <fmt/format.h>

namespace coppice::batch {
namespace {

// Terms are alternatives: each is to ask for it.
void AskFor(model::Pod& pod, const WaitingJob::Place& place) {
  if (!pod.spec.affinity) pod.spec.affinity.emplace();
  auto& node_affinity = pod.spec.affinity->node_affinity;
  if (!node_affinity) node_affinity.emplace();
  auto& required = node_affinity->required;
  const model::NodeSelectorRequirement there{
      .key = place.key, .operator_ = "In", .values = place.values};
  if (!required) {
    required = model::NodeSelector{.node_selector_terms = {{.match_expressions = {there}}}};
    return;
  }
  for (model::NodeSelectorTerm& term : required->node_selector_terms) {
    // One that asks for nothing is nobody's, and stays so.
    if (!term.match_expressions.empty() || !term.match_fields.empty())
      term.match_expressions.push_back(there);
  }
}

}  // namespace

Domains DomainsOf(const Session& session, const Job& job) {
  Domains domains;
  const HyperNodeTree& tree = session.hyper_nodes();
  const auto limit = HardTier(job.network_topology);
  const bool parts =
      job.HasSubJobPolicy() && std::ranges::any_of(job.sub_jobs, [&](const auto& sub_job) {
        const auto own = HardTier(sub_job->network_topology);
        return own && *own < limit.value_or(tree.top().tier);
      });
  if (parts || !limit) {
    domains.why_not =
        "each of its sub-groups has to be close together, and nobody can be asked for "
        "machines of several places at once";
    return domains;
  }
  const HyperNode* running = tree.Find(job.allocated_hyper_node);
  bool any = false;
  for (const auto& at : tree.all()) {
    if (at->tier > *limit || at->parent == nullptr || at->parent->tier <= *limit) continue;
    if (running != nullptr && !HyperNodeTree::IsWithin(*running, *at)) continue;
    any = true;
    if (!at->label_key.empty()) domains.hyper_nodes.push_back(at.get());
  }
  if (domains.hyper_nodes.empty()) {
    domains.why_not =
        any ? fmt::format(
                  "it has to be within one HyperNode of tier {} or below, and none of them "
                  "goes by a label of nodes: nobody knows where a new machine would be",
                  *limit)
            : fmt::format(
                  "it has to be within one HyperNode of tier {} or below, and there is none",
                  *limit);
  }
  return domains;
}

WaitingJob::Place PlaceOf(const HyperNode& domain) {
  return {.name = domain.name, .key = domain.label_key, .values = domain.label_values};
}

market::Want Within(market::Want want, const WaitingJob::Place& place) {
  if (place.values.size() == 1) want.topology = {.key = place.key, .value = place.values.front()};
  if (place.values.size() < 2) return want;
  for (market::TaskClass& one : want.classes) {
    auto pod = std::make_shared<model::Pod>(*one.pod);
    AskFor(*pod, place);
    one.pod = std::move(pod);
  }
  return want;
}

}  // namespace coppice::batch
