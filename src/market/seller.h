// Seller: who can buy machines for a gang. Node groups and node pools each are one; whoever needs
// machines for a gang as a whole (batch) knows no more of them than this.
//
// Decision thread. Quote plans before it first gives the thread up: it touches nothing, and no fork
// of its snapshot is open while it waits. Order is all or nothing: where one of several orders
// fails, the others are given back before it answers.

#pragma once

#include <string_view>
#include <variant>
#include <vector>

#include "base/task.h"
#include "market/offer.h"
#include "market/want.h"
#include "model/pod.h"

namespace coppice::market {

using Quotes = std::variant<std::vector<Offer>, Refusal>;

class Seller {
 public:
  virtual ~Seller() = default;

  // "node groups". The same across restarts: outcomes carry it.
  virtual std::string_view name() const = 0;

  // False as long as it has not seen what there is: then nothing that it says of orders counts.
  virtual bool Ready() const = 0;

  // What it would take to place all of `want`; with Want::in_part some of it. Every offer can be
  // ordered as it is.
  virtual Task<Quotes> Quote(Want want, View view) = 0;
  virtual Task<Outcome> Order(Offer offer) = 0;
  // Gives back what nobody uses: what does not exist yet is not made, what exists and is empty is
  // removed; never below what the owner of the group wants at least. OK also when nothing is left
  // to give back.
  virtual Task<Status> Cancel(Outcome outcome) = 0;

  // All machines on their way that gangs wait for, whenever that changes: nobody else is to count on
  // them. Those of other sellers may be among them.
  virtual void Keep(const std::vector<Reserved>& reserved) = 0;
  // Of a lot whose order was about to go out when the process ended: whether it has.
  virtual bool WasOrdered(const Outcome& outcome, const Lot& lot) const = 0;
  // What has become of it. `taken`: nodes that are somebody else's, by name.
  virtual Delivery Look(const Outcome& outcome, const std::vector<std::string>& taken) const = 0;
  // What is on its way and what could still be bought, at most: the part of the cluster's total
  // that does not exist yet.
  virtual model::ResourceList Stock(TimePoint now) const = 0;
};

}  // namespace coppice::market
