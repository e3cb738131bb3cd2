#include "market/choose.h"

#include <algorithm>
#include <tuple>

namespace coppice::market {

bool IsBetter(const Offer& a, const Offer& b) {
  if (a.whole != b.whole) return a.whole;
  if (a.served != b.served) return a.served > b.served;
  const std::optional<double> price_a = a.price_per_hour();
  const std::optional<double> price_b = b.price_per_hour();
  if (price_a.has_value() != price_b.has_value()) return price_a.has_value();
  if (price_a && *price_a != *price_b) return *price_a < *price_b;
  if (a.machines() != b.machines()) return a.machines() < b.machines();
  if (a.seller != b.seller) return a.seller < b.seller;
  return std::ranges::lexicographical_compare(a.lots, b.lots, {}, &Lot::source, &Lot::source);
}

const Offer* BestOf(const std::vector<Offer>& offers) {
  const auto best = std::ranges::min_element(offers, IsBetter);
  return best == offers.end() ? nullptr : &*best;
}

}  // namespace coppice::market
