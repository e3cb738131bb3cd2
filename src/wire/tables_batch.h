// Tables of pod groups, queues, quotas and hypernodes. See fields.h. But for ResourceQuota they are
// custom resources: nobody writes them as protobuf, and their numbers only order the lines.
#pragma once

#include "model/batch.h"
#include "wire/tables_pod.h"

namespace coppice::wire {

template <>
struct Fields<model::NetworkTopology> {
  using T = model::NetworkTopology;
  static constexpr auto kTable = std::tuple{
      Field<1>("mode", &T::mode),
      Field<2>("highestTierAllowed", &T::highest_tier_allowed),
      Field<3>("highestTierName", &T::highest_tier_name),
  };
};

template <>
struct Fields<model::SubGroupPolicy> {
  using T = model::SubGroupPolicy;
  static constexpr auto kTable = std::tuple{
      Field<1>("name", &T::name),
      Field<3>("networkTopology", &T::network_topology),
      Field<4>("subGroupSize", &T::sub_group_size),
      Field<5>("minSubGroups", &T::min_sub_groups),
      Field<6>("labelSelector", &T::label_selector),
      Field<7>("matchLabelKeys", &T::match_label_keys),
  };
};

template <>
struct Fields<model::PodGroupSpec> {
  using T = model::PodGroupSpec;
  static constexpr auto kTable = std::tuple{
      Field<1>("minMember", &T::min_member),
      Field<2>("minTaskMember", &T::min_task_member),
      Field<3>("queue", &T::queue),
      Field<4>("priorityClassName", &T::priority_class_name),
      Field<5>("minResources", &T::min_resources),
      Field<6>("networkTopology", &T::network_topology),
      Field<7>("subGroupPolicy", &T::sub_group_policy),
  };
};

template <>
struct Fields<model::PodGroupCondition> {
  using T = model::PodGroupCondition;
  static constexpr auto kTable = std::tuple{
      Field<1>("type", &T::type),
      Field<2>("status", &T::status),
      Field<3>("transitionID", &T::transition_id),
      Field<4>("lastTransitionTime", &T::last_transition_time),
      Field<5>("reason", &T::reason),
      Field<6>("message", &T::message),
  };
};

template <>
struct Fields<model::PodGroupStatus> {
  using T = model::PodGroupStatus;
  static constexpr auto kTable = std::tuple{
      Field<1>("phase", &T::phase),     Field<2>("conditions", &T::conditions),
      Field<3>("running", &T::running), Field<4>("succeeded", &T::succeeded),
      Field<5>("failed", &T::failed),
  };
};

template <>
struct Fields<model::PodGroup> {
  using T = model::PodGroup;
  static constexpr auto kTable = std::tuple{
      Field<1>("metadata", &T::metadata),
      Field<2>("spec", &T::spec),
      Field<3>("status", &T::status),
  };
};

template <>
struct Fields<model::NodeGroupNames> {
  using T = model::NodeGroupNames;
  static constexpr auto kTable = std::tuple{
      Field<1>("requiredDuringSchedulingIgnoredDuringExecution", &T::required),
      Field<2>("preferredDuringSchedulingIgnoredDuringExecution", &T::preferred),
  };
};

template <>
struct Fields<model::QueueAffinity> {
  using T = model::QueueAffinity;
  static constexpr auto kTable = std::tuple{
      Field<1>("nodeGroupAffinity", &T::node_group_affinity),
      Field<2>("nodeGroupAntiAffinity", &T::node_group_anti_affinity),
  };
};

template <>
struct Fields<model::QueueGuarantee> {
  using T = model::QueueGuarantee;
  static constexpr auto kTable = std::tuple{Field<3>("resource", &T::resource)};
};

template <>
struct Fields<model::QueueCluster> {
  using T = model::QueueCluster;
  static constexpr auto kTable = std::tuple{
      Field<1>("name", &T::name),
      Field<2>("weight", &T::weight),
      Field<3>("capacity", &T::capacity),
  };
};

template <>
struct Fields<model::QueueSpec> {
  using T = model::QueueSpec;
  static constexpr auto kTable = std::tuple{
      Field<1>("weight", &T::weight),
      Field<2>("capability", &T::capability),
      Field<3>("reclaimable", &T::reclaimable),
      Field<4>("extendClusters", &T::extend_clusters),
      Field<5>("guarantee", &T::guarantee, Empty::kWritten),
      Field<6>("affinity", &T::affinity),
      Field<7>("type", &T::type),
      Field<8>("parent", &T::parent),
      Field<9>("deserved", &T::deserved),
      Field<10>("priority", &T::priority),
      Field<11>("dequeueStrategy", &T::dequeue_strategy),
  };
};

template <>
struct Fields<model::QueueReservation> {
  using T = model::QueueReservation;
  static constexpr auto kTable = std::tuple{
      Field<1>("nodes", &T::nodes),
      Field<2>("resource", &T::resource),
  };
};

template <>
struct Fields<model::QueueStatus> {
  using T = model::QueueStatus;
  static constexpr auto kTable = std::tuple{
      Field<1>("state", &T::state),
      Field<2>("unknown", &T::unknown),
      Field<3>("pending", &T::pending),
      Field<4>("running", &T::running),
      Field<5>("inqueue", &T::inqueue),
      Field<6>("completed", &T::completed),
      Field<7>("reservation", &T::reservation, Empty::kWritten),
      Field<8>("allocated", &T::allocated, Empty::kWritten),
  };
};

template <>
struct Fields<model::Queue> {
  using T = model::Queue;
  static constexpr auto kTable = std::tuple{
      Field<1>("metadata", &T::metadata),
      Field<2>("spec", &T::spec),
      Field<3>("status", &T::status),
  };
};

template <>
struct Fields<model::HyperNodeName> {
  using T = model::HyperNodeName;
  static constexpr auto kTable = std::tuple{Field<1>("name", &T::name)};
};

template <>
struct Fields<model::HyperNodePattern> {
  using T = model::HyperNodePattern;
  static constexpr auto kTable = std::tuple{Field<1>("pattern", &T::pattern)};
};

template <>
struct Fields<model::HyperNodeSelector> {
  using T = model::HyperNodeSelector;
  static constexpr auto kTable = std::tuple{
      Field<1>("exactMatch", &T::exact_match),
      Field<2>("regexMatch", &T::regex_match),
      Field<3>("labelMatch", &T::label_match),
  };
};

template <>
struct Fields<model::HyperNodeMember> {
  using T = model::HyperNodeMember;
  static constexpr auto kTable = std::tuple{
      Field<1>("type", &T::type),
      Field<2>("selector", &T::selector),
  };
};

template <>
struct Fields<model::HyperNodeSpec> {
  using T = model::HyperNodeSpec;
  static constexpr auto kTable = std::tuple{
      Field<1>("tier", &T::tier),
      Field<2>("tierName", &T::tier_name),
      Field<3>("members", &T::members),
  };
};

template <>
struct Fields<model::HyperNode> {
  using T = model::HyperNode;
  static constexpr auto kTable = std::tuple{
      Field<1>("metadata", &T::metadata),
      Field<2>("spec", &T::spec),
  };
};

template <>
struct Fields<model::ResourceQuotaSpec> {
  using T = model::ResourceQuotaSpec;
  static constexpr auto kTable = std::tuple{
      Field<1>("hard", &T::hard),
      Field<2>("scopes", &T::scopes),
  };
};

template <>
struct Fields<model::ResourceQuotaStatus> {
  using T = model::ResourceQuotaStatus;
  static constexpr auto kTable = std::tuple{
      Field<1>("hard", &T::hard),
      Field<2>("used", &T::used),
  };
};

template <>
struct Fields<model::ResourceQuota> {
  using T = model::ResourceQuota;
  static constexpr auto kTable = std::tuple{
      Field<1>("metadata", &T::metadata),
      Field<2>("spec", &T::spec),
      Field<3>("status", &T::status),
  };
};

}  // namespace coppice::wire
