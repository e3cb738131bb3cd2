#include "plugins/clouds/simulated/options.h"

#include <algorithm>
#include <utility>

#include "base/strings.h"
#include "cloud/catalog.h"
#include "model/quantity.h"

namespace coppice::clouds::simulated {

namespace {

constexpr int64_t kGiB = 1LL << 30;

SoldFlavor Sold(std::string name, int64_t cpus, int64_t memory_gib, double price) {
  return {.flavor = {.name = std::move(name),
                     .cpu_millis = cpus * 1000,
                     .memory_bytes = memory_gib * kGiB,
                     .disk_bytes = 50 * kGiB,
                     .price_per_hour = price}};
}

// An amount such as 4, 500m or 16Gi. False, and a complaint, if it is none.
bool ReadAmount(yaml::MapReader& map, std::string_view key, bool millis, int64_t& out) {
  std::string text;
  if (!map.Read(key, text)) return false;
  const auto quantity = model::Quantity::Parse(text);
  if (!quantity.ok() || quantity->Sign() <= 0) {
    map.Complain(key, "'" + text + "' is not an amount such as " + (millis ? "4 or 500m" : "16Gi"));
    return false;
  }
  out = millis ? quantity->MilliValue() : quantity->Value();
  return true;
}

void ReadChance(yaml::MapReader& map, std::string_view key, double& out) {
  double chance = out;
  if (!map.Read(key, chance)) return;
  if (chance >= 0 && chance <= 1) {
    out = chance;
  } else {
    map.Complain(key, "is a probability: write a number from 0 to 1");
  }
}

template <class T>
void ReadNotNegative(yaml::MapReader& map, std::string_view key, T& out) {
  T value = out;
  if (!map.Read(key, value)) return;
  if (value >= T{}) {
    out = value;
  } else {
    map.Complain(key, "must not be negative");
  }
}

SoldFlavor ReadFlavor(const yaml::Node& node, yaml::Problems& problems) {
  yaml::MapReader map(node, problems);
  SoldFlavor sold;
  cloud::Flavor& flavor = sold.flavor;
  map.Require("name", flavor.name);
  if (!ReadAmount(map, "cpu", true, flavor.cpu_millis) && !map.Has("cpu")) {
    map.Complain("cpu", "is required");
  }
  if (!ReadAmount(map, "memory", false, flavor.memory_bytes) && !map.Has("memory")) {
    map.Complain("memory", "is required");
  }
  flavor.disk_bytes = 50 * kGiB;
  ReadAmount(map, "disk", false, flavor.disk_bytes);
  map.Read("architecture", flavor.architecture);
  map.Read("gpuType", flavor.gpu_type);
  ReadNotNegative(map, "gpuCount", flavor.gpu_count);
  if ((flavor.gpu_count > 0) != !flavor.gpu_type.empty()) {
    map.Complain("gpuType", "goes with gpuCount: write both or none");
  }
  map.Read("zones", flavor.zones);
  double price = 0;
  ReadNotNegative(map, "pricePerHour", price);
  if (map.Has("pricePerHour")) flavor.price_per_hour = price;
  ReadNotNegative(map, "stock", sold.stock);
  if (map.Has("spotPricePerHour")) {
    double spot = 0;
    ReadNotNegative(map, "spotPricePerHour", spot);
    // Without a zone until FillZones knows them.
    flavor.offerings.push_back({"", cloud::kOnDemandCapacity, flavor.price_per_hour});
    flavor.offerings.push_back({"", cloud::kSpotCapacity, spot});
  }
  map.Finish();
  return sold;
}

cloud::FlavorGrid ReadGrid(const yaml::Node& node, yaml::Problems& problems) {
  yaml::MapReader map(node, problems);
  cloud::FlavorGrid grid{.price_per_cpu = 0.012, .price_per_gib = 0.003, .disk_bytes = 50 * kGiB};
  map.Read("prefix", grid.prefix);
  ReadAmount(map, "minCpu", true, grid.min_cpu_millis);
  ReadAmount(map, "maxCpu", true, grid.max_cpu_millis);
  ReadAmount(map, "cpuStep", true, grid.cpu_step_millis);
  ReadAmount(map, "minMemory", false, grid.min_memory_bytes);
  ReadAmount(map, "maxMemory", false, grid.max_memory_bytes);
  ReadAmount(map, "memoryStep", false, grid.memory_step_bytes);
  map.Read("minGiBPerCpu", grid.min_gib_per_cpu);
  map.Read("maxGiBPerCpu", grid.max_gib_per_cpu);
  map.Read("basePrice", grid.base_price);
  map.Read("pricePerCpu", grid.price_per_cpu);
  map.Read("pricePerGiB", grid.price_per_gib);
  double spot = 0;
  if (map.Read("spotFactor", spot)) grid.spot_factor = spot;
  ReadAmount(map, "disk", false, grid.disk_bytes);
  map.Read("architecture", grid.architecture);
  map.Read("zones", grid.zones);
  map.Finish();
  for (const std::string& mistake : grid.Mistakes()) {
    problems.Add({.place = node.place(), .path = node.path(), .text = mistake});
  }
  return grid;
}

// A file as Karpenter's kwok provider reads it, or "kwok" for its own 144 types.
void ReadCatalogOf(yaml::MapReader& map, Options& options) {
  std::string name;
  if (!map.Read("catalog", name)) return;
  if (map.Has("flavors")) map.Complain("catalog", "and flavors exclude each other");
  const auto read =
      name == "kwok" ? Result<cloud::Catalog>(cloud::KwokCatalog()) : cloud::ReadCatalog(name);
  if (!read.ok()) {
    map.Complain("catalog", read.status().message());
    return;
  }
  options.flavors.clear();
  options.zones.clear();
  for (const cloud::CatalogType& type : *read) {
    options.flavors.push_back({.flavor = cloud::FlavorOfCatalog(type)});
    for (const std::string& zone : options.flavors.back().flavor.zones) {
      if (std::ranges::find(options.zones, zone) == options.zones.end()) {
        options.zones.push_back(zone);
      }
    }
  }
}

void ReadFaults(const yaml::Node& node, yaml::Problems& problems, Faults& faults) {
  yaml::MapReader map(node, problems);
  ReadChance(map, "createFailure", faults.create_failure);
  ReadChance(map, "lostAnswer", faults.lost_answer);
  ReadChance(map, "bootFailure", faults.boot_failure);
  ReadChance(map, "deleteFailure", faults.delete_failure);
  ReadChance(map, "listFailure", faults.list_failure);
  map.Finish();
}

StockOut ReadStockOut(const yaml::Node& node, yaml::Problems& problems) {
  yaml::MapReader map(node, problems);
  StockOut out;
  map.Read("flavor", out.flavor);
  map.Read("zone", out.zone);
  map.Read("capacityType", out.capacity_type);
  ReadNotNegative(map, "after", out.after);
  ReadNotNegative(map, "for", out.lasts);
  map.Finish();
  return out;
}

// A flavor that names no zone is sold in all of them.
void FillZones(Options& options) {
  for (SoldFlavor& sold : options.flavors) {
    cloud::Flavor& flavor = sold.flavor;
    if (flavor.zones.empty()) flavor.zones = options.zones;
    if (flavor.offerings.empty() || !flavor.offerings.front().zone.empty()) continue;
    const std::vector<cloud::FlavorOffering> ways = std::exchange(flavor.offerings, {});
    for (const std::string& zone : flavor.zones) {
      for (cloud::FlavorOffering way : ways) {
        way.zone = zone;
        flavor.offerings.push_back(std::move(way));
      }
    }
  }
  if (options.grid && options.grid->zones.empty()) options.grid->zones = options.zones;
}

// The same share of its price for every flavor that does not say its own.
void SellSpot(double factor, Options& options) {
  for (SoldFlavor& sold : options.flavors) {
    cloud::Flavor& flavor = sold.flavor;
    if (!flavor.offerings.empty() || !flavor.price_per_hour) continue;
    flavor.offerings.push_back({"", cloud::kOnDemandCapacity, flavor.price_per_hour});
    flavor.offerings.push_back({"", cloud::kSpotCapacity, *flavor.price_per_hour * factor});
  }
}

}  // namespace

Options DefaultOptions() {
  Options options;
  options.zones = {"north1", "north2", "south1"};
  // About what European clouds ask for shared cores in 2026, so that the price expander has a
  // choice.
  options.flavors = {Sold("tiny-1-2", 1, 2, 0.012),       Sold("small-2-4", 2, 4, 0.024),
                     Sold("medium-4-16", 4, 16, 0.066),   Sold("large-8-32", 8, 32, 0.132),
                     Sold("compute-16-32", 16, 32, 0.21), Sold("memory-8-64", 8, 64, 0.19),
                     Sold("arm-8-16", 8, 16, 0.07),       Sold("gpu-16-128-2", 16, 128, 3.2)};
  cloud::Flavor& arm = options.flavors[6].flavor;
  arm.architecture = "arm64";
  cloud::Flavor& gpu = options.flavors[7].flavor;
  gpu.gpu_type = "sim-l40s";
  gpu.gpu_count = 2;
  gpu.disk_bytes = 400 * kGiB;
  gpu.zones = {"north1"};
  FillZones(options);
  return options;
}

Options ReadOptions(const yaml::Node& config, yaml::Problems& problems) {
  Options options = DefaultOptions();
  yaml::MapReader map(config, problems);
  map.Get("kind");
  ReadNotNegative(map, "bootTime", options.boot_time);
  ReadChance(map, "bootJitter", options.boot_jitter);
  ReadNotNegative(map, "deleteTime", options.delete_time);
  ReadNotNegative(map, "latency", options.latency);
  ReadNotNegative(map, "listLag", options.list_lag);
  ReadNotNegative(map, "quota", options.quota);
  int64_t seed = 0;
  if (map.Read("seed", seed)) options.seed = static_cast<uint64_t>(seed);
  if (map.Has("faults")) ReadFaults(map.Get("faults"), problems, options.faults);
  map.EachItem("stockOuts", [&](const yaml::Node& item) {
    options.stock_outs.push_back(ReadStockOut(item, problems));
  });
  std::vector<std::string> zones;
  const bool own_zones = map.Read("zones", zones) && !zones.empty();
  if (own_zones) options.zones = zones;
  if (map.Has("flavors")) {
    options.flavors.clear();
    map.EachItem("flavors", [&](const yaml::Node& item) {
      options.flavors.push_back(ReadFlavor(item, problems));
    });
  } else if (own_zones) {
    for (SoldFlavor& sold : options.flavors) sold.flavor.zones.clear();
  }
  ReadCatalogOf(map, options);
  if (map.Has("grid")) options.grid = ReadGrid(map.Get("grid"), problems);
  ReadNotNegative(map, "spotLifetime", options.spot_lifetime);
  double spot_factor = 1;
  if (map.Has("spotFactor")) {
    ReadChance(map, "spotFactor", spot_factor);
    SellSpot(spot_factor, options);
  }
  FillZones(options);
  for (const SoldFlavor& sold : options.flavors) {
    const auto same = [&](const SoldFlavor& other) {
      return other.flavor.name == sold.flavor.name;
    };
    if (std::ranges::count_if(options.flavors, same) > 1) {
      map.Complain("flavors", "two flavors are named '" + sold.flavor.name + "'");
      break;
    }
  }
  map.Finish();
  return options;
}

}  // namespace coppice::clouds::simulated
