// Hours in which a zone's nodes may be lent: "10:00-21:00", in UTC or at a fixed distance from it.

#pragma once

#include <optional>
#include <string_view>

#include "base/clock.h"
#include "base/status.h"

namespace coppice::batch::tdm {

class Window {
 public:
  // "HH:MM-HH:MM". An end that is not after the beginning is on the next day.
  static Result<Window> Parse(std::string_view text);

  // `offset` is what local clocks show beyond UTC. Upstream sees a window over midnight only from
  // its beginning to the end of that day; with `only_today` so do we.
  bool Contains(TimePoint now, Duration offset, bool only_today) const;

 private:
  Duration begin_{};  // since midnight
  Duration end_{};    // since the same midnight; may be beyond the next one
};

// "+08:00", "-03:30".
Result<Duration> ParseUtcOffset(std::string_view text);

}  // namespace coppice::batch::tdm
