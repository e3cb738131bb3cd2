#include "provision/amounts.h"

#include <algorithm>

#include "model/resources.h"

namespace coppice::provision {
namespace {

constexpr int64_t kPerMilli = 1'000'000;
constexpr int64_t kPerUnit = 1'000'000'000;

// What is no whole number of thousandths prints with a suffix n or u; what has more units than an
// int64 prints with a large one.
Amount FromText(std::string_view text) {
  const Amount kMost = Amount{kPerUnit} * kPerUnit * kPerUnit * 100;
  const bool negative = text.starts_with('-');
  if (negative) text.remove_prefix(1);
  Amount number = 0;
  size_t at = 0;
  for (; at < text.size() && text[at] >= '0' && text[at] <= '9'; ++at) {
    number = std::min<Amount>(number * 10 + (text[at] - '0'), kMost);
  }
  const std::string_view suffix = text.substr(at);
  if (suffix == "u") {
    number *= 1000;
  } else if (suffix == "m") {
    number *= kPerMilli;
  } else if (suffix != "n") {
    number = kMost;
  }
  return negative ? -number : number;
}

}  // namespace

Amount ToAmount(const model::Quantity& quantity) {
  const int64_t millis = quantity.MilliValue();
  if (model::Quantity::FromMillis(millis) == quantity) return Amount{millis} * kPerMilli;
  const int64_t units = quantity.Value();
  if (model::Quantity::FromUnits(units) == quantity) return Amount{units} * kPerUnit;
  return FromText(quantity.Canonical());
}

ResourceColumns::ResourceColumns() {
  Of(model::kCpu);
  Of(model::kMemory);
  Of(model::kPods);
}

Column ResourceColumns::Of(std::string_view resource) {
  const auto [it, is_new] =
      columns_.try_emplace(std::string(resource), static_cast<Column>(names_.size()));
  if (is_new) names_.emplace_back(resource);
  return it->second;
}

SparseAmounts ResourceColumns::Sparse(const model::ResourceList& list) {
  SparseAmounts amounts;
  amounts.reserve(list.size());
  for (const auto& [name, quantity] : list) amounts.emplace_back(Of(name), ToAmount(quantity));
  std::ranges::sort(amounts, {}, [](const auto& entry) { return entry.first; });
  return amounts;
}

Amount AmountOf(const SparseAmounts& amounts, Column column) {
  for (const auto& [at, amount] : amounts) {
    if (at == column) return amount;
  }
  return 0;
}

void AddResources(model::ResourceList& sum, const model::ResourceList& more) {
  for (const auto& [name, quantity] : more) sum[name].Add(quantity);
}

}  // namespace coppice::provision
