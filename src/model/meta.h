// What every Kubernetes object has: metadata, times, selectors. Plain values; bytes are wire's
// business.
//
// Conventions of all object headers: a member is named as the API's field in snake_case; what is a
// pointer in the API (absent differs from empty) is std::optional; enumerations stay text, for an
// unknown one must survive; == compares everything that we keep.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "model/flat_map.h"
#include "model/rare.h"

namespace coppice::model {

struct Time {  // metav1.Time: whole seconds in JSON
  TimePoint at;
  friend auto operator<=>(const Time&, const Time&) = default;
};

struct MicroTime {  // metav1.MicroTime: six digits in JSON
  TimePoint at;
  friend auto operator<=>(const MicroTime&, const MicroTime&) = default;
};

struct IntOrString {
  bool is_string = false;
  int32_t number = 0;
  std::string text;
  friend bool operator==(const IntOrString&, const IntOrString&) = default;
};

struct OwnerReference {
  std::string api_version;
  std::string kind;
  std::string name;
  std::string uid;
  std::optional<bool> controller;
  std::optional<bool> block_owner_deletion;
  friend bool operator==(const OwnerReference&, const OwnerReference&) = default;
};

// Why an object could not be read, and where: "spec.volumes[0].emptyDir.sizeLimit: ...".
struct Unreadable {
  std::string what;
  std::string reason;  // one of a few words, for a metric: "quantity", "time", "malformed", ...
  friend bool operator==(const Unreadable&, const Unreadable&) = default;
};

struct ObjectMeta {
  std::string name;
  std::string generate_name;
  std::string namespace_;
  std::string uid;
  std::string resource_version;
  int64_t generation = 0;
  std::optional<Time> creation_timestamp;
  std::optional<Time> deletion_timestamp;
  std::optional<int64_t> deletion_grace_period_seconds;
  Labels labels;
  Labels annotations;
  std::vector<OwnerReference> owner_references;
  std::vector<std::string> finalizers;
  // Not of the API: something in the object could not be read. It is there, and its other fields
  // are as sent, but of nothing that is absent can be said that it is.
  Rare<Unreadable> unreadable;
  friend bool operator==(const ObjectMeta&, const ObjectMeta&) = default;
};

// The owner with controller=true, or null.
const OwnerReference* ControllerOf(const ObjectMeta& meta);

struct ListMeta {
  std::string resource_version;
  std::string continue_;
  std::optional<int64_t> remaining_item_count;
  friend bool operator==(const ListMeta&, const ListMeta&) = default;
};

struct Condition {  // metav1.Condition; pods, nodes and workloads have their own
  std::string type;
  std::string status;
  int64_t observed_generation = 0;
  std::optional<Time> last_transition_time;
  std::string reason;
  std::string message;
  friend bool operator==(const Condition&, const Condition&) = default;
};

struct LabelSelectorRequirement {
  std::string key;
  std::string operator_;  // In, NotIn, Exists, DoesNotExist
  std::vector<std::string> values;
  friend bool operator==(const LabelSelectorRequirement&,
                         const LabelSelectorRequirement&) = default;
};

struct LabelSelector {
  Labels match_labels;
  std::vector<LabelSelectorRequirement> match_expressions;
  friend bool operator==(const LabelSelector&, const LabelSelector&) = default;
};

struct ObjectReference {
  std::string kind;
  std::string namespace_;
  std::string name;
  std::string uid;
  std::string api_version;
  std::string resource_version;
  std::string field_path;
  friend bool operator==(const ObjectReference&, const ObjectReference&) = default;
};

}  // namespace coppice::model
