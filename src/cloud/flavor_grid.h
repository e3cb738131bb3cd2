// FlavorGrid: hardware of any measure. A cloud that sells any cpu and memory declares the steps it
// sells and what they cost, instead of a list of flavors that would have a hundred thousand entries;
// flavors are then made from it, nearest to what is asked for.
//
// A flavor of the grid has its measure in its name, "PREFIX-4000m-16384Mi", so that Create needs no
// table: the cloud reads it back with Parse.
//
// Plain values and pure functions.

#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "cloud/types.h"

namespace coppice::cloud {

struct Measure {
  int64_t cpu_millis = 0;
  int64_t memory_bytes = 0;
  friend auto operator<=>(const Measure&, const Measure&) = default;
};

struct FlavorGrid {
  std::string prefix = "any";  // first part of its flavors' names
  int64_t min_cpu_millis = 1'000;
  int64_t max_cpu_millis = 64'000;
  int64_t cpu_step_millis = 1'000;
  int64_t min_memory_bytes = 1LL << 30;
  int64_t max_memory_bytes = 512LL << 30;
  int64_t memory_step_bytes = 1LL << 30;  // whole Mi
  // What is sold lies between; 0: no such limit.
  double min_gib_per_cpu = 0;
  double max_gib_per_cpu = 0;
  // The price of a machine: a sum of these.
  double base_price = 0;
  double price_per_cpu = 0;
  double price_per_gib = 0;
  std::optional<double> spot_factor;  // of the price; absent: no spot
  int64_t disk_bytes = 0;
  std::string architecture = "amd64";
  std::vector<std::string> zones;

  friend bool operator==(const FlavorGrid&, const FlavorGrid&) = default;

  // Whether the declaration makes sense; a sentence per mistake.
  std::vector<std::string> Mistakes() const;

  bool Sells(const Measure& measure) const;  // it lies on the grid
  std::string NameOf(const Measure& measure) const;
  // The measure that a flavor's name speaks of; none: not a name of this grid. It may be off it.
  std::optional<Measure> Parse(std::string_view name) const;
  double PriceOf(const Measure& measure) const;
  Flavor FlavorOf(const Measure& measure) const;  // with its offerings

  // The smallest on the grid that has at least so much; none: nothing has.
  std::optional<Measure> AtLeast(const Measure& wanted) const;

  // At most `most` flavors: all of `live` that the grid sells first, then the smallest that hold one
  // of `wanted` (or 2, 4, 8, … of it together), then a coarse net over the whole grid, so that
  // something is there also for what nobody has asked for yet. Sorted by name, each once.
  std::vector<Flavor> Choose(const std::vector<Measure>& wanted, const std::vector<Measure>& live,
                             size_t most) const;
};

}  // namespace coppice::cloud
