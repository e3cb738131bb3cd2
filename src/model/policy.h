// Rules about pods that belong to nobody's workload: budgets, priorities, runtimes. Conventions:
// meta.h.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "model/meta.h"
#include "model/pod.h"

namespace coppice::model {

struct PodDisruptionBudgetSpec {
  std::optional<IntOrString> min_available;
  std::optional<LabelSelector> selector;  // absent selects nothing, empty the whole namespace
  std::optional<IntOrString> max_unavailable;
  std::optional<std::string> unhealthy_pod_eviction_policy;
  friend bool operator==(const PodDisruptionBudgetSpec&, const PodDisruptionBudgetSpec&) = default;
};

struct PodDisruptionBudgetStatus {
  int64_t observed_generation = 0;
  FlatMap<Time> disrupted_pods;
  int32_t disruptions_allowed = 0;
  int32_t current_healthy = 0;
  int32_t desired_healthy = 0;
  int32_t expected_pods = 0;
  std::vector<Condition> conditions;
  friend bool operator==(const PodDisruptionBudgetStatus&,
                         const PodDisruptionBudgetStatus&) = default;
};

struct PodDisruptionBudget {
  ObjectMeta metadata;
  PodDisruptionBudgetSpec spec;
  PodDisruptionBudgetStatus status;
  friend bool operator==(const PodDisruptionBudget&, const PodDisruptionBudget&) = default;
};

struct PriorityClass {
  ObjectMeta metadata;
  int32_t value = 0;
  bool global_default = false;
  std::string description;
  std::optional<std::string> preemption_policy;
  friend bool operator==(const PriorityClass&, const PriorityClass&) = default;
};

struct RuntimeClassScheduling {
  Labels node_selector;
  std::vector<Toleration> tolerations;
  friend bool operator==(const RuntimeClassScheduling&, const RuntimeClassScheduling&) = default;
};

struct RuntimeClassOverhead {
  ResourceList pod_fixed;
  friend bool operator==(const RuntimeClassOverhead&, const RuntimeClassOverhead&) = default;
};

struct RuntimeClass {
  ObjectMeta metadata;
  std::string handler;
  std::optional<RuntimeClassOverhead> overhead;
  std::optional<RuntimeClassScheduling> scheduling;
  friend bool operator==(const RuntimeClass&, const RuntimeClass&) = default;
};

}  // namespace coppice::model
