// The small objects that the program itself lives by: namespaces, config maps, services, leases,
// events. Conventions: meta.h.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "model/meta.h"

namespace coppice::model {

struct NamespaceSpec {
  std::vector<std::string> finalizers;
  friend bool operator==(const NamespaceSpec&, const NamespaceSpec&) = default;
};

struct NamespaceStatus {
  std::string phase;  // Active, Terminating
  friend bool operator==(const NamespaceStatus&, const NamespaceStatus&) = default;
};

struct Namespace {
  ObjectMeta metadata;
  NamespaceSpec spec;
  NamespaceStatus status;
  friend bool operator==(const Namespace&, const Namespace&) = default;
};

// Base64 in JSON, as it is in protobuf.
struct Bytes {
  std::string data;
  friend bool operator==(const Bytes&, const Bytes&) = default;
};

struct ConfigMap {
  ObjectMeta metadata;
  std::optional<bool> immutable;
  FlatMap<std::string> data;
  FlatMap<Bytes> binary_data;
  friend bool operator==(const ConfigMap&, const ConfigMap&) = default;
};

struct ServicePort {
  std::string name;
  std::string protocol;
  int32_t port = 0;
  IntOrString target_port;
  int32_t node_port = 0;
  friend bool operator==(const ServicePort&, const ServicePort&) = default;
};

struct ServiceSpec {
  std::vector<ServicePort> ports;
  Labels selector;
  std::string cluster_ip;
  std::string type;
  friend bool operator==(const ServiceSpec&, const ServiceSpec&) = default;
};

struct Service {
  ObjectMeta metadata;
  ServiceSpec spec;
  friend bool operator==(const Service&, const Service&) = default;
};

struct LeaseSpec {
  std::optional<std::string> holder_identity;
  std::optional<int32_t> lease_duration_seconds;
  std::optional<MicroTime> acquire_time;
  std::optional<MicroTime> renew_time;
  std::optional<int32_t> lease_transitions;
  std::optional<std::string> strategy;
  std::optional<std::string> preferred_holder;
  friend bool operator==(const LeaseSpec&, const LeaseSpec&) = default;
};

struct Lease {
  ObjectMeta metadata;
  LeaseSpec spec;
  friend bool operator==(const Lease&, const Lease&) = default;
};

struct EventSource {
  std::string component;
  std::string host;
  friend bool operator==(const EventSource&, const EventSource&) = default;
};

struct EventSeries {
  int32_t count = 0;
  std::optional<MicroTime> last_observed_time;
  friend bool operator==(const EventSeries&, const EventSeries&) = default;
};

struct Event {  // core/v1
  ObjectMeta metadata;
  ObjectReference involved_object;
  std::string reason;
  std::string message;
  EventSource source;
  std::optional<Time> first_timestamp;
  std::optional<Time> last_timestamp;
  int32_t count = 0;
  std::string type;  // Normal, Warning
  std::optional<MicroTime> event_time;
  std::optional<EventSeries> series;
  std::string action;
  std::optional<ObjectReference> related;
  std::string reporting_component;
  std::string reporting_instance;
  friend bool operator==(const Event&, const Event&) = default;
};

struct EventsEvent {  // events.k8s.io/v1: the same objects, other names
  ObjectMeta metadata;
  std::optional<MicroTime> event_time;
  std::optional<EventSeries> series;
  std::string reporting_controller;
  std::string reporting_instance;
  std::string action;
  std::string reason;
  ObjectReference regarding;
  std::optional<ObjectReference> related;
  std::string note;
  std::string type;
  EventSource deprecated_source;
  std::optional<Time> deprecated_first_timestamp;
  std::optional<Time> deprecated_last_timestamp;
  int32_t deprecated_count = 0;
  friend bool operator==(const EventsEvent&, const EventsEvent&) = default;
};

}  // namespace coppice::model
