#include "cloud/flavor_grid.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <set>

namespace coppice::cloud {
namespace {

constexpr int64_t kGridMi = 1LL << 20;
constexpr double kGridGi = static_cast<double>(1LL << 30);
// Beyond these nobody means it, and below them no sum here overflows.
constexpr int64_t kMostCpuMillis = 1'000'000'000;
constexpr int64_t kMostMemory = 1LL << 50;
constexpr double kMostRatio = 1e6;
constexpr double kMostPrice = 1e12;

bool OnSteps(int64_t value, int64_t least, int64_t most, int64_t step) {
  return value >= least && value <= most && (value - least) % step == 0;
}

// The first step that is not below `value`; may lie beyond the end.
int64_t StepUp(int64_t value, int64_t least, int64_t step) {
  if (value <= least) return least;
  if (value > kMostMemory) return value;  // beyond any end
  return least + (value - least + step - 1) / step * step;
}

int64_t Times(int64_t amount, int64_t count) {
  return amount > std::numeric_limits<int64_t>::max() / count ? std::numeric_limits<int64_t>::max()
                                                              : amount * count;
}

std::optional<int64_t> NumberBefore(std::string_view text, std::string_view unit) {
  if (!text.ends_with(unit)) return std::nullopt;
  text.remove_suffix(unit.size());
  int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number <= 0) return std::nullopt;
  if (text.front() == '0' || text.front() == '+') return std::nullopt;  // one name per measure
  return number;
}

}  // namespace

std::vector<std::string> FlavorGrid::Mistakes() const {
  std::vector<std::string> mistakes;
  const auto complain = [&mistakes](bool wrong, const char* sentence) {
    if (wrong) mistakes.emplace_back(sentence);
  };
  complain(prefix.empty(), "grid: the prefix of its flavors' names must not be empty");
  complain(min_cpu_millis <= 0 || cpu_step_millis <= 0, "grid: cpu and its step must be positive");
  complain(max_cpu_millis < min_cpu_millis, "grid: the most cpu is less than the least");
  complain(max_cpu_millis > kMostCpuMillis || cpu_step_millis > kMostCpuMillis,
           "grid: nobody sells more than a million cpus");
  complain(min_memory_bytes <= 0 || memory_step_bytes <= 0,
           "grid: memory and its step must be positive");
  complain(max_memory_bytes < min_memory_bytes, "grid: the most memory is less than the least");
  complain(max_memory_bytes > kMostMemory || memory_step_bytes > kMostMemory,
           "grid: nobody sells more than a pebibyte of memory");
  complain(min_memory_bytes % kGridMi != 0 || memory_step_bytes % kGridMi != 0,
           "grid: memory goes in whole Mi");
  complain(!(min_gib_per_cpu >= 0 && min_gib_per_cpu <= kMostRatio) ||
               !(max_gib_per_cpu >= 0 && max_gib_per_cpu <= kMostRatio),
           "grid: a ratio of memory to cpu lies between 0 and a million");
  complain(max_gib_per_cpu > 0 && max_gib_per_cpu < min_gib_per_cpu,
           "grid: the largest ratio of memory to cpu is below the smallest");
  for (const double price : {base_price, price_per_cpu, price_per_gib}) {
    complain(!(price >= 0 && price <= kMostPrice), "grid: a price is neither negative nor endless");
  }
  complain(spot_factor && !(*spot_factor >= 0 && *spot_factor <= 1),
           "grid: the factor of spot prices lies between 0 and 1");
  complain(disk_bytes < 0, "grid: a disk is not smaller than nothing");
  return mistakes;
}

bool FlavorGrid::Sells(const Measure& measure) const {
  if (!OnSteps(measure.cpu_millis, min_cpu_millis, max_cpu_millis, cpu_step_millis) ||
      !OnSteps(measure.memory_bytes, min_memory_bytes, max_memory_bytes, memory_step_bytes)) {
    return false;
  }
  const double ratio = static_cast<double>(measure.memory_bytes) / kGridGi /
                       (static_cast<double>(measure.cpu_millis) / 1000);
  return ratio >= min_gib_per_cpu && (max_gib_per_cpu == 0 || ratio <= max_gib_per_cpu);
}

std::string FlavorGrid::NameOf(const Measure& measure) const {
  return prefix + "-" + std::to_string(measure.cpu_millis) + "m-" +
         std::to_string(measure.memory_bytes / kGridMi) + "Mi";
}

