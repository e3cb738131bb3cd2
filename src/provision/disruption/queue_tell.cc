// What is told of commands: how they stand, those that ended last, and what metrics count of them.

#include <utility>

#include "provision/disruption/queue.h"

namespace coppice::provision {

namespace {

constexpr size_t kRememberEnded = 50;

}  // namespace

report::DisruptionCommand DisruptionQueue::Described(const Order& order, std::string stage,
                                                     TimePoint now) {
  report::DisruptionCommand told{.reason = std::string(ReasonOf(order.method)),
                                 .decision = std::string(ToString(order.decision)),
                                 .pools = order.pools,
                                 .replacements = order.types,
                                 .price_before = order.price,
                                 .savings = order.savings,
                                 .stage = std::move(stage),
                                 .since = now};
  for (const NodePtr& node : order.nodes) told.nodes.push_back(node->metadata.name);
  return told;
}

void DisruptionQueue::Note(const Order& order, std::string stage, std::string text, TimePoint now) {
  report::DisruptionCommand told = Described(order, std::move(stage), now);
  told.id = "command-" + std::to_string(next_id_++);
  told.text = std::move(text);
  ended_.push_front(std::move(told));
  if (ended_.size() > kRememberEnded) ended_.pop_back();
}

std::vector<report::DisruptionCommand> DisruptionQueue::Commands() const {
  std::vector<report::DisruptionCommand> all;
  for (const auto& [id, active] : active_) all.push_back(active.told);
  all.insert(all.end(), ended_.begin(), ended_.end());
  return all;
}

void DisruptionQueue::CountDecision(const Order& order) {
  MetricLabels labels;
  labels["decision"] = std::string(ToString(order.decision));
  labels["reason"] = LowerReason(order.method);
  labels["consolidation_type"] = std::string(TypeOf(order.method));
  context().Count("karpenter_voluntary_disruption_decisions_total",
                  "Number of disruption decisions performed.", labels);
  for (const std::string& pool : order.pools) {
    labels["nodepool"] = pool;
    context().Count("karpenter_voluntary_disruption_decisions_by_nodepool_total",
                    "Number of disruption decisions performed, by nodepool.", labels);
  }
}

void DisruptionQueue::CountRepair(const model::NodeClaim& claim, const RepairDecision& decision) {
  MetricLabels labels;
  labels["condition"] = SnakeCase(decision.condition);
  labels["nodepool"] = LabelOr(claim.metadata.labels, model::kNodePoolLabel);
  labels["capacity_type"] = LabelOr(claim.metadata.labels, model::kCapacityTypeLabel);
  labels["image_id"] = claim.status.image_id;
  labels["termination_mode"] =
      decision.grace ? TerminationMode(decision.grace)
                     : TerminationMode(model::LastingOf(claim.spec.termination_grace_period));
  context().Count("karpenter_nodeclaims_unhealthy_disrupted_total",
                  "Number of unhealthy nodeclaims disrupted in total by node repair.", labels);
}

void DisruptionQueue::Close(const std::string& id, std::string stage, std::string text) {
  Active& active = active_.at(id);
  for (const ClaimPtr& claim : active.order.claims)
    parts_.marks.queued.erase(claim->status.provider_id);
  active.told.stage = std::move(stage);
  active.told.text = std::move(text);
  active.told.since = context().Now();
  ended_.push_front(std::move(active.told));
  if (ended_.size() > kRememberEnded) ended_.pop_back();
  active_.erase(id);
}

}  // namespace coppice::provision
