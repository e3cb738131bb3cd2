#include "wire/api_error.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "wire/wire.h"

namespace coppice::wire {
namespace {

// The reasons that mean something else than their HTTP status does.
constexpr std::array<std::pair<std::string_view, Code>, 4> kByReason = {{
    {"AlreadyExists", Code::kAlreadyExists},  // 409
    {"Conflict", Code::kAborted},             // 409: read it again and try again
    {"Expired", Code::kOutOfRange},           // 410: list again
    {"Gone", Code::kOutOfRange},
}};

constexpr std::array<std::pair<int, Code>, 16> kByHttpStatus = {{
    {400, Code::kInvalidArgument},
    {401, Code::kUnauthenticated},
    {403, Code::kPermissionDenied},
    {404, Code::kNotFound},
    {405, Code::kUnimplemented},
    {406, Code::kUnimplemented},
    {408, Code::kDeadlineExceeded},
    {409, Code::kAborted},
    {410, Code::kOutOfRange},
    {413, Code::kResourceExhausted},
    {415, Code::kUnimplemented},
    {422, Code::kInvalidArgument},
    {429, Code::kResourceExhausted},
    {500, Code::kInternal},
    {503, Code::kUnavailable},
    {504, Code::kDeadlineExceeded},
}};

std::optional<std::chrono::seconds> ParseSeconds(std::string_view text) {
  int seconds = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seconds);
  // The other form, a date, is not what the API server sends.
  if (error != std::errc() || end != text.data() + text.size() || seconds < 0) return std::nullopt;
  return std::chrono::seconds(seconds);
}

std::string_view FirstLine(std::string_view text) {
  return text.substr(0, std::min(text.find('\n'), size_t{500}));
}

}  // namespace

bool ApiError::HasCause(std::string_view cause) const {
  return std::ranges::any_of(causes, [&](const auto& c) { return c.reason == cause; });
}

Code ApiError::code() const {
  const auto by_reason =
      std::ranges::find(kByReason, reason, &std::pair<std::string_view, Code>::first);
  if (by_reason != kByReason.end()) return by_reason->second;
  const auto by_status =
      std::ranges::find(kByHttpStatus, http_status, &std::pair<int, Code>::first);
  if (by_status != kByHttpStatus.end()) return by_status->second;
  if (http_status >= 500) return Code::kUnavailable;
  return http_status >= 400 ? Code::kInvalidArgument : Code::kUnknown;
}

Status ApiError::ToStatus() const {
  return {code(), reason.empty() ? message : reason + ": " + message};
}

ApiError ErrorFromStatus(const model::ApiStatus& status) {
  ApiError error{.http_status = status.code,
                 .reason = status.reason,
                 .message = status.message,
                 .continue_ = status.metadata.continue_};
  if (status.details) {
    error.causes = status.details->causes;
    if (status.details->retry_after_seconds > 0) {
      error.retry_after = std::chrono::seconds(status.details->retry_after_seconds);
    }
  }
  return error;
}

ApiError ErrorFromAnswer(int http_status, std::string_view content_type,
                         std::string_view retry_after, std::string_view body) {
  ApiError error;
  const bool is_text = content_type.starts_with("text/");
  if (const auto status = is_text ? Result<model::ApiStatus>(InvalidArgument("text"))
                                  : FromBytes<model::ApiStatus>(body);
      status.ok()) {
    error = ErrorFromStatus(*status);
  } else {
    // A proxy in between, an unknown path, or a half answer: say what it said.
    error.message = "HTTP status " + std::to_string(http_status);
    if (is_text && !body.empty()) error.message += ": " + std::string(FirstLine(body));
  }
  error.http_status = http_status;
  if (const auto seconds = ParseSeconds(retry_after)) error.retry_after = seconds;
  return error;
}

}  // namespace coppice::wire
