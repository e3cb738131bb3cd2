// SessionReport: what one session of the batch scheduler saw, decided and why. Complete when the
// session is over, and never changed after.

#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/clock.h"

namespace coppice::report {

struct SessionReport {
  std::string uid;
  TimePoint began;
  Duration took{};
  std::string error;  // "": it went through

  struct Placement {
    std::string pod;  // "namespace/name"
    std::string node;
  };
  struct Refused {  // decided, and not done: what spoke against it at the last look
    std::string pod;
    std::string why;
  };
  struct Eviction {
    std::string pod;
    std::string why;
  };
  struct Group {
    std::string group;  // "namespace/name"
    std::string phase;
    bool changed = false;
  };
  struct Waiting {  // a job without a place
    std::string job;
    std::string queue;
    bool admitted = false;
    int32_t min_available = 0;
    int32_t placed = 0;
    size_t pods = 0;  // that wait
    std::string why;
  };
  std::vector<Placement> placements;
  std::vector<Eviction> evictions;
  std::vector<Refused> refused;
  std::vector<Group> groups;
  std::vector<Waiting> waiting;
  size_t nodes = 0;
  size_t pods = 0;
};

}  // namespace coppice::report
