// conformance: pods that the cluster itself needs are never evicted.

#include "batch/plugin.h"
#include "batch/session.h"

namespace coppice::batch::conformance {
namespace {

bool IsCritical(const Task& task) {
  const std::string& priority_class = task.pod->spec.priority_class_name;
  return priority_class == "system-cluster-critical" || priority_class == "system-node-critical" ||
         task.namespace_ == "kube-system";
}

class Conformance final : public Plugin,
                          public Preemptable,
                          public Reclaimable,
                          public UnifiedEvictable {
 public:
  Status Open(Session&, Slots& slots) override {
    slots.preemptable = this;
    slots.reclaimable = this;
    slots.unified_evictable = this;
    return Status::Ok();
  }

  Victims PreemptVictims(const Task&, std::span<Task* const> candidates) override {
    return NotCritical(candidates);
  }
  Victims ReclaimVictims(const Task&, std::span<Task* const> candidates) override {
    return NotCritical(candidates);
  }
  Victims UnifiedVictims(const EvictionContext&, std::span<Task* const> candidates) override {
    return NotCritical(candidates);
  }

 private:
  static Victims NotCritical(std::span<Task* const> candidates) {
    Victims victims;
    for (Task* task : candidates) {
      if (!IsCritical(*task)) victims.tasks.push_back(task);
    }
    return victims;
  }
};

}  // namespace

void Register(PluginRegistry& registry) { registry.Add("conformance", FactoryOf<Conformance>()); }

}  // namespace coppice::batch::conformance
