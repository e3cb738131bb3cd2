#include "base/backoff.h"

#include <algorithm>
#include <cmath>

namespace coppice {

Duration Backoff::Next() {
  const double grown =
      static_cast<double>(options_.first.count()) * std::pow(options_.factor, attempts_);
  ++attempts_;
  const double capped = std::min(grown, static_cast<double>(options_.longest.count()));
  const double drawn = capped * (1 + options_.jitter * (2 * rng_->Unit() - 1));
  // A double of 2^63 does not fit back into the count.
  return Duration(static_cast<int64_t>(std::clamp(drawn, 0.0, 0x1.0p62)));
}

}  // namespace coppice
