// Breaker: after so many failures in a row nobody is asked for a while, and everybody is told so at
// once instead of after a time-out each. Then one call is let through, and its outcome decides.

#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/status.h"

namespace coppice::batch::extender {

class Breaker {
 public:
  enum class State : uint8_t { kClosed, kOpen, kTrying };

  // Failures in a row that open it; 0: never.
  Breaker(int64_t failures, Duration pause) : limit_(failures), pause_(pause) {}

  // Before a call. kUnavailable: do not make it, with the reason of the last failure.
  Status Admit(TimePoint now);
  // After every call that was admitted.
  void Note(const Status& outcome, TimePoint now);

  State state() const;
  std::string last_failure() const;  // "" while it answers

 private:
  const int64_t limit_;
  const Duration pause_;
  mutable std::mutex mutex_;
  State state_ = State::kClosed;
  int64_t failures_ = 0;
  TimePoint until_{};
  std::string last_;
};

std::string_view ToString(Breaker::State state);

}  // namespace coppice::batch::extender
