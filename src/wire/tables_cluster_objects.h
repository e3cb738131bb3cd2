// Tables of namespaces, config maps, services, leases and events. See fields.h.
#pragma once

#include "wire/tables_meta.h"

namespace coppice::wire {

template <>
struct Fields<model::NamespaceSpec> {
  using T = model::NamespaceSpec;
  static constexpr auto kTable = std::tuple{
      Field<1>("finalizers", &T::finalizers),
  };
};

template <>
struct Fields<model::NamespaceStatus> {
  using T = model::NamespaceStatus;
  static constexpr auto kTable = std::tuple{
      Field<1>("phase", &T::phase),
  };
};

template <>
struct Fields<model::Namespace> {
  using T = model::Namespace;
  static constexpr auto kTable = std::tuple{
      Field<1>("metadata", &T::metadata),
      Field<2>("spec", &T::spec),
      Field<3>("status", &T::status),
  };
};

template <>
struct Fields<model::ConfigMap> {
  using T = model::ConfigMap;
  static constexpr auto kTable = std::tuple{
      Field<1>("metadata", &T::metadata),
      Field<2>("data", &T::data),
      Field<3>("binaryData", &T::binary_data),
      Field<4>("immutable", &T::immutable),
  };
};

template <>
struct Fields<model::ServicePort> {
  using T = model::ServicePort;
  static constexpr auto kTable = std::tuple{
      Field<1>("name", &T::name),
      Field<2>("protocol", &T::protocol),
      Field<3>("port", &T::port, Empty::kWritten),
      Field<4>("targetPort", &T::target_port),
      Field<5>("nodePort", &T::node_port),
  };
};

template <>
struct Fields<model::ServiceSpec> {
  using T = model::ServiceSpec;
  static constexpr auto kTable = std::tuple{
      Field<1>("ports", &T::ports),
      Field<2>("selector", &T::selector),
      Field<3>("clusterIP", &T::cluster_ip),
      Field<4>("type", &T::type),
  };
};

template <>
struct Fields<model::Service> {
  using T = model::Service;
  static constexpr auto kTable = std::tuple{
      Field<1>("metadata", &T::metadata),
      Field<2>("spec", &T::spec),
  };
};

template <>
struct Fields<model::LeaseSpec> {
  using T = model::LeaseSpec;
  static constexpr auto kTable = std::tuple{
      Field<1>("holderIdentity", &T::holder_identity),
      Field<2>("leaseDurationSeconds", &T::lease_duration_seconds),
      Field<3>("acquireTime", &T::acquire_time),
      Field<4>("renewTime", &T::renew_time),
      Field<5>("leaseTransitions", &T::lease_transitions),
      Field<6>("strategy", &T::strategy),
      Field<7>("preferredHolder", &T::preferred_holder),
  };
};

template <>
struct Fields<model::Lease> {
  using T = model::Lease;
  static constexpr auto kTable = std::tuple{
      Field<1>("metadata", &T::metadata),
      Field<2>("spec", &T::spec),
  };
};

template <>
struct Fields<model::EventSource> {
  using T = model::EventSource;
  static constexpr auto kTable = std::tuple{
      Field<1>("component", &T::component),
      Field<2>("host", &T::host),
  };
};

template <>
struct Fields<model::EventSeries> {
  using T = model::EventSeries;
  static constexpr auto kTable = std::tuple{
      Field<1>("count", &T::count),
      Field<2>("lastObservedTime", &T::last_observed_time),
  };
};

template <>
struct Fields<model::Event> {
  using T = model::Event;
  static constexpr auto kTable = std::tuple{
      Field<1>("metadata", &T::metadata),
      Field<2>("involvedObject", &T::involved_object),
      Field<3>("reason", &T::reason),
      Field<4>("message", &T::message),
      Field<5>("source", &T::source),
      Field<6>("firstTimestamp", &T::first_timestamp),
      Field<7>("lastTimestamp", &T::last_timestamp),
      Field<8>("count", &T::count),
      Field<9>("type", &T::type),
      Field<10>("eventTime", &T::event_time),
      Field<11>("series", &T::series),
      Field<12>("action", &T::action),
      Field<13>("related", &T::related),
      Field<14>("reportingComponent", &T::reporting_component, Empty::kWritten),
      Field<15>("reportingInstance", &T::reporting_instance, Empty::kWritten),
  };
};

template <>
struct Fields<model::EventsEvent> {
  using T = model::EventsEvent;
  static constexpr auto kTable = std::tuple{
      Field<1>("metadata", &T::metadata),
      Field<2>("eventTime", &T::event_time),
      Field<3>("series", &T::series),
      Field<4>("reportingController", &T::reporting_controller),
      Field<5>("reportingInstance", &T::reporting_instance),
      Field<6>("action", &T::action),
      Field<7>("reason", &T::reason),
      Field<8>("regarding", &T::regarding),
      Field<9>("related", &T::related),
      Field<10>("note", &T::note),
      Field<11>("type", &T::type),
      Field<12>("deprecatedSource", &T::deprecated_source),
      Field<13>("deprecatedFirstTimestamp", &T::deprecated_first_timestamp),
      Field<14>("deprecatedLastTimestamp", &T::deprecated_last_timestamp),
      Field<15>("deprecatedCount", &T::deprecated_count),
  };
};

}  // namespace coppice::wire
