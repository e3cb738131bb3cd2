// pdb: nobody is evicted against a PodDisruptionBudget.

#include <vector>

#include "batch/plugin.h"
#include "batch/session.h"
#include "model/selector.h"

namespace coppice::batch::pdb {
namespace {

struct Budget {
  const model::PodDisruptionBudget* object;
  model::Selector selector;
};

class Pdb final : public Plugin, public Preemptable, public Reclaimable, public VictimTasks {
 public:
  Status Open(Session& session, Slots& slots) override {
    upstream_exact_ = session.upstream_exact();
    for (const model::PodDisruptionBudget& object : session.budgets()) {
      const auto selector = model::Selector::From(object.spec.selector);
      if (!selector.ok()) continue;
      // Upstream lets an empty selector protect nobody, where the API means everybody.
      if (selector->empty() && upstream_exact_) continue;
      budgets_.push_back({&object, *selector});
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
    for (const Budget& budget : budgets_) {
      allowed.push_back(budget.object->status.disruptions_allowed);
    }
    std::vector<Task*> movable;
    for (Task* task : tasks) {
      // Upstream drops pods without labels: no budget can mean them, and still they are protected.
      if (upstream_exact_ && task->pod->metadata.labels.empty()) continue;
      if (TakeFrom(allowed, *task)) movable.push_back(task);
    }
    return movable;
  }

 private:
  bool TakeFrom(std::vector<int32_t>& allowed, const Task& task) const {
    bool within = true;
    for (size_t i = 0; i < budgets_.size(); ++i) {
      const model::PodDisruptionBudget& object = *budgets_[i].object;
      if (object.metadata.namespace_ != task.namespace_ ||
          !budgets_[i].selector.Matches(task.pod->metadata.labels) ||
          object.status.disrupted_pods.contains(task.name)) {
        continue;
      }
      within &= --allowed[i] >= 0;
    }
    return within;
  }

  bool upstream_exact_ = false;
  std::vector<Budget> budgets_;
};

}  // namespace

void Register(PluginRegistry& registry) { registry.Add("pdb", FactoryOf<Pdb>()); }

}  // namespace coppice::batch::pdb
