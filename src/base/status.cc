#include "base/status.h"

#include <array>

namespace coppice {

std::string_view ToString(Code code) {
  static constexpr std::array<std::string_view, 17> kNames = {
      "OK",       "Cancelled",      "Unknown",          "InvalidArgument",   "DeadlineExceeded",
      "NotFound", "AlreadyExists",  "PermissionDenied", "ResourceExhausted", "FailedPrecondition",
      "Aborted",  "OutOfRange",     "Unimplemented",    "Internal",          "Unavailable",
      "DataLoss", "Unauthenticated"};
  const auto index = static_cast<size_t>(code);
  return index < kNames.size() ? kNames[index] : "Unknown";
}

Status Status::Context(std::string_view where) const {
  if (ok()) return *this;
  std::string text(where);
  text += ": ";
  text += message_;
  return {code_, std::move(text)};
}

std::string Status::ToString() const {
  if (ok()) return "OK";
  std::string text(coppice::ToString(code_));
  text += ": ";
  text += message_;
  return text;
}

std::ostream& operator<<(std::ostream& out, const Status& status) {
  return out << status.ToString();
}

}  // namespace coppice
