// Tables of karpenter.sh/v1 NodePool and NodeClaim, and of our NodeClass. See fields.h. The API
// server speaks JSON alone about them, so the numbers mean nothing.
#pragma once

#include "model/node_claim.h"
#include "model/node_class.h"
#include "model/node_pool.h"
#include "wire/tables_node.h"

namespace coppice::wire {

template <>
inline constexpr bool kJsonOnly<model::NodePool> = true;
template <>
inline constexpr bool kJsonOnly<model::NodeClaim> = true;
template <>
inline constexpr bool kJsonOnly<model::NodeClass> = true;
template <>
inline constexpr bool kJsonOnly<model::KwokNodeClass> = true;

template <>
struct Fields<model::RequirementSpec> {
  using T = model::RequirementSpec;
  static constexpr auto kTable = std::tuple{
      Field<1>("key", &T::key, Empty::kWritten),
      Field<2>("operator", &T::operator_, Empty::kWritten),
      Field<3>("values", &T::values),
      Field<4>("minValues", &T::min_values),
  };
};

template <>
struct Fields<model::NodeClassReference> {
  using T = model::NodeClassReference;
  static constexpr auto kTable = std::tuple{
      Field<1>("kind", &T::kind, Empty::kWritten),
      Field<2>("name", &T::name, Empty::kWritten),
      Field<3>("group", &T::group, Empty::kWritten),
  };
};

template <>
struct Fields<model::NodeClaimTemplateSpec> {
  using T = model::NodeClaimTemplateSpec;
  static constexpr auto kTable = std::tuple{
      Field<1>("taints", &T::taints),
      Field<2>("startupTaints", &T::startup_taints),
      Field<3>("requirements", &T::requirements, Empty::kWritten),
      Field<4>("nodeClassRef", &T::node_class_ref),
      Field<5>("terminationGracePeriod", &T::termination_grace_period),
      Field<6>("expireAfter", &T::expire_after),
  };
};

template <>
struct Fields<model::NodeClaimTemplate> {
  using T = model::NodeClaimTemplate;
  static constexpr auto kTable = std::tuple{
      Group<1>("metadata", Field<1>("labels", &T::labels),
               Field<2>("annotations", &T::annotations)),
      Field<2>("spec", &T::spec),
  };
};

template <>
struct Fields<model::DisruptionBudget> {
  using T = model::DisruptionBudget;
  static constexpr auto kTable = std::tuple{
      Field<1>("reasons", &T::reasons),
      Field<2>("nodes", &T::nodes, Empty::kWritten),
      Field<3>("schedule", &T::schedule),
      Field<4>("duration", &T::duration),
  };
};

template <>
struct Fields<model::NodePoolDisruption> {
  using T = model::NodePoolDisruption;
  static constexpr auto kTable = std::tuple{
      Field<1>("consolidateAfter", &T::consolidate_after),
      Field<2>("consolidationPolicy", &T::consolidation_policy),
      Field<3>("budgets", &T::budgets),
  };
};

template <>
struct Fields<model::NodePoolSpec> {
  using T = model::NodePoolSpec;
  static constexpr auto kTable = std::tuple{
      Field<1>("template", &T::template_), Field<2>("disruption", &T::disruption),
      Field<3>("limits", &T::limits),      Field<4>("weight", &T::weight),
      Field<5>("replicas", &T::replicas),
  };
};

template <>
struct Fields<model::NodePoolStatus> {
  using T = model::NodePoolStatus;
  static constexpr auto kTable = std::tuple{
      Field<1>("resources", &T::resources),
      Field<2>("nodes", &T::nodes),
      Field<3>("nodeClassObservedGeneration", &T::node_class_observed_generation),
      Field<4>("conditions", &T::conditions),
  };
};

template <>
struct Fields<model::NodePool> {
  using T = model::NodePool;
  static constexpr auto kTable = std::tuple{
      Field<1>("metadata", &T::metadata),
      Field<2>("spec", &T::spec),
      Field<3>("status", &T::status),
  };
};

template <>
struct Fields<model::NodeClaimSpec> {
  using T = model::NodeClaimSpec;
  static constexpr auto kTable = std::tuple{
      Field<1>("taints", &T::taints),
      Field<2>("startupTaints", &T::startup_taints),
      Field<3>("requirements", &T::requirements, Empty::kWritten),
      Group<4>("resources", Field<1>("requests", &T::requests)),
      Field<5>("nodeClassRef", &T::node_class_ref),
      Field<6>("terminationGracePeriod", &T::termination_grace_period),
      Field<7>("expireAfter", &T::expire_after),
  };
};

template <>
struct Fields<model::NodeClaimStatus> {
  using T = model::NodeClaimStatus;
  static constexpr auto kTable = std::tuple{
      Field<1>("nodeName", &T::node_name),
      Field<2>("providerID", &T::provider_id),
      Field<3>("imageID", &T::image_id),
      Field<4>("capacity", &T::capacity),
      Field<5>("allocatable", &T::allocatable),
      Field<6>("conditions", &T::conditions),
      Field<7>("lastPodEventTime", &T::last_pod_event_time),
  };
};

template <>
struct Fields<model::NodeClaim> {
  using T = model::NodeClaim;
  static constexpr auto kTable = std::tuple{
      Field<1>("metadata", &T::metadata),
      Field<2>("spec", &T::spec),
      Field<3>("status", &T::status),
  };
};

template <>
struct Fields<model::SecretKeyReference> {
  using T = model::SecretKeyReference;
  static constexpr auto kTable = std::tuple{
      Field<1>("namespace", &T::namespace_, Empty::kWritten),
      Field<2>("name", &T::name, Empty::kWritten),
      Field<3>("key", &T::key, Empty::kWritten),
  };
};

template <>
struct Fields<model::KubeletReserves> {
  using T = model::KubeletReserves;
  static constexpr auto kTable = std::tuple{
      Field<1>("kubeReserved", &T::kube_reserved),
      Field<2>("systemReserved", &T::system_reserved),
      Field<3>("evictionHard", &T::eviction_hard),
      Field<4>("maxPods", &T::max_pods),
  };
};

template <>
struct Fields<model::NodeClassSpec> {
  using T = model::NodeClassSpec;
  static constexpr auto kTable = std::tuple{
      Field<1>("image", &T::image, Empty::kWritten),
      Field<2>("zones", &T::zones),
      Field<3>("networks", &T::networks),
      Field<4>("userDataSecret", &T::user_data_secret),
      Field<5>("tags", &T::tags),
      Field<6>("kubelet", &T::kubelet),
      Field<7>("registerNode", &T::register_node),
      Field<8>("extra", &T::extra),
      Field<9>("nodeRegistrationDelay", &T::node_registration_delay),
  };
};

template <>
struct Fields<model::NodeClassStatus> {
  using T = model::NodeClassStatus;
  static constexpr auto kTable = std::tuple{
      Field<1>("conditions", &T::conditions),
  };
};

template <>
struct Fields<model::NodeClass> {
  using T = model::NodeClass;
  static constexpr auto kTable = std::tuple{
      Field<1>("metadata", &T::metadata),
      Field<2>("spec", &T::spec),
      Field<3>("status", &T::status),
  };
};

template <>
struct Fields<model::KwokNodeClass> {
  using T = model::KwokNodeClass;
  static constexpr auto kTable = std::tuple{
      Field<1>("metadata", &T::metadata),
      Field<2>("spec", &T::spec),
      Field<3>("status", &T::status),
  };
};

}  // namespace coppice::wire
