// What the API server says around objects: lists, watch events, its own Status, bare metadata.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "model/meta.h"

namespace coppice::model {

template <class T>
struct List {
  ListMeta metadata;
  std::vector<T> items;
  friend bool operator==(const List&, const List&) = default;
};

struct StatusCause {
  std::string reason;
  std::string message;
  std::string field;
  friend bool operator==(const StatusCause&, const StatusCause&) = default;
};

struct StatusDetails {
  std::string name;
  std::string group;
  std::string kind;
  std::string uid;
  std::vector<StatusCause> causes;
  int32_t retry_after_seconds = 0;
  friend bool operator==(const StatusDetails&, const StatusDetails&) = default;
};

struct ApiStatus {  // metav1.Status, which is an object of its own and not our base Status
  ListMeta metadata;
  std::string status;  // Success, Failure
  std::string message;
  std::string reason;  // NotFound, Conflict, Expired, ...
  std::optional<StatusDetails> details;
  int32_t code = 0;  // HTTP's
  friend bool operator==(const ApiStatus&, const ApiStatus&) = default;
};

struct PartialObjectMetadata {
  ObjectMeta metadata;
  friend bool operator==(const PartialObjectMetadata&, const PartialObjectMetadata&) = default;
};

enum class WatchType { kAdded, kModified, kDeleted, kBookmark, kError };

template <class T>
struct WatchEvent {
  WatchType type = WatchType::kAdded;
  T object;  // empty for kError; for kBookmark only metadata.resource_version (and annotations)
             // count
  ApiStatus error;  // for kError
  friend bool operator==(const WatchEvent&, const WatchEvent&) = default;
};

}  // namespace coppice::model
