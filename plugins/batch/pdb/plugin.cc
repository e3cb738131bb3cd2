// pdb: nobody is evicted against a PodDisruptionBudget.

#include <vector>

#include "batch/plugin.h"
#include "batch/session.h"
#include "drain/budget_index.h"
#include "model/selector.h"

namespace coppice::batch::pdb {
namespace {

class Pdb final : public Plugin, public Preemptable, public Reclaimable, public VictimTasks {
 public:
  Status Open(Session& session, Slots& slots) override {
    upstream_exact_ = session.upstream_exact();
    for (const model::PodDisruptionBudget& object : session.budgets()) {
      const auto selector = model::Selector::From(object.spec.selector);
      // Upstream lets an empty or a malformed selector protect nobody. Of the former the API means
      // everybody, and of the latter nobody knows.
      if (upstream_exact_ && (!selector.ok() || selector->empty())) continue;
      index_.Add(object.metadata.namespace_,
                 selector.ok() ? *selector : model::Selector::Everything());
      budgets_.push_back({&object, selector.ok() ? object.status.disruptions_allowed : 0});
    }
    slots.preemptable = this;
    slots.reclaimable = this;
    slots.victim_tasks = this;
    return Status::Ok();
  }

  Victims PreemptVictims(const Task&, std::span<Task* const> candidates) override {
    return {.tasks = TasksToMove(candidates)};
  }
  Victims ReclaimVictims(const Task&, std::span<Task* const> candidates) override {
    return {.tasks = TasksToMove(candidates)};
  }

  std::vector<Task*> TasksToMove(std::span<Task* const> tasks) override {
    std::vector<int32_t> allowed;
    for (const Budget& budget : budgets_) allowed.push_back(budget.allowed);
    std::vector<Task*> movable;
    for (Task* task : tasks) {
      // Upstream drops pods without labels: no budget can mean them, and still they are protected.
      if (upstream_exact_ && task->pod->metadata.labels.empty()) continue;
      if (TakeFrom(allowed, *task)) movable.push_back(task);
    }
    return movable;
  }

 private:
  struct Budget {
    const model::PodDisruptionBudget* object = nullptr;
    int32_t allowed = 0;
  };

  bool TakeFrom(std::vector<int32_t>& allowed, const Task& task) const {
    bool within = true;
    index_.ForEach(task.pod->metadata, [&](size_t budget) {
      if (!budgets_[budget].object->status.disrupted_pods.contains(task.name))
        within &= --allowed[budget] >= 0;
    });
    return within;
  }

  bool upstream_exact_ = false;
  drain::BudgetIndex index_;
  std::vector<Budget> budgets_;  // by their numbers there
};

}  // namespace

void Register(PluginRegistry& registry) { registry.Add("pdb", FactoryOf<Pdb>()); }

}  // namespace coppice::batch::pdb
