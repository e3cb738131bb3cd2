// What the batch engine tells of gangs that wait: why, what it would take to start, what that
// costs, and what is under way.

#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"

namespace coppice::report {

// A part of a pass, and how long it took.
using Stage = std::pair<std::string, Duration>;

struct WaitingGang {
  std::string gang;  // "namespace/name"
  std::string queue;
  bool admitted = false;
  int min_available = 0;
  int placed = 0;  // tasks that count towards the minimum
  // Of the tasks that it lacks: how many have room on what exists, and for how many machines would
  // have to come, by role.
  int with_room = 0;
  struct Room {
    std::string task;  // the pod's name
    std::string node;  // where it would go
  };
  std::vector<Room> room;  // of those, in their order
  struct Lacking {
    std::string role;
    int tasks = 0;
    bool created = true;  // false: there are no pods yet
  };
  std::vector<Lacking> lacking;
  std::string session;  // what the session had against it
  std::string blocked;  // not empty: why nothing is bought for it

  // What it would take, or has taken.
  struct Lot {
    std::string seller;
    std::string source;
    int machines = 0;
    int claimed = 0;  // on their way before
  };
  enum class State {
    kWaits,    // nobody was asked yet
    kBlocked,  // by its queue
    kRefused,  // nobody sells what it needs
    kOrdered,  // machines are on their way
    kHeld,     // they are there and wait for it
  } state = State::kWaits;
  std::vector<Lot> lots;
  std::optional<double> price_per_hour;
  int coming = 0;
  std::vector<std::string> held_nodes;
  std::optional<TimePoint> held_until;
  std::vector<std::string> refusals;  // one sentence per seller
  std::string why;                    // all of it in one sentence
};

}  // namespace coppice::report
