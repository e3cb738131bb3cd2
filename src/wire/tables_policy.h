// Tables of budgets, priorities and runtimes. See fields.h.
#pragma once

#include "wire/tables_pod.h"

namespace coppice::wire {

template <>
struct Fields<model::PodDisruptionBudgetSpec> {
  using T = model::PodDisruptionBudgetSpec;
  static constexpr auto kTable = std::tuple{
      Field<1>("minAvailable", &T::min_available),
      Field<2>("selector", &T::selector),
      Field<3>("maxUnavailable", &T::max_unavailable),
      Field<4>("unhealthyPodEvictionPolicy", &T::unhealthy_pod_eviction_policy),
  };
};

template <>
struct Fields<model::PodDisruptionBudgetStatus> {
  using T = model::PodDisruptionBudgetStatus;
  static constexpr auto kTable = std::tuple{
      Field<1>("observedGeneration", &T::observed_generation),
      Field<2>("disruptedPods", &T::disrupted_pods),
      Field<3>("disruptionsAllowed", &T::disruptions_allowed, Empty::kWritten),
      Field<4>("currentHealthy", &T::current_healthy, Empty::kWritten),
      Field<5>("desiredHealthy", &T::desired_healthy, Empty::kWritten),
      Field<6>("expectedPods", &T::expected_pods, Empty::kWritten),
      Field<7>("conditions", &T::conditions),
  };
};

template <>
struct Fields<model::PodDisruptionBudget> {
  using T = model::PodDisruptionBudget;
  static constexpr auto kTable = std::tuple{
      Field<1>("metadata", &T::metadata),
      Field<2>("spec", &T::spec),
      Field<3>("status", &T::status),
  };
};

template <>
struct Fields<model::PriorityClass> {
  using T = model::PriorityClass;
  static constexpr auto kTable = std::tuple{
      Field<1>("metadata", &T::metadata),
      Field<2>("value", &T::value, Empty::kWritten),
      Field<3>("globalDefault", &T::global_default),
      Field<4>("description", &T::description),
      Field<5>("preemptionPolicy", &T::preemption_policy),
  };
};

template <>
struct Fields<model::RuntimeClassScheduling> {
  using T = model::RuntimeClassScheduling;
  static constexpr auto kTable = std::tuple{
      Field<1>("nodeSelector", &T::node_selector),
      Field<2>("tolerations", &T::tolerations),
  };
};

template <>
struct Fields<model::RuntimeClassOverhead> {
  using T = model::RuntimeClassOverhead;
  static constexpr auto kTable = std::tuple{
      Field<1>("podFixed", &T::pod_fixed),
  };
};

template <>
struct Fields<model::RuntimeClass> {
  using T = model::RuntimeClass;
  static constexpr auto kTable = std::tuple{
      Field<1>("metadata", &T::metadata),
      Field<2>("handler", &T::handler, Empty::kWritten),
      Field<3>("overhead", &T::overhead),
      Field<4>("scheduling", &T::scheduling),
  };
};

}  // namespace coppice::wire
