// Status and Result<T>: how a failure of something outside is passed on.
//
// Codes are gRPC's, so that a failure keeps its meaning from the cloud to the caller of an RPC. A
// message reads from the outside in: Context("listing machines") puts "listing machines: " in
// front. For an answer of "no" use model::Verdict; for a bug use CHECK.

#pragma once

#include <concepts>
#include <ostream>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>

#include "base/check.h"

namespace coppice {

// Numbers as on the gRPC wire.
enum class Code {
  kOk = 0,
  kCancelled = 1,
  kUnknown = 2,
  kInvalidArgument = 3,
  kDeadlineExceeded = 4,
  kNotFound = 5,
  kAlreadyExists = 6,
  kPermissionDenied = 7,
  kResourceExhausted = 8,
  kFailedPrecondition = 9,
  kAborted = 10,
  kOutOfRange = 11,
  kUnimplemented = 12,
  kInternal = 13,
  kUnavailable = 14,
  kDataLoss = 15,
  kUnauthenticated = 16,
};

// "NotFound", "ResourceExhausted", ... as gRPC spells them.
std::string_view ToString(Code code);

class [[nodiscard]] Status {
 public:
  Status() = default;  // OK
  Status(Code code, std::string message) : code_(code), message_(std::move(message)) {}

  static Status Ok() { return {}; }

  bool ok() const { return code_ == Code::kOk; }
  Code code() const { return code_; }
  const std::string& message() const { return message_; }

  // The same failure with "where: " in front of its text; OK stays OK.
  Status Context(std::string_view where) const;

  // "NotFound: no such group" or "OK".
  std::string ToString() const;

  friend bool operator==(const Status&, const Status&) = default;

 private:
  Code code_ = Code::kOk;
  std::string message_;
};

std::ostream& operator<<(std::ostream& out, const Status& status);

inline Status InvalidArgument(std::string m) { return {Code::kInvalidArgument, std::move(m)}; }
inline Status NotFound(std::string m) { return {Code::kNotFound, std::move(m)}; }
inline Status AlreadyExists(std::string m) { return {Code::kAlreadyExists, std::move(m)}; }
inline Status FailedPrecondition(std::string m) {
  return {Code::kFailedPrecondition, std::move(m)};
}
inline Status ResourceExhausted(std::string m) { return {Code::kResourceExhausted, std::move(m)}; }
inline Status Unavailable(std::string m) { return {Code::kUnavailable, std::move(m)}; }
inline Status DeadlineExceeded(std::string m) { return {Code::kDeadlineExceeded, std::move(m)}; }
inline Status Cancelled(std::string m) { return {Code::kCancelled, std::move(m)}; }
inline Status PermissionDenied(std::string m) { return {Code::kPermissionDenied, std::move(m)}; }
inline Status Unauthenticated(std::string m) { return {Code::kUnauthenticated, std::move(m)}; }
inline Status Unimplemented(std::string m) { return {Code::kUnimplemented, std::move(m)}; }
inline Status Internal(std::string m) { return {Code::kInternal, std::move(m)}; }

// A T, or why there is none.
template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value)
      : state_(std::in_place_index<0>, std::move(value)) {}  // NOLINT: implicit on purpose
  Result(Status status) : state_(std::in_place_index<1>, std::move(status)) {  // NOLINT
    CHECK(!std::get<1>(state_).ok());
  }

  // From what converts to T, so that a function may return the derived object it has made.
  template <class U>
    requires(!std::same_as<std::remove_cvref_t<U>, Result> &&
             !std::same_as<std::remove_cvref_t<U>, Status> &&
             !std::same_as<std::remove_cvref_t<U>, T> && std::convertible_to<U &&, T>)
  Result(U&& value) : state_(std::in_place_index<0>, std::forward<U>(value)) {}  // NOLINT

  bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }

  Status status() const { return ok() ? Status::Ok() : std::get<1>(state_); }
  Code code() const { return ok() ? Code::kOk : std::get<1>(state_).code(); }

  T& value() & {
    CHECK(ok());
    return std::get<0>(state_);
  }
  const T& value() const& {
    CHECK(ok());
    return std::get<0>(state_);
  }
  T&& value() && {
    CHECK(ok());
    return std::get<0>(std::move(state_));
  }

  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

  Result Context(std::string_view where) && {
    if (ok()) return std::move(*this);
    return std::get<1>(state_).Context(where);
  }

 private:
  std::variant<T, Status> state_;
};

namespace internal {
// For COPPICE_TRY alone, where the argument outlives the expression.
// NOLINTNEXTLINE(bugprone-return-const-ref-from-parameter)
inline const Status& StatusOf(const Status& status) { return status; }
template <class T>
Status StatusOf(const Result<T>& result) {
  return result.status();
}
inline void ValueOf(Status&&) {}
template <class T>
T ValueOf(Result<T>&& result) {
  return std::move(result).value();
}
}  // namespace internal

}  // namespace coppice

// `auto machines = TRY(cloud.List(tags, deadline).Context("listing machines"));` leaves the
// enclosing function with the failure, or yields the value. Not for coroutines: co_return the
// status there.
#define TRY(...) COPPICE_TRY_NUMBERED(__COUNTER__, __VA_ARGS__)

// A variable of its own for each use, so that one may stand inside another.
#define COPPICE_TRY_NUMBERED(number, ...) COPPICE_TRY_PASTED(number, __VA_ARGS__)
#define COPPICE_TRY_PASTED(number, ...) COPPICE_TRY_AS(coppice_try_##number, __VA_ARGS__)
#define COPPICE_TRY_AS(result, ...)                                 \
  __extension__({                                                   \
    auto result = (__VA_ARGS__);                                    \
    if (!result.ok()) return ::coppice::internal::StatusOf(result); \
    ::coppice::internal::ValueOf(std::move(result));                \
  })
