// Amounts of resources as numbers in columns: what is compared in the solver's loops.
//
// Exact: a quantity has at most nine digits after the point, so 128 bits of billionths hold
// everything that a machine can have (more than 10^29 units counts as that much).

#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "model/pod.h"

namespace coppice::provision {

__extension__ typedef __int128 Amount;

Amount ToAmount(const model::Quantity& quantity);

using Column = uint32_t;
using SparseAmounts = std::vector<std::pair<Column, Amount>>;  // by column
using DenseAmounts = std::vector<Amount>;                      // one per column

class ResourceColumns {
 public:
  ResourceColumns();
  static constexpr Column kCpuColumn = 0;
  static constexpr Column kMemoryColumn = 1;

  Column Of(std::string_view resource);
  size_t size() const { return names_.size(); }
  const std::string& name(Column column) const { return names_[column]; }
  SparseAmounts Sparse(const model::ResourceList& list);

 private:
  std::unordered_map<std::string, Column> columns_;
  std::vector<std::string> names_;
};

inline void AddAmounts(DenseAmounts& sum, const SparseAmounts& more) {
  for (const auto& [column, amount] : more) sum[column] += amount;
}
Amount AmountOf(const SparseAmounts& amounts, Column column);  // 0 if absent

// Sums of lists, with quantities as the API writes them.
void AddResources(model::ResourceList& sum, const model::ResourceList& more);

}  // namespace coppice::provision
