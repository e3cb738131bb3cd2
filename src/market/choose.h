// Which of several offers is taken.

#pragma once

#include <vector>

#include "market/offer.h"

namespace coppice::market {

// Whether `a` is the better one: whole before in part, then who serves more, what costs less, a
// price before none, fewer machines, the seller's name, the sources' names.
bool IsBetter(const Offer& a, const Offer& b);

// Null if there is none.
const Offer* BestOf(const std::vector<Offer>& offers);

}  // namespace coppice::market
