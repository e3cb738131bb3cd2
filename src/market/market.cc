#include "market/market.h"

#include <algorithm>
#include <utility>

#include "market/choose.h"

namespace coppice::market {

namespace {

Status NoSuchSeller(std::string_view name) {
  return FailedPrecondition("nobody sells as \"" + std::string(name) +
                            "\" here; is that engine switched off?");
}

}  // namespace

Seller* Market::Find(std::string_view name) const {
  const auto it =
      std::ranges::find_if(sellers_, [&](const Seller* seller) { return seller->name() == name; });
  return it == sellers_.end() ? nullptr : *it;
}

bool Market::Ready() const {
  return std::ranges::all_of(sellers_, [](const Seller* seller) { return seller->Ready(); });
}

Task<Market::Answer> Market::Quote(Want want, View view) {
  Answer answer;
  std::vector<Offer> offers;
  for (Seller* seller : sellers_) {
    Quotes quotes = co_await seller->Quote(want, view);
    if (auto* refusal = std::get_if<Refusal>(&quotes)) {
      answer.refusals.push_back(std::move(*refusal));
      continue;
    }
    for (Offer& offer : std::get<std::vector<Offer>>(quotes)) {
      // One that would leave a gang without its last machine is none.
      if (offer.whole || want.in_part) offers.push_back(std::move(offer));
    }
  }
  std::ranges::sort(offers, IsBetter);
  if (!offers.empty()) {
    answer.best = std::move(offers.front());
    offers.erase(offers.begin());
    answer.others = std::move(offers);
  }
  co_return answer;
}

Task<Outcome> Market::Order(Offer offer) {
  Seller* seller = Find(offer.seller);
  if (seller == nullptr) {
    Outcome outcome{.status = NoSuchSeller(offer.seller),
                    .seller = offer.seller,
                    .gang = offer.gang,
                    .lots = {},
                    .ordered_at = {}};
    co_return outcome;
  }
  co_return co_await seller->Order(std::move(offer));
}

Task<Status> Market::Cancel(Outcome outcome) {
  Seller* seller = Find(outcome.seller);
  if (seller == nullptr) co_return NoSuchSeller(outcome.seller);
  co_return co_await seller->Cancel(std::move(outcome));
}

void Market::Keep(const std::vector<Reserved>& reserved) {
  for (Seller* seller : sellers_) seller->Keep(reserved);
}

bool Market::WasOrdered(const Outcome& outcome, const Lot& lot) const {
  const Seller* seller = Find(outcome.seller);
  return seller != nullptr && seller->WasOrdered(outcome, lot);
}

Delivery Market::Look(const Outcome& outcome, const std::vector<std::string>& taken) const {
  if (const Seller* seller = Find(outcome.seller)) return seller->Look(outcome, taken);
  Delivery delivery;
  for (const Lot& lot : outcome.lots) delivery.coming += lot.machines + lot.claimed;
  return delivery;
}

model::ResourceList Market::Stock(TimePoint now) const {
  model::ResourceList total;
  for (const Seller* seller : sellers_) {
    for (const auto& [name, amount] : seller->Stock(now)) total[name].Add(amount);
  }
  return total;
}

std::string TextOf(const Refusal& refusal) {
  std::string text = refusal.seller + ": " + refusal.text;
  if (refusal.reasons.empty()) return text;
  text += " (";
  for (size_t i = 0; i < refusal.reasons.size(); ++i) {
    if (i > 0) text += "; ";
    text += refusal.reasons[i].source + ": " + refusal.reasons[i].text;
  }
  return text + ")";
}

}  // namespace coppice::market
