// FakeSeller: sells machines of one kind, as a test says. Answers at once; counts what it is asked.

#pragma once

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "market/seller.h"

namespace coppice::market {

class FakeSeller final : public Seller {
 public:
  explicit FakeSeller(std::string name) : name_(std::move(name)) {}

  // What it sells.
  bool ready = true;
  std::string source = "fake";
  int target = 0;
  int max = 100;
  int tasks_per_machine = 1;
  std::optional<double> price_per_machine;
  std::string refusal;  // not empty: what it says to everything
  Status order_answer;  // to the next orders
  model::ResourceList stock;
  // Nodes that have registered. What of `target` is not among them is on its way; one that was
  // ordered and is in neither is lost.
  std::vector<std::string> arrived;

  // What it was asked.
  std::vector<Want> quoted;
  std::vector<Offer> ordered;
  std::vector<Outcome> cancelled;
  std::vector<Reserved> kept;

  std::string_view name() const override { return name_; }

  bool Ready() const override { return ready; }
  Task<Quotes> Quote(Want want, View) override {
    quoted.push_back(want);
    if (!refusal.empty()) {
      Refusal no{.seller = name_, .text = refusal};
      co_return no;
    }
    const int wanted = (want.count() + tasks_per_machine - 1) / tasks_per_machine;
    const int machines = std::min(wanted, max - target);
    if (machines < wanted && (!want.in_part || machines == 0)) {
      Refusal no{.seller = name_,
                 .text = "max node group size reached",
                 .short_of = want.count() - machines * tasks_per_machine};
      co_return no;
    }
    Offer offer{.seller = name_, .gang = want.gang};
    offer.served = std::min(want.count(), machines * tasks_per_machine);
    offer.whole = offer.served == want.count();
    Lot lot{.source = source, .machines = machines, .before = target, .after = target + machines};
    if (price_per_machine) lot.price_per_hour = *price_per_machine * machines;
    if (machines > 0) offer.lots.push_back(lot);
    co_return std::vector<Offer>{offer};
  }
  Task<Outcome> Order(Offer offer) override {
    ordered.push_back(offer);
    Outcome outcome{
        .status = order_answer, .seller = name_, .gang = offer.gang, .lots = {}, .ordered_at = now};
    if (outcome.status.ok()) {
      outcome.lots = offer.lots;
      target += offer.machines();
    }
    co_return outcome;
  }
  Task<Status> Cancel(Outcome outcome) override {
    for (const Lot& lot : outcome.lots) target -= lot.machines;
    cancelled.push_back(std::move(outcome));
    co_return Status::Ok();
  }
  void Keep(const std::vector<Reserved>& reserved) override { kept = reserved; }
  bool WasOrdered(const Outcome&, const Lot& lot) const override { return target >= lot.after; }
  Delivery Look(const Outcome& outcome, const std::vector<std::string>& taken) const override {
    Delivery delivery;
    int machines = 0;
    for (const Lot& lot : outcome.lots) machines += lot.machines + lot.claimed;
    for (const std::string& node : arrived) {
      if (static_cast<int>(delivery.nodes.size()) == machines) break;
      if (std::ranges::find(taken, node) == taken.end()) delivery.nodes.push_back(node);
    }
    const int missing = machines - static_cast<int>(delivery.nodes.size());
    delivery.coming = std::clamp(target - static_cast<int>(arrived.size()), 0, missing);
    delivery.lost = missing - delivery.coming;
    return delivery;
  }
  model::ResourceList Stock(TimePoint) const override { return stock; }

  TimePoint now{};

 private:
  std::string name_;
};

}  // namespace coppice::market
