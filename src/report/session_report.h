// SessionReport: what one session of the batch scheduler saw, decided and why. Complete when the
// session is over, and never changed after.

#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/clock.h"
#include "report/batch_report.h"

namespace coppice::report {

struct SessionReport {
  std::string uid;
  TimePoint began;
  Duration took{};
  std::vector<Stage> stages;  // opening, then the actions in their order
  std::string error;          // "": it went through

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
  // Of one resource: cpu in thousandths, memory in bytes. Below zero: nobody says.
  struct Amount {
    std::string resource;
    double held = 0;
    double deserved = -1;
    double most = -1;
  };
  struct Queue {
    std::string name;
    std::string parent;
    std::string state;
    int32_t weight = 0;
    int32_t running = 0;  // gangs, by its status
    double share = -1;    // held of what it deserves, of the scarcest; below zero: nobody says
    std::vector<Amount> amounts;
  };
  // Somebody outside whom sessions ask: an extender, and whether it is asked at all.
  struct Outside {
    std::string name;
    std::string state;  // closed, open, trying: of its breaker
    std::string text;   // the last failure
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
  struct Unreadable {  // a pod that waits and is left alone, for it cannot be read
    std::string pod;
    std::string group;  // "" if it names none
    std::string why;
  };
  std::vector<Unreadable> unreadable;
  std::vector<Placement> placements;
  std::vector<Eviction> evictions;
  std::vector<Refused> refused;
  std::vector<Group> groups;
  std::vector<Waiting> waiting;
  std::vector<WaitingGang> gangs;  // the same with what is known of machines for them
  std::vector<Queue> queues;       // by name; looked at once a second at most
  std::vector<Outside> outside;
  size_t nodes = 0;
  size_t pods = 0;
};

}  // namespace coppice::report
