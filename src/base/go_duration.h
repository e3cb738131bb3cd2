// Durations as Go writes them, because that is what flags, configuration files and ConfigMaps of
// the Kubernetes world hold: "300ms", "-1.5h", "2h45m".

#pragma once

#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/status.h"

namespace coppice {

// A bare number other than 0 is refused, as Go does: nobody knows its unit. InvalidArgument says
// why.
Result<Duration> ParseGoDuration(std::string_view text);

// As Go prints it: "1h0m0s", "250ms", "1.5µs", "0s".
std::string FormatGoDuration(Duration duration);

}  // namespace coppice
