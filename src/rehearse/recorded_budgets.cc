#include "rehearse/recorded_budgets.h"

#include <algorithm>

#include "model/selector.h"
#include "sim/controllers.h"

namespace coppice::rehearse {

RecordedBudgets::RecordedBudgets(sim::Model& model, const Demand& demand)
    : model_(model), of_shape_(demand.shapes.size()) {
  for (const model::PodDisruptionBudget& recorded : demand.budgets) {
    if (!recorded.spec.selector) continue;  // selects nothing
    const auto selector = model::Selector::From(*recorded.spec.selector);
    if (!selector.ok()) continue;  // guards nothing on a real cluster either
    const auto number = static_cast<uint32_t>(budgets_.size());
    budgets_.push_back({.object = recorded});
    for (size_t shape = 0; shape < demand.shapes.size(); ++shape) {
      const model::ObjectMeta& pod = demand.shapes[shape].pod.metadata;
      if (pod.namespace_ == recorded.metadata.namespace_ && selector->Matches(pod.labels))
        of_shape_[shape].push_back(number);
    }
  }
  if (budgets_.empty()) return;
  model_.cluster.OnSettle([this] { return Publish(); });
  Publish();
}

void RecordedBudgets::Count(uint32_t shape, int wanted, int running) {
  for (const uint32_t number : of_shape_[shape]) {
    Budget& budget = budgets_[number];
    budget.wanted += wanted;
    budget.running += running;
    budget.changed = true;
  }
}

bool RecordedBudgets::Publish() {
  bool any = false;
  for (Budget& budget : budgets_) {
    if (!std::exchange(budget.changed, false)) continue;
    const model::PodDisruptionBudgetSpec& spec = budget.object.spec;
    int needed = budget.wanted;
    if (spec.min_available) {
      needed = sim::ResolveAmount(*spec.min_available, budget.wanted);
    } else if (spec.max_unavailable) {
      needed = budget.wanted - sim::ResolveAmount(*spec.max_unavailable, budget.wanted);
    }
    model::PodDisruptionBudgetStatus& status = budget.object.status;
    status.disruptions_allowed = std::max(0, budget.running - needed);
    status.current_healthy = budget.running;
    status.desired_healthy = needed;
    status.expected_pods = budget.wanted;
    const auto known = model_.cluster.objects().objects<model::PodDisruptionBudget>().Find(
        budget.object.metadata.namespace_, budget.object.metadata.name);
    if (known && known->status.disruptions_allowed == status.disruptions_allowed) continue;
    model_.cluster.Upsert(budget.object);
    any = true;
  }
  return any;
}

}  // namespace coppice::rehearse
