#include "base/rng.h"

#include <random>

#include "base/check.h"

namespace coppice {

uint64_t Rng::Below(uint64_t bound) {
  CHECK(bound > 0);
  // Draws from the incomplete last block are thrown away, or small results would be more likely.
  const uint64_t limit = UINT64_MAX - UINT64_MAX % bound;
  uint64_t draw = Next();
  while (draw >= limit) draw = Next();
  return draw % bound;
}

double Rng::Unit() { return static_cast<double>(Next() >> 11) * 0x1.0p-53; }

// SplitMix64 (Steele, Lea, Flood 2014): one word of state, passes BigCrush, good enough for jitter
// and tests.
uint64_t SeededRng::Next() {
  state_ += 0x9E3779B97F4A7C15u;
  uint64_t z = state_;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return z ^ (z >> 31);
}

uint64_t SeedFromSystem() {
  std::random_device device;
  return (static_cast<uint64_t>(device()) << 32) | device();
}

}  // namespace coppice
