// What the API server's refusals mean: HTTP status, its own Status object (protobuf or JSON) or
// plain text, made into one value and into our Status.

#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "model/api.h"

namespace coppice::wire {

struct ApiError {
  int http_status = 0;
  std::string reason;  // NotFound, Conflict, Expired, ...; empty if the answer had no Status
  std::string message;
  std::vector<model::StatusCause> causes;
  std::optional<std::chrono::seconds> retry_after;
  std::string continue_;  // of an expired list: a token with which it can go on, inconsistently

  bool HasCause(std::string_view cause) const;  // "DisruptionBudget", "ResourceVersionTooLarge"
  Code code() const;
  // "Conflict: Operation cannot be fulfilled on ..."
  Status ToStatus() const;
};

// Of an ERROR watch event, which comes with HTTP status 200.
ApiError ErrorFromStatus(const model::ApiStatus& status);

// Of an answer. `retry_after` is the header's text, or empty; it counts for more than the body's.
ApiError ErrorFromAnswer(int http_status, std::string_view content_type,
                         std::string_view retry_after, std::string_view body);

}  // namespace coppice::wire
