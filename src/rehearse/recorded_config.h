// What a log says was for sale, as the configuration of a provider on the simulated cloud.

#pragma once

#include <cstdint>
#include <string>

#include "rehearse/demand.h"

namespace coppice::rehearse {

// The recorded groups as the configuration of a provider on the simulated cloud: a flavor per
// group with what its template has, its price, labels and taints; and what pools could buy.
std::string GroupsAsConfig(const Demand& demand, uint64_t seed);
// What their machines are, without groups: for node pools, which buy any of them anywhere. Groups of
// one type are one flavor, sold in the zones of all of them.
std::string FlavorsAsConfig(const Demand& demand, uint64_t seed);

}  // namespace coppice::rehearse
