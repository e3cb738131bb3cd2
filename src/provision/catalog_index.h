// CatalogIndex: a list of instance types as sets of bits, so that "which of these are left?" is a
// few ANDs instead of a loop over types, requirements and offerings.
//
// A slot is a type with one of its groups of overrides (cloud::AllocatableGroup): most types have
// one. A type is left if one of its slots has room and a suitable available offering.
//
// Answers per interned set are remembered; sets come from the one Algebra that is handed in.

#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "cloud/instance_type.h"
#include "provision/algebra.h"
#include "provision/amounts.h"
#include "provision/bits.h"

namespace coppice::provision {

class CatalogIndex {
 public:
  CatalogIndex(const cloud::InstanceTypes& types, std::string_view reservation_label,
               Algebra& algebra, ResourceColumns& columns);

  size_t size() const { return types_.size(); }
  const cloud::InstanceType& type(size_t at) const { return types_[at]; }
  const SparseAmounts& capacity(size_t at) const { return capacities_[at]; }

  // Types whose requirements intersect the set.
  const Bits& Matching(SetId set);
  // Slots with an available offering that is compatible with the set.
  const Bits& Offered(SetId set);
  // Slots with room for this. `slots` is overwritten.
  void Fitting(const DenseAmounts& requests, Bits& slots) const;
  // Types of which a slot is in there. `types` is overwritten.
  void TypesOf(const Bits& slots, Bits& types) const;
  size_t slots() const { return slot_types_.size(); }

  struct ReservedOffering {
    size_t type;
    SetId requirements;
    std::string id;
    int64_t capacity;
  };
  // The available ones; few providers have any.
  const std::vector<ReservedOffering>& reserved() const { return reserved_; }
  // Types with an available offering compatible with the set that is not reserved.
  const Bits& UnreservedTypes(SetId set);
  // All reserved offerings, available or not: what the ledger of reservations starts with.
  const std::vector<std::pair<std::string, int64_t>>& reservation_capacities() const {
    return reservation_capacities_;
  }

  cloud::TypeList List(const Bits& types) const;
  // All types, cheapest first of what can be bought now under the set; equal prices by name.
  const std::vector<uint32_t>& PriceOrder(SetId set);

 private:
  struct OfferingKind {  // slots whose available offerings have these requirements
    SetId requirements;
    Bits slots;
    Bits unreserved_types;
  };
  struct KeyValues {  // types by what they say about one label
    std::vector<std::pair<ReqId, Bits>> types;
    Bits undefined;
  };
  struct ColumnSteps {  // slots with at least so much, by rising amount
    std::vector<Amount> amounts;
    std::vector<Bits> slots;
  };

  void IndexSlots(size_t type, Algebra& algebra, ResourceColumns& columns,
                  std::vector<std::vector<std::pair<Amount, size_t>>>& by_column);
  const Bits& MatchingOne(ReqId requirement);

  const cloud::InstanceTypes& types_;
  std::string reservation_label_;
  Algebra& algebra_;
  std::vector<SparseAmounts> capacities_;
  std::vector<uint32_t> slot_types_;
  bool slots_are_types_ = true;
  Bits healthy_slots_;  // no amount below zero
  std::vector<ColumnSteps> columns_;
  std::vector<OfferingKind> offering_kinds_;
  std::vector<KeyValues> by_key_;  // by KeyId; empty for labels that no type names
  std::vector<ReservedOffering> reserved_;
  std::vector<std::pair<std::string, int64_t>> reservation_capacities_;
  // By ReqId or SetId; null until asked for.
  std::vector<std::unique_ptr<Bits>> matching_one_;
  std::vector<std::unique_ptr<Bits>> matching_;
  std::vector<std::unique_ptr<Bits>> offered_;
  std::vector<std::unique_ptr<Bits>> unreserved_;
  std::vector<std::unique_ptr<std::vector<uint32_t>>> price_orders_;
  struct Price {
    SetId requirements;
    double price;
  };
  std::vector<std::vector<Price>> prices_;  // by type: of what can be bought now
};

}  // namespace coppice::provision