std::optional<Measure> FlavorGrid::Parse(std::string_view name) const {
  if (!name.starts_with(prefix)) return std::nullopt;
  name.remove_prefix(prefix.size());
  if (!name.starts_with('-')) return std::nullopt;
  name.remove_prefix(1);
  const size_t dash = name.find('-');
  if (dash == std::string_view::npos) return std::nullopt;
  const auto cpu = NumberBefore(name.substr(0, dash), "m");
  const auto memory = NumberBefore(name.substr(dash + 1), "Mi");
  if (!cpu || !memory || *memory > std::numeric_limits<int64_t>::max() / kGridMi)
    return std::nullopt;
  return Measure{*cpu, *memory * kGridMi};
}

double FlavorGrid::PriceOf(const Measure& measure) const {
  return base_price + price_per_cpu * static_cast<double>(measure.cpu_millis) / 1000 +
         price_per_gib * static_cast<double>(measure.memory_bytes) / kGridGi;
}

Flavor FlavorGrid::FlavorOf(const Measure& measure) const {
  Flavor flavor{.name = NameOf(measure),
                .cpu_millis = measure.cpu_millis,
                .memory_bytes = measure.memory_bytes,
                .disk_bytes = disk_bytes,
                .architecture = architecture,
                .zones = zones,
                .price_per_hour = PriceOf(measure)};
  if (!spot_factor) return flavor;
  const std::vector<std::string> places = zones.empty() ? std::vector<std::string>{""} : zones;
  for (const std::string& zone : places) {
    flavor.offerings.push_back({zone, kOnDemandCapacity, flavor.price_per_hour});
    flavor.offerings.push_back({zone, kSpotCapacity, *flavor.price_per_hour * *spot_factor});
  }
  return flavor;
}

std::optional<Measure> FlavorGrid::AtLeast(const Measure& wanted) const {
  const double least_memory = static_cast<double>(wanted.memory_bytes) / kGridGi;
  Measure measure{StepUp(wanted.cpu_millis, min_cpu_millis, cpu_step_millis),
                  StepUp(wanted.memory_bytes, min_memory_bytes, memory_step_bytes)};
  // Too much memory for so little cpu: more cpu. Too little: more memory.
  if (max_gib_per_cpu > 0) {
    const double cpu = std::max(least_memory, static_cast<double>(measure.memory_bytes) / kGridGi) /
                       max_gib_per_cpu * 1000;
    if (cpu > static_cast<double>(max_cpu_millis)) return std::nullopt;
    measure.cpu_millis = std::max(measure.cpu_millis, StepUp(static_cast<int64_t>(std::ceil(cpu)),
                                                             min_cpu_millis, cpu_step_millis));
  }
  if (min_gib_per_cpu > 0) {
    const double memory =
        min_gib_per_cpu * static_cast<double>(measure.cpu_millis) / 1000 * kGridGi;
    if (memory > static_cast<double>(max_memory_bytes)) return std::nullopt;
    measure.memory_bytes = std::max(
        measure.memory_bytes,
        StepUp(static_cast<int64_t>(std::ceil(memory)), min_memory_bytes, memory_step_bytes));
  }
  return Sells(measure) ? std::optional(measure) : std::nullopt;
}

std::vector<Flavor> FlavorGrid::Choose(const std::vector<Measure>& wanted,
                                       const std::vector<Measure>& live, size_t most) const {
  std::set<Measure> chosen;
  const auto take = [&](const std::optional<Measure>& measure) {
    if (measure && chosen.size() < most) chosen.insert(*measure);
  };
  for (const Measure& measure : live) {
    if (Sells(measure)) take(measure);
  }
  // One of each first, so that many shapes do not crowd each other out; then several together.
  for (int64_t count = 1; count <= 64; count *= 2) {
    for (const Measure& one : wanted) {
      take(AtLeast({Times(one.cpu_millis, count), Times(one.memory_bytes, count)}));
    }
  }
  // The net: cpu doubling, and with each the ratios that people use.
  for (int64_t cpu = min_cpu_millis; cpu <= max_cpu_millis; cpu = Times(cpu, 2)) {
    for (const int64_t gib : {1, 2, 4, 8, 16}) {
      const int64_t memory =
          static_cast<int64_t>(std::min(kGridGi * static_cast<double>(gib * cpu) / 1000, 9e18));
      take(AtLeast({cpu, memory}));
    }
  }
  take(AtLeast({max_cpu_millis, 0}));
  take(AtLeast({0, max_memory_bytes}));
  std::vector<Flavor> flavors;
  for (const Measure& measure : chosen) flavors.push_back(FlavorOf(measure));
  std::ranges::sort(flavors, {}, &Flavor::name);
  return flavors;
}

}  // namespace coppice::cloud
