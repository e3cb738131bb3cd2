// How long to wait before the next attempt: exponential, capped, with jitter so that many callers
// that failed together do not come back together.

#pragma once

#include "base/clock.h"
#include "base/rng.h"

namespace coppice {

struct BackoffOptions {
  Duration first = std::chrono::milliseconds(200);
  Duration longest = std::chrono::seconds(30);
  double factor = 2.0;
  double jitter = 0.2;  // the wait is drawn from [wait * (1 - jitter), wait * (1 + jitter)]
};

class Backoff {
 public:
  Backoff(BackoffOptions options, Rng& rng) : options_(options), rng_(&rng) {}

  Duration Next();                 // the wait before the next attempt; grows with each call
  void Reset() { attempts_ = 0; }  // after a success
  int attempts() const { return attempts_; }

 private:
  BackoffOptions options_;
  Rng* rng_;
  int attempts_ = 0;
};

}  // namespace coppice
