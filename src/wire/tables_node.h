// Tables of core/v1 Node. See fields.h.
#pragma once

#include "wire/tables_pod.h"

namespace coppice::wire {

template <>
struct Fields<model::Taint> {
  using T = model::Taint;
  static constexpr auto kTable = std::tuple{
      Field<1>("key", &T::key, Empty::kWritten),
      Field<2>("value", &T::value),
      Field<3>("effect", &T::effect, Empty::kWritten),
      Field<4>("timeAdded", &T::time_added),
  };
};

template <>
struct Fields<model::NodeSpec> {
  using T = model::NodeSpec;
  static constexpr auto kTable = std::tuple{
      Field<1>("podCIDR", &T::pod_cidr),
      Field<3>("providerID", &T::provider_id),
      Field<4>("unschedulable", &T::unschedulable),
      Field<5>("taints", &T::taints),
      Field<7>("podCIDRs", &T::pod_cidrs),
  };
};

template <>
struct Fields<model::NodeCondition> {
  using T = model::NodeCondition;
  static constexpr auto kTable = std::tuple{
      Field<1>("type", &T::type, Empty::kWritten),
      Field<2>("status", &T::status, Empty::kWritten),
      Field<3>("lastHeartbeatTime", &T::last_heartbeat_time),
      Field<4>("lastTransitionTime", &T::last_transition_time),
      Field<5>("reason", &T::reason),
      Field<6>("message", &T::message),
  };
};

template <>
struct Fields<model::NodeAddress> {
  using T = model::NodeAddress;
  static constexpr auto kTable = std::tuple{
      Field<1>("type", &T::type, Empty::kWritten),
      Field<2>("address", &T::address, Empty::kWritten),
  };
};

template <>
struct Fields<model::NodeSystemInfo> {
  using T = model::NodeSystemInfo;
  static constexpr auto kTable = std::tuple{
      Field<7>("kubeletVersion", &T::kubelet_version, Empty::kWritten),
      Field<9>("operatingSystem", &T::operating_system, Empty::kWritten),
      Field<10>("architecture", &T::architecture, Empty::kWritten),
  };
};

template <>
struct Fields<model::NodeStatus> {
  using T = model::NodeStatus;
  static constexpr auto kTable = std::tuple{
      Field<1>("capacity", &T::capacity),     Field<2>("allocatable", &T::allocatable),
      Field<4>("conditions", &T::conditions), Field<5>("addresses", &T::addresses),
      Field<7>("nodeInfo", &T::node_info),    Field<14>("declaredFeatures", &T::declared_features),
  };
};

template <>
struct Fields<model::Node> {
  using T = model::Node;
  static constexpr auto kTable = std::tuple{
      Field<1>("metadata", &T::metadata),
      Field<2>("spec", &T::spec),
      Field<3>("status", &T::status),
  };
};

}  // namespace coppice::wire
