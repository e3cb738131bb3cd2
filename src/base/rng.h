// Chance as a dependency: whoever draws is handed an Rng, so that a failure is a seed.

#pragma once

#include <cstdint>

namespace coppice {

class Rng {
 public:
  virtual ~Rng() = default;

  virtual uint64_t Next() = 0;  // uniform over 64 bits

  uint64_t Below(uint64_t bound);  // uniform in [0, bound); bound > 0
  double Unit();                   // uniform in [0, 1)
  bool Chance(double probability) { return Unit() < probability; }
};

// Deterministic: the same seed gives the same sequence on every machine and with every compiler.
class SeededRng final : public Rng {
 public:
  explicit SeededRng(uint64_t seed) : state_(seed) {}
  uint64_t Next() override;

 private:
  uint64_t state_;
};

// Seeds a SeededRng from the operating system; for production.
uint64_t SeedFromSystem();

}  // namespace coppice
