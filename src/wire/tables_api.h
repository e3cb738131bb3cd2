// Tables of what the API server says around objects. See fields.h.
#pragma once

#include "wire/tables_meta.h"

namespace coppice::wire {

template <class Item>
struct Fields<model::List<Item>> {
  using T = model::List<Item>;
  static constexpr auto kTable = std::tuple{
      Field<1>("metadata", &T::metadata),
      Field<2>("items", &T::items, Empty::kWritten),
  };
};

template <>
struct Fields<model::StatusCause> {
  using T = model::StatusCause;
  static constexpr auto kTable = std::tuple{
      Field<1>("reason", &T::reason),
      Field<2>("message", &T::message),
      Field<3>("field", &T::field),
  };
};

template <>
struct Fields<model::StatusDetails> {
  using T = model::StatusDetails;
  static constexpr auto kTable = std::tuple{
      Field<1>("name", &T::name),
      Field<2>("group", &T::group),
      Field<3>("kind", &T::kind),
      Field<4>("causes", &T::causes),
      Field<5>("retryAfterSeconds", &T::retry_after_seconds),
      Field<6>("uid", &T::uid),
  };
};

template <>
struct Fields<model::ApiStatus> {
  using T = model::ApiStatus;
  static constexpr auto kTable = std::tuple{
      Field<1>("metadata", &T::metadata), Field<2>("status", &T::status),
      Field<3>("message", &T::message),   Field<4>("reason", &T::reason),
      Field<5>("details", &T::details),   Field<6>("code", &T::code),
  };
};

template <>
struct Fields<model::PartialObjectMetadata> {
  using T = model::PartialObjectMetadata;
  static constexpr auto kTable = std::tuple{Field<1>("metadata", &T::metadata)};
};

}  // namespace coppice::wire
