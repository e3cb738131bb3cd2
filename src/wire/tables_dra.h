// Tables of resource.k8s.io/v1. See fields.h.
#pragma once

#include "wire/tables_pod.h"

namespace coppice::wire {

template <>
struct Fields<model::DeviceSelector> {
  using T = model::DeviceSelector;
  static constexpr auto kTable = std::tuple{
      LedGroup<1>("cel", Field<1>("expression", &T::cel_expression)),
  };
};

template <>
struct Fields<model::DeviceToleration> {
  using T = model::DeviceToleration;
  static constexpr auto kTable = std::tuple{
      Field<1>("key", &T::key),
      Field<2>("operator", &T::operator_),
      Field<3>("value", &T::value),
      Field<4>("effect", &T::effect),
      Field<5>("tolerationSeconds", &T::toleration_seconds),
  };
};

template <>
struct Fields<model::CapacityRequirements> {
  using T = model::CapacityRequirements;
  static constexpr auto kTable = std::tuple{
      Field<1>("requests", &T::requests),
  };
};

template <>
struct Fields<model::ExactDeviceRequest> {
  using T = model::ExactDeviceRequest;
  static constexpr auto kTable = std::tuple{
      Field<1>("deviceClassName", &T::device_class_name, Empty::kWritten),
      Field<2>("selectors", &T::selectors),
      Field<3>("allocationMode", &T::allocation_mode),
      Field<4>("count", &T::count),
      Field<5>("adminAccess", &T::admin_access),
      Field<6>("tolerations", &T::tolerations),
      Field<7>("capacity", &T::capacity),
  };
};

template <>
struct Fields<model::DeviceSubRequest> {
  using T = model::DeviceSubRequest;
  static constexpr auto kTable = std::tuple{
      Field<1>("name", &T::name, Empty::kWritten),
      Field<2>("deviceClassName", &T::device_class_name, Empty::kWritten),
      Field<3>("selectors", &T::selectors),
      Field<4>("allocationMode", &T::allocation_mode),
      Field<5>("count", &T::count),
      Field<6>("tolerations", &T::tolerations),
      Field<7>("capacity", &T::capacity),
  };
};

template <>
struct Fields<model::DeviceRequest> {
  using T = model::DeviceRequest;
  static constexpr auto kTable = std::tuple{
      Field<1>("name", &T::name, Empty::kWritten),
      Field<2>("exactly", &T::exactly),
      Field<3>("firstAvailable", &T::first_available),
  };
};

template <>
struct Fields<model::DeviceConstraint> {
  using T = model::DeviceConstraint;
  static constexpr auto kTable = std::tuple{
      Field<1>("requests", &T::requests),
      Field<2>("matchAttribute", &T::match_attribute),
      Field<3>("distinctAttribute", &T::distinct_attribute),
  };
};

template <>
struct Fields<model::DeviceClaim> {
  using T = model::DeviceClaim;
  static constexpr auto kTable = std::tuple{
      Field<1>("requests", &T::requests),
      Field<2>("constraints", &T::constraints),
  };
};

template <>
struct Fields<model::ResourceClaimSpec> {
  using T = model::ResourceClaimSpec;
  static constexpr auto kTable = std::tuple{
      Field<1>("devices", &T::devices),
  };
};

template <>
struct Fields<model::DeviceRequestAllocationResult> {
  using T = model::DeviceRequestAllocationResult;
  static constexpr auto kTable = std::tuple{
      Field<1>("request", &T::request, Empty::kWritten),
      Field<2>("driver", &T::driver, Empty::kWritten),
      Field<3>("pool", &T::pool, Empty::kWritten),
      Field<4>("device", &T::device, Empty::kWritten),
      Field<5>("adminAccess", &T::admin_access),
      Field<6>("tolerations", &T::tolerations),
      Field<7>("bindingConditions", &T::binding_conditions),
      Field<8>("bindingFailureConditions", &T::binding_failure_conditions),
      Field<9>("shareID", &T::share_id),
      Field<10>("consumedCapacity", &T::consumed_capacity),
  };
};

template <>
struct Fields<model::DeviceAllocationResult> {
  using T = model::DeviceAllocationResult;
  static constexpr auto kTable = std::tuple{
      Field<1>("results", &T::results),
  };
};

template <>
struct Fields<model::AllocationResult> {
  using T = model::AllocationResult;
  static constexpr auto kTable = std::tuple{
      Field<1>("devices", &T::devices),
      Field<3>("nodeSelector", &T::node_selector),
      Field<5>("allocationTimestamp", &T::allocation_timestamp),
  };
};

template <>
struct Fields<model::ResourceClaimConsumer> {
  using T = model::ResourceClaimConsumer;
  static constexpr auto kTable = std::tuple{
      Field<1>("apiGroup", &T::api_group),
      Field<3>("resource", &T::resource, Empty::kWritten),
      Field<4>("name", &T::name, Empty::kWritten),
      Field<5>("uid", &T::uid, Empty::kWritten),
  };
};

template <>
struct Fields<model::AllocatedDeviceStatus> {
  using T = model::AllocatedDeviceStatus;
  static constexpr auto kTable = std::tuple{
      Field<1>("driver", &T::driver, Empty::kWritten),
      Field<2>("pool", &T::pool, Empty::kWritten),
      Field<3>("device", &T::device, Empty::kWritten),
      Field<4>("conditions", &T::conditions),
      Field<7>("shareID", &T::share_id),
  };
};

template <>
struct Fields<model::ResourceClaimStatus> {
  using T = model::ResourceClaimStatus;
  static constexpr auto kTable = std::tuple{
      Field<1>("allocation", &T::allocation),
      Field<2>("reservedFor", &T::reserved_for),
      Field<4>("devices", &T::devices),
  };
};

template <>
struct Fields<model::ResourceClaim> {
  using T = model::ResourceClaim;
  static constexpr auto kTable = std::tuple{
      Field<1>("metadata", &T::metadata),
      Field<2>("spec", &T::spec),
      Field<3>("status", &T::status),
  };
};

template <>
struct Fields<model::ResourceClaimTemplateSpec> {
  using T = model::ResourceClaimTemplateSpec;
  static constexpr auto kTable = std::tuple{
      Field<1>("metadata", &T::metadata),
      Field<2>("spec", &T::spec),
  };
};

template <>
struct Fields<model::ResourceClaimTemplate> {
  using T = model::ResourceClaimTemplate;
  static constexpr auto kTable = std::tuple{
      Field<1>("metadata", &T::metadata),
      Field<2>("spec", &T::spec),
  };
};

template <>
struct Fields<model::DeviceAttribute> {
  using T = model::DeviceAttribute;
  static constexpr auto kTable = std::tuple{
      Field<2>("int", &T::int_),        Field<3>("bool", &T::bool_),
      Field<4>("string", &T::string),   Field<5>("version", &T::version),
      Field<6>("ints", &T::ints),       Field<7>("bools", &T::bools),
      Field<8>("strings", &T::strings), Field<9>("versions", &T::versions),
  };
};

template <>
struct Fields<model::CapacityRequestPolicyRange> {
  using T = model::CapacityRequestPolicyRange;
  static constexpr auto kTable = std::tuple{
      Field<1>("min", &T::min),
      Field<2>("max", &T::max),
      Field<3>("step", &T::step),
  };
};

template <>
struct Fields<model::CapacityRequestPolicy> {
  using T = model::CapacityRequestPolicy;
  static constexpr auto kTable = std::tuple{
      Field<1>("default", &T::default_),
      Field<3>("validValues", &T::valid_values),
      Field<4>("validRange", &T::valid_range),
  };
};

template <>
struct Fields<model::DeviceCapacity> {
  using T = model::DeviceCapacity;
  static constexpr auto kTable = std::tuple{
      Field<1>("value", &T::value, Empty::kWritten),
      Field<2>("requestPolicy", &T::request_policy),
  };
};

template <>
struct Fields<model::Counter> {
  using T = model::Counter;
  static constexpr auto kTable = std::tuple{
      Field<1>("value", &T::value, Empty::kWritten),
  };
};

template <>
struct Fields<model::CounterSet> {
  using T = model::CounterSet;
  static constexpr auto kTable = std::tuple{
      Field<1>("name", &T::name, Empty::kWritten),
      Field<2>("counters", &T::counters),
  };
};

template <>
struct Fields<model::DeviceCounterConsumption> {
  using T = model::DeviceCounterConsumption;
  static constexpr auto kTable = std::tuple{
      Field<1>("counterSet", &T::counter_set, Empty::kWritten),
      Field<2>("counters", &T::counters),
  };
};

template <>
struct Fields<model::DeviceTaint> {
  using T = model::DeviceTaint;
  static constexpr auto kTable = std::tuple{
      Field<1>("key", &T::key, Empty::kWritten),
      Field<2>("value", &T::value),
      Field<3>("effect", &T::effect, Empty::kWritten),
      Field<4>("timeAdded", &T::time_added),
  };
};

template <>
struct Fields<model::NodeAllocatableResourceMapping> {
  using T = model::NodeAllocatableResourceMapping;
  static constexpr auto kTable = std::tuple{
      Field<1>("capacityKey", &T::capacity_key),
      Field<2>("allocationMultiplier", &T::allocation_multiplier),
  };
};

template <>
struct Fields<model::Device> {
  using T = model::Device;
  static constexpr auto kTable = std::tuple{
      Field<1>("name", &T::name, Empty::kWritten),
      Field<2>("attributes", &T::attributes),
      Field<3>("capacity", &T::capacity),
      Field<4>("consumesCounters", &T::consumes_counters),
      Field<5>("nodeName", &T::node_name),
      Field<6>("nodeSelector", &T::node_selector),
      Field<7>("allNodes", &T::all_nodes),
      Field<8>("taints", &T::taints),
      Field<9>("bindsToNode", &T::binds_to_node),
      Field<10>("bindingConditions", &T::binding_conditions),
      Field<11>("bindingFailureConditions", &T::binding_failure_conditions),
      Field<12>("allowMultipleAllocations", &T::allow_multiple_allocations),
      Field<13>("nodeAllocatableResourceMappings", &T::node_allocatable_resource_mappings),
  };
};

template <>
struct Fields<model::ResourcePool> {
  using T = model::ResourcePool;
  static constexpr auto kTable = std::tuple{
      Field<1>("name", &T::name, Empty::kWritten),
      Field<2>("generation", &T::generation, Empty::kWritten),
      Field<3>("resourceSliceCount", &T::resource_slice_count, Empty::kWritten),
  };
};

template <>
struct Fields<model::ResourceSliceSpec> {
  using T = model::ResourceSliceSpec;
  static constexpr auto kTable = std::tuple{
      Field<1>("driver", &T::driver, Empty::kWritten),
      Field<2>("pool", &T::pool),
      Field<3>("nodeName", &T::node_name),
      Field<4>("nodeSelector", &T::node_selector),
      Field<5>("allNodes", &T::all_nodes),
      Field<6>("devices", &T::devices),
      Field<7>("perDeviceNodeSelection", &T::per_device_node_selection),
      Field<8>("sharedCounters", &T::shared_counters),
  };
};

template <>
struct Fields<model::ResourceSlice> {
  using T = model::ResourceSlice;
  static constexpr auto kTable = std::tuple{
      Field<1>("metadata", &T::metadata),
      Field<2>("spec", &T::spec),
  };
};

template <>
struct Fields<model::DeviceClassSpec> {
  using T = model::DeviceClassSpec;
  static constexpr auto kTable = std::tuple{
      Field<1>("selectors", &T::selectors),
      Field<4>("extendedResourceName", &T::extended_resource_name),
  };
};

template <>
struct Fields<model::DeviceClass> {
  using T = model::DeviceClass;
  static constexpr auto kTable = std::tuple{
      Field<1>("metadata", &T::metadata),
      Field<2>("spec", &T::spec),
  };
};

}  // namespace coppice::wire
