// Intent: what is about to be ordered, or has been, for a gang: the text of an annotation of its
// PodGroup. Written before the order goes out, so that the process after this one neither buys
// twice nor forgets what is held.

#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "market/offer.h"

namespace coppice::market {

inline constexpr std::string_view kIntentAnnotation = "coppice.dev/purchase";
// Of a node that was bought for a gang and waits for it: nobody else may start there. The value is
// HoldValue() of the gang.
inline constexpr std::string_view kHeldForTaint = "coppice.dev/held-for";

struct Intent {
  int attempt = 0;  // counted up with every purchase for this gang
  TimePoint until;  // held so long at most
  // What it has, purchase by purchase: each goes back to who sold it. Status and gang are not
  // written.
  std::vector<Outcome> bought = {};
  // Written, but nobody knows whether the orders went out.
  std::optional<Outcome> ordering = {};
};

// A purchase beside those before. What is of the same seller and source becomes one lot of the
// earlier one: nodes of a group cannot be told apart by the order that they came of.
void AddPurchase(std::vector<Outcome>& bought, Outcome purchase);

std::string FormatIntent(const Intent& intent);
// Tolerant of what is missing; an error for text that is no intent at all, and for numbers that no
// order could have.
Result<Intent> ParseIntent(std::string_view text);

// Taint values are short and of few characters: the name as it is if it fits, else with a hash.
std::string HoldValue(std::string_view gang);

}  // namespace coppice::market
