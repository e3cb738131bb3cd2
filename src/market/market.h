// Market: all sellers as one. Asks each, takes the best whole offer, and sends orders back to who
// made them.
//
// Decision thread. Sellers are asked one after the other: each plans on its own fork.

#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "market/seller.h"

namespace coppice::market {

class Market {
 public:
  explicit Market(std::vector<Seller*> sellers) : sellers_(std::move(sellers)) {}

  struct Answer {
    std::optional<Offer> best;
    std::vector<Offer> others = {};      // that lost, for people
    std::vector<Refusal> refusals = {};  // of those who had nothing to offer
  };
  bool Ready() const;  // all of them are
  Task<Answer> Quote(Want want, View view);
  Task<Outcome> Order(Offer offer);
  Task<Status> Cancel(Outcome outcome);
  void Keep(const std::vector<Reserved>& reserved);
  bool WasOrdered(const Outcome& outcome, const Lot& lot) const;
  // A seller that is not there any more: all of it is taken for coming, for nobody knows better.
  Delivery Look(const Outcome& outcome, const std::vector<std::string>& taken) const;
  // Of all sellers together.
  model::ResourceList Stock(TimePoint now) const;

  bool empty() const { return sellers_.empty(); }

 private:
  Seller* Find(std::string_view name) const;

  std::vector<Seller*> sellers_;
};

// One sentence: "node groups: no group takes 3 tasks (a: Insufficient cpu; b: ...)".
std::string TextOf(const Refusal& refusal);

}  // namespace coppice::market
