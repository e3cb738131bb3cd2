// Tables of what every object has. See fields.h.
#pragma once

#include "wire/fields.h"

namespace coppice::wire {

template <>
struct Fields<model::OwnerReference> {
  using T = model::OwnerReference;
  static constexpr auto kTable = std::tuple{
      Field<1>("kind", &T::kind, Empty::kWritten),
      Field<3>("name", &T::name, Empty::kWritten),
      Field<4>("uid", &T::uid, Empty::kWritten),
      Field<5>("apiVersion", &T::api_version, Empty::kWritten),
      Field<6>("controller", &T::controller),
      Field<7>("blockOwnerDeletion", &T::block_owner_deletion),
  };
};

template <>
struct Fields<model::ObjectMeta> {
  using T = model::ObjectMeta;
  static constexpr auto kTable = std::tuple{
      Field<1>("name", &T::name),
      Field<2>("generateName", &T::generate_name),
      Field<3>("namespace", &T::namespace_),
      Field<5>("uid", &T::uid),
      Field<6>("resourceVersion", &T::resource_version),
      Field<7>("generation", &T::generation),
      Field<8>("creationTimestamp", &T::creation_timestamp),
      Field<9>("deletionTimestamp", &T::deletion_timestamp),
      Field<10>("deletionGracePeriodSeconds", &T::deletion_grace_period_seconds),
      Field<11>("labels", &T::labels),
      Field<12>("annotations", &T::annotations),
      Field<13>("ownerReferences", &T::owner_references),
      Field<14>("finalizers", &T::finalizers),
  };
};

template <>
struct Fields<model::ListMeta> {
  using T = model::ListMeta;
  static constexpr auto kTable = std::tuple{
      Field<2>("resourceVersion", &T::resource_version),
      Field<3>("continue", &T::continue_),
      Field<4>("remainingItemCount", &T::remaining_item_count),
  };
};

template <>
struct Fields<model::Condition> {
  using T = model::Condition;
  static constexpr auto kTable = std::tuple{
      Field<1>("type", &T::type, Empty::kWritten),
      Field<2>("status", &T::status, Empty::kWritten),
      Field<3>("observedGeneration", &T::observed_generation),
      Field<4>("lastTransitionTime", &T::last_transition_time),
      Field<5>("reason", &T::reason, Empty::kWritten),
      Field<6>("message", &T::message, Empty::kWritten),
  };
};

template <>
struct Fields<model::LabelSelectorRequirement> {
  using T = model::LabelSelectorRequirement;
  static constexpr auto kTable = std::tuple{
      Field<1>("key", &T::key, Empty::kWritten),
      Field<2>("operator", &T::operator_, Empty::kWritten),
      Field<3>("values", &T::values),
  };
};

template <>
struct Fields<model::LabelSelector> {
  using T = model::LabelSelector;
  static constexpr auto kTable = std::tuple{
      Field<1>("matchLabels", &T::match_labels),
      Field<2>("matchExpressions", &T::match_expressions),
  };
};

template <>
struct Fields<model::ObjectReference> {
  using T = model::ObjectReference;
  static constexpr auto kTable = std::tuple{
      Field<1>("kind", &T::kind),
      Field<2>("namespace", &T::namespace_),
      Field<3>("name", &T::name),
      Field<4>("uid", &T::uid),
      Field<5>("apiVersion", &T::api_version),
      Field<6>("resourceVersion", &T::resource_version),
      Field<7>("fieldPath", &T::field_path),
  };
};

}  // namespace coppice::wire
