// RFC 3339 by hand: what the standard library of our compilers cannot do.

#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"

namespace coppice::wire {

// "2026-01-02T03:04:05Z", with any zone offset and any number of fractional digits. Nothing for
// text that is not a time and for years that nanoseconds since 1970 cannot hold (before 1678, after
// 2261).
std::optional<TimePoint> ParseRfc3339(std::string_view text);

// The same with exactly six fractional digits: all that the API server takes for a MicroTime.
std::optional<TimePoint> ParseRfc3339Micro(std::string_view text);

// Go's zero time, which Kubernetes means by "no time": 0001-01-01T00:00:00Z.
bool IsGoZeroTime(std::string_view text);

std::string FormatRfc3339(TimePoint time);       // whole seconds, rounded down
std::string FormatRfc3339Micro(TimePoint time);  // six digits, rounded down

// As protobuf has it. False if nanoseconds since 1970 cannot hold it.
bool FromSecondsAndNanos(int64_t seconds, int32_t nanos, TimePoint& out);

}  // namespace coppice::wire
