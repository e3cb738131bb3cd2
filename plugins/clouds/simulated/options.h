// How the simulated cloud behaves. Every key has a default, so that an empty configuration is a
// cloud that works.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/yaml.h"
#include "cloud/flavor_grid.h"
#include "cloud/types.h"

namespace coppice::clouds::simulated {

struct StockOut {
  std::string flavor;         // "" every flavor
  std::string zone;           // "" every zone
  std::string capacity_type;  // "" every one
  Duration after{};           // since the cloud was started
  Duration lasts{};           // 0: for ever
};

// Probabilities per call, 0 to 1.
struct Faults {
  double create_failure = 0;  // refused, nothing made
  double lost_answer = 0;     // made, and the caller hears of a broken connection
  double boot_failure = 0;    // made, and ends in failure instead of running
  double delete_failure = 0;
  double list_failure = 0;
};

struct SoldFlavor {
  cloud::Flavor flavor;
  int64_t stock = 0;  // machines of it at a time over all zones; 0: as many as you like
};

struct Options {
  Duration boot_time = std::chrono::seconds(40);
  double boot_jitter =
      0.25;  // the boot time is drawn from [time * (1 - jitter), time * (1 + jitter)]
  Duration delete_time = std::chrono::seconds(5);  // listed as deleting for so long
  Duration latency{};                              // of every call
  Duration list_lag{};                             // how long lists do not show a create
  int64_t quota = 0;                               // machines at a time; 0: no quota
  std::optional<uint64_t> seed;                    // unset: drawn by the process
  Faults faults;
  std::vector<StockOut> stock_outs;
  std::vector<std::string> zones;
  std::vector<SoldFlavor> flavors;
  std::optional<cloud::FlavorGrid> grid;  // beside the flavors: any measure
  // How long a spot machine lives on average until it is taken back; 0: for ever. Each draws its
  // own time, so that as many go per hour as on a cloud with that rate.
  Duration spot_lifetime{};
};

Options DefaultOptions();
Options ReadOptions(const yaml::Node& config, yaml::Problems& problems);

}  // namespace coppice::clouds::simulated
