// How often somebody may do something: `burst` times at once, and `per_second` in the long run.

#pragma once

#include <algorithm>

#include "base/clock.h"

namespace coppice::grpc {

class TokenBucket {
 public:
  TokenBucket(double burst, double per_second, TimePoint now)
      : burst_(burst), per_second_(per_second), tokens_(burst), at_(now) {}

  // False: too often.
  bool Take(TimePoint now) {
    tokens_ += std::chrono::duration<double>(now - at_).count() * per_second_;
    tokens_ = std::min(tokens_, burst_);
    at_ = now;
    if (tokens_ < 1) return false;
    tokens_ -= 1;
    return true;
  }
  // One more: there was a reason.
  void Earn() { tokens_ = std::min(tokens_ + 1, burst_); }

 private:
  const double burst_;
  const double per_second_;
  double tokens_;
  TimePoint at_;
};

}  // namespace coppice::grpc
