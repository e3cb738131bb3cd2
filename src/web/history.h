// History: the pictures of the last day, to go back along. A picture per segment and the deltas
// behind it, compressed when the segment is full; the oldest segments go when time or memory is
// over. Beside them the numbers of the timeline.
//
// One thread at a time (story.h holds the lock).

#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "web/picture.h"

namespace coppice::web {

struct HistoryOptions {
  Duration keep = std::chrono::hours(24);
  size_t most_bytes = 64 << 20;
  Duration step = std::chrono::seconds(10);     // between two pictures that are kept
  Duration segment = std::chrono::minutes(10);  // between two whole ones
};

class History {
 public:
  explicit History(HistoryOptions options = {}) : options_(options) {}

  // Sooner than a step after the last it is not kept. If the clock was set back by more than that,
  // what was kept under times that are still to come goes: they will be used again.
  void Add(const Picture& picture, const Sample& sample);

  struct Moment {
    Picture picture;
    TimePoint at;
  };
  // The last that is kept of then or before, else the first of all; absent: nothing is kept.
  std::optional<Moment> At(TimePoint when) const;
  std::optional<TimePoint> begin() const;
  size_t bytes() const { return bytes_; }

  // At most so many samples between the two, as JSON: {"at":[...],"nodes":[...],...}. Of those
  // that fall together the one with most pods waiting is shown, for peaks are what is looked for.
  std::string Timeline(TimePoint from, TimePoint to, size_t points) const;

 private:
  struct Segment {
    TimePoint from;
    std::string text;       // open: Packed() deltas one after the other; closed: compressed
    size_t text_bytes = 0;  // before compression
    bool closed = false;
  };

  void Close(Segment& segment);
  void GoBackTo(TimePoint now);
  void Forget(TimePoint now);
  void Count(const Segment& segment, bool add);

  const HistoryOptions options_;
  std::deque<Segment> segments_;
  std::deque<Sample> samples_;
  Picture last_;  // of the newest delta
  size_t bytes_ = 0;
};

// A delta with its time as bytes, and back; what is not such bytes is refused.
void Pack(const Delta& delta, TimePoint at, std::string& out);
Result<Delta> Unpack(std::string_view& bytes, TimePoint& at);

}  // namespace coppice::web
