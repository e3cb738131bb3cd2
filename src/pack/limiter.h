// How many nodes an estimate may add, and for how long it may go on.

#pragma once

#include <functional>
#include <vector>

#include "base/clock.h"

namespace coppice::pack {

struct EstimateLimits {
  int max_nodes = 0;        // of one estimate; 0: no limit
  Duration max_duration{};  // 0: no limit
  int group_free =
      0;  // what the group and its similar ones can still grow by; none: no node at all
  int max_nodes_total = 0;  // of the cluster; 0: no limit
  int current_nodes = 0;
};

// Asked before each node. The clock is looked at only then, as upstream does.
class Limiter {
 public:
  Limiter(const EstimateLimits& limits, const Clock& clock);
  bool MayAddNode();

 private:
  const Clock& clock_;
  int max_nodes_;  // 0: no limit; negative: none
  Duration max_duration_;
  TimePoint start_;
  int added_ = 0;
};

}  // namespace coppice::pack
