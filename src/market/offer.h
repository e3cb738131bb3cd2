// Offer, Refusal, Outcome: what a seller answers, and what becomes of it.

#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/status.h"

namespace coppice::market {

// So many machines of one kind.
struct Lot {
  std::string source;  // group or pool
  int machines = 0;    // to be bought
  int claimed = 0;     // besides: ordered before, on their way, and nobody else's
  // What the seller's target is and will be, where it has one: orders over externalgrpc carry no
  // name, so this is how one is recognised after a restart. 0 and 0: orders have names.
  int before = 0;
  int after = 0;
  std::optional<double> price_per_hour;  // of all of them; absent: nobody knows
  friend bool operator==(const Lot&, const Lot&) = default;
};

// Who goes where.
struct Seat {
  size_t task_class = 0;  // of Want::classes
  std::string source;
  std::string machine;  // a name that is good within the offer
  int count = 0;
  bool on_its_way = false;  // that machine was ordered before
  friend bool operator==(const Seat&, const Seat&) = default;
};

struct Offer {
  std::string seller;
  std::string gang;
  std::vector<Lot> lots;  // none: what is on its way is enough
  std::vector<Seat> seats;
  int served = 0;                     // tasks that find a place
  bool whole = true;                  // all that were asked for do
  std::vector<std::string> why = {};  // how it was chosen, a sentence per round

  int machines() const {
    int sum = 0;
    for (const Lot& lot : lots) sum += lot.machines;
    return sum;
  }
  // Absent as soon as one lot has none. Nothing to buy costs nothing.
  std::optional<double> price_per_hour() const {
    double sum = 0;
    for (const Lot& lot : lots) {
      if (!lot.price_per_hour) return std::nullopt;
      sum += *lot.price_per_hour;
    }
    return sum;
  }
};

// Why nothing is offered: a sentence, and what each group or pool had against it.
struct Refusal {
  struct Reason {
    std::string source;
    std::string text;
    friend bool operator==(const Reason&, const Reason&) = default;
  };
  std::string seller;
  std::string text;
  std::vector<Reason> reasons = {};
  int short_of = 0;  // tasks that no machine for sale takes; 0: all of them
};

// What was ordered. Enough to look for it, and to give it back, also by the process after this one.
struct Outcome {
  Status status;  // not OK: nothing of it was kept, and why
  std::string seller;
  std::string gang;
  std::vector<Lot> lots;
  TimePoint ordered_at;
};

// What has become of an order.
struct Delivery {
  std::vector<std::string> nodes;  // that have registered, by age and name
  int coming = 0;
  int lost = 0;  // ordered, and will not come
};

}  // namespace coppice::market
