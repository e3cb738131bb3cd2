// What volcano-scheduler.conf says to resource-strategy-fit, and what a pod's annotations say
// instead.

#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"
#include "batch/arguments.h"
#include "batch/resource.h"
#include "model/meta.h"

namespace coppice::batch::resource_strategy_fit {

enum class Strategy : uint8_t { kLeast, kMost, kNeither };

struct Wish {
  Strategy strategy = Strategy::kLeast;
  int64_t weight = 1;
};

struct Config {
  int64_t weight = 10;
  std::map<std::string, Wish> resources;  // by name
  std::map<std::string, Wish> families;   // by what names begin with

  // Scarce ones: nodes that have none of them are liked by who does not need them. Weight 0: off.
  int64_t scarce_weight = 0;
  std::map<std::string, int64_t> scarce;
  int64_t scarce_sum = 0;

  // Of what stays idle for each idle device: cpu in cores, memory in GB.
  struct Reserve {
    double cpu = 1;
    double memory = 1;
  };
  bool proportional = false;
  std::map<std::string, Reserve> reserves;

  // What it says about a resource: by its name, or by the longest family that it belongs to.
  const Wish* Find(const std::string& resource) const;
};

// An error names the argument: what ends upstream's process.
Result<Config> ReadConfig(const Arguments& arguments);

// What a pod says of itself.
struct PodWish {
  Strategy strategy = Strategy::kNeither;
  std::map<std::string, int64_t> weights;
};
// Nothing if it has no annotation; an error if what it has cannot be read.
Result<std::optional<PodWish>> ReadPodWish(const model::Labels& annotations);
bool HasPodWish(const model::Labels& annotations);

}  // namespace coppice::batch::resource_strategy_fit
