// `coppice conform cloud`: the contract of proto/cloud.proto, played against somebody's cloud.
//
// Reads only, unless a flavor is named that may be ordered. Every machine that is ordered carries a
// tag of this run alone, and only what carries it is ever deleted.

#pragma once

#include <string>
#include <vector>

#include "base/clock.h"
#include "conform/calls.h"
#include "conform/report.h"
#include "conform/rules.h"

namespace coppice::conform {

struct CloudOptions {
  PlayOptions play{.contract = "cloud"};
  Duration timeout = std::chrono::seconds(30);
  std::string flavor;  // to order; empty: nothing is ordered
  std::string zone;
  std::string image;
  std::string run = "coppice-conform";  // the value of this run's tag
  Duration patience = std::chrono::minutes(3);
};

std::vector<RuleText> CloudRules();
Report TryCloud(const CloudOptions& options, Transport transport, Clock& clock);

}  // namespace coppice::conform
