// How many groups of a queue are in which phase.

#pragma once

#include <cstdint>

namespace coppice::batch {

struct GroupPhases {
  int32_t pending = 0, inqueue = 0, running = 0, unknown = 0, completed = 0;
  int32_t alive() const { return pending + inqueue + running + unknown; }
  friend bool operator==(const GroupPhases&, const GroupPhases&) = default;
};

}  // namespace coppice::batch
