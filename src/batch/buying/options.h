// How machines are bought for gangs.

#pragma once

#include <optional>

#include "base/clock.h"

namespace coppice::batch {

// What a gang without room does first.
enum class Prefer : uint8_t {
  kBuying,      // others are evicted for it only if nobody sells what it needs
  kPreempting,  // bought for is what evictions leave
  kByPrice,     // bought for unless that costs more than BuyingOptions::preempt_above
};

struct BuyingOptions {
  Prefer prefer = Prefer::kBuying;
  double preempt_above = 0;  // an hour; with kByPrice
  // With kByPrice: what is dearer is bought all the same when evictions have not helped for so long.
  Duration preempt_for = std::chrono::minutes(2);
  // Whoever sells has this long to be ready, then others are evicted for everybody.
  Duration await_sellers = std::chrono::minutes(2);
  std::optional<double> most_per_hour;            // an offer above it is not taken at all
  Duration hold = std::chrono::minutes(20);       // machines wait for their gang so long, at most
  Duration ask_again = std::chrono::seconds(10);  // after a refusal; doubles
  Duration ask_again_at_most = std::chrono::minutes(5);
  int most_at_once = 64;     // gangs that are looked at after one session
  int attempts = 5;          // purchases in a row for a gang that does not start
  bool only_quotes = false;  // what it would take is told, and nothing is ordered
};

}  // namespace coppice::batch
