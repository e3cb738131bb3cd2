// Pieces of the lines of a log (recorder.h has them): objects of JSON, a member after the other.

#pragma once

#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/strings.h"

namespace coppice::rehearse {

// `first` opens the object; whoever writes the last one closes it.
inline void PutRaw(std::string& lines, std::string_view key, std::string_view value,
                   bool first = false) {
  lines += first ? "{" : ",";
  AppendJsonString(lines, key);
  lines += ':';
  lines += value;
}

inline void Put(std::string& lines, std::string_view key, std::string_view text,
                bool first = false) {
  PutRaw(lines, key, "", first);
  AppendJsonString(lines, text);
}

inline std::string Milliseconds(TimePoint time) {
  return std::to_string(
      std::chrono::duration_cast<std::chrono::milliseconds>(time.time_since_epoch()).count());
}

}  // namespace coppice::rehearse
