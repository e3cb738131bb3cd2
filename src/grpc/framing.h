// How gRPC puts messages, times and texts into HTTP/2. Internal to this module.

#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"

namespace coppice::grpc {

inline constexpr size_t kPrefix = 5;  // of a message: compressed or not, and its length

// Of a prefix that is whole.
size_t LengthOf(std::string_view prefix);
void WritePrefix(char* out, size_t length);

// gRPC's way to put any text into a header; a long one is cut.
std::string PercentEncode(std::string_view text);

// Back again; what is no escape stays as it is.
std::string PercentDecode(std::string_view text);

// "5S", "250m": up to eight digits and a unit. Absent when it is nothing of the kind.
std::optional<Duration> ParseTimeout(std::string_view text);
// In the finest unit that has room for it, rounded up; no time at all is one microsecond.
std::string FormatTimeout(Duration time);

}  // namespace coppice::grpc
