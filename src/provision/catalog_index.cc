#include "provision/catalog_index.h"

#include <algorithm>
#include <utility>

namespace coppice::provision {
namespace {

std::unique_ptr<Bits>& Remembered(std::vector<std::unique_ptr<Bits>>& memo, uint32_t id) {
  if (memo.size() <= id) memo.resize(id + 1);
  return memo[id];
}

}  // namespace

CatalogIndex::CatalogIndex(const cloud::InstanceTypes& types, std::string_view reservation_label,
                           Algebra& algebra, ResourceColumns& columns)
    : types_(types), reservation_label_(reservation_label), algebra_(algebra) {
  std::vector<std::vector<std::pair<Amount, size_t>>> by_column;
  for (size_t at = 0; at < types_.size(); ++at) {
    const cloud::InstanceType& type = types_[at];
    capacities_.push_back(columns.Sparse(type.capacity));
    IndexSlots(at, algebra, columns, by_column);
    for (const model::NodeRequirement& requirement : type.requirements) {
      const ReqId id = algebra.Intern(requirement);
      const KeyId key = algebra.key_of(id);
      if (by_key_.size() <= key) by_key_.resize(key + 1);
      auto& kinds = by_key_[key].types;
      auto kind = std::ranges::find(kinds, id, [](const auto& entry) { return entry.first; });
      if (kind == kinds.end()) kind = kinds.insert(kinds.end(), {id, NoBits(types_.size())});
      SetBit(kind->second, at);
    }
  }
  for (KeyValues& values : by_key_) {
    values.undefined = AllBits(types_.size());
    for (const auto& [id, these] : values.types) DropBits(values.undefined, these);
  }
  healthy_slots_.resize(WordsFor(slots()));
  for (OfferingKind& kind : offering_kinds_) kind.slots.resize(WordsFor(slots()));
  columns_.resize(by_column.size());
  for (size_t column = 0; column < by_column.size(); ++column) {
    auto& entries = by_column[column];
    std::ranges::sort(entries, std::greater<>());
    ColumnSteps& steps = columns_[column];
    Bits so_far = NoBits(slots());
    for (size_t i = 0; i < entries.size(); ++i) {
      SetBit(so_far, entries[i].second);
      if (i + 1 < entries.size() && entries[i + 1].first == entries[i].first) continue;
      steps.amounts.push_back(entries[i].first);
      steps.slots.push_back(so_far);
    }
    std::ranges::reverse(steps.amounts);
    std::ranges::reverse(steps.slots);
  }
}

void CatalogIndex::IndexSlots(size_t type, Algebra& algebra, ResourceColumns& columns,
                              std::vector<std::vector<std::pair<Amount, size_t>>>& by_column) {
  const auto groups = cloud::AllocatableGroups(types_[type]);
  slots_are_types_ = slots_are_types_ && groups.size() == 1;
  for (const cloud::AllocatableGroup& group : groups) {
    const size_t slot = slot_types_.size();
    slot_types_.push_back(static_cast<uint32_t>(type));
    healthy_slots_.resize(WordsFor(slot + 1));
    bool healthy = true;
    for (const auto& [column, amount] : columns.Sparse(group.allocatable)) {
      if (by_column.size() <= column) by_column.resize(column + 1);
      by_column[column].emplace_back(amount, slot);
      healthy = healthy && amount >= 0;
    }
    if (healthy) SetBit(healthy_slots_, slot);
    for (const cloud::Offering* offering : group.offerings) {
      const SetId set = algebra.Intern(offering->requirements);
      auto kind = std::ranges::find(offering_kinds_, set, &OfferingKind::requirements);
      if (kind == offering_kinds_.end())
        kind = offering_kinds_.insert(kind, {set, {}, NoBits(types_.size())});
      kind->slots.resize(WordsFor(slot + 1));
      SetBit(kind->slots, slot);
      if (offering->CapacityType() != model::kReserved) {
        SetBit(kind->unreserved_types, type);
      } else {
        reserved_.push_back({type, set, offering->ReservationId(reservation_label_),
                             offering->reservation_capacity});
      }
    }
  }
  auto& prices = prices_.emplace_back();
  for (const cloud::Offering& offering : types_[type].offerings) {
    if (offering.Launchable())
      prices.push_back({algebra.Intern(offering.requirements), offering.price});
    if (offering.CapacityType() == model::kReserved) {
      reservation_capacities_.emplace_back(offering.ReservationId(reservation_label_),
                                           offering.reservation_capacity);
    }
  }
}

const Bits& CatalogIndex::MatchingOne(ReqId requirement) {
  std::unique_ptr<Bits>& known = Remembered(matching_one_, requirement);
  if (known != nullptr) return *known;
  const KeyId key = algebra_.key_of(requirement);
  if (key >= by_key_.size()) {
    known = std::make_unique<Bits>(AllBits(size()));
    return *known;
  }
  Bits matching = by_key_[key].undefined;
  for (const auto& [id, these] : by_key_[key].types) {
    if (algebra_.Meet(id, requirement)) AddBits(matching, these);
  }
  known = std::make_unique<Bits>(std::move(matching));
  return *known;
}

const Bits& CatalogIndex::Matching(SetId set) {
  std::unique_ptr<Bits>& known = Remembered(matching_, set);
  if (known != nullptr) return *known;
  Bits matching = AllBits(size());
  for (const ReqId requirement : algebra_.members(set))
    KeepOnly(matching, MatchingOne(requirement));
  known = std::make_unique<Bits>(std::move(matching));
  return *known;
}

const Bits& CatalogIndex::Offered(SetId set) {
  std::unique_ptr<Bits>& known = Remembered(offered_, set);
  if (known != nullptr) return *known;
  Bits offered = NoBits(slots());
  for (const OfferingKind& kind : offering_kinds_) {
    if (algebra_.Compatible(set, kind.requirements, true)) AddBits(offered, kind.slots);
  }
  known = std::make_unique<Bits>(std::move(offered));
  return *known;
}

const Bits& CatalogIndex::UnreservedTypes(SetId set) {
  std::unique_ptr<Bits>& known = Remembered(unreserved_, set);
  if (known != nullptr) return *known;
  Bits types = NoBits(size());
  for (const OfferingKind& kind : offering_kinds_) {
    if (algebra_.Compatible(set, kind.requirements, true)) AddBits(types, kind.unreserved_types);
  }
  known = std::make_unique<Bits>(std::move(types));
  return *known;
}

void CatalogIndex::Fitting(const DenseAmounts& requests, Bits& slots) const {
  slots = healthy_slots_;
  for (size_t column = 0; column < requests.size(); ++column) {
    const Amount asked = requests[column];
    if (asked <= 0) continue;  // what a slot does not have is 0 of it
    if (column >= columns_.size()) {
      std::ranges::fill(slots, 0);
      return;
    }
    const ColumnSteps& steps = columns_[column];
    const auto step = std::ranges::lower_bound(steps.amounts, asked);
    if (step == steps.amounts.end()) {
      std::ranges::fill(slots, 0);
      return;
    }
    KeepOnly(slots, steps.slots[static_cast<size_t>(step - steps.amounts.begin())]);
  }
}

void CatalogIndex::TypesOf(const Bits& slots, Bits& types) const {
  if (slots_are_types_) {
    types = slots;
    return;
  }
  types.assign(WordsFor(size()), 0);
  ForEachBit(slots, [&](size_t slot) { SetBit(types, slot_types_[slot]); });
}

const std::vector<uint32_t>& CatalogIndex::PriceOrder(SetId set) {
  if (price_orders_.size() <= set) price_orders_.resize(set + 1);
  auto& known = price_orders_[set];
  if (known != nullptr) return *known;
  std::vector<double> cheapest(size(), cloud::kNoPrice);
  auto order = std::make_unique<std::vector<uint32_t>>(size());
  for (size_t type = 0; type < size(); ++type) {
    (*order)[type] = static_cast<uint32_t>(type);
    for (const Price& price : prices_[type]) {
      if (price.price < cheapest[type] && algebra_.Compatible(set, price.requirements, true))
        cheapest[type] = price.price;
    }
  }
  std::ranges::sort(*order, [&](uint32_t a, uint32_t b) {
    return cheapest[a] != cheapest[b] ? cheapest[a] < cheapest[b] : types_[a].name < types_[b].name;
  });
  known = std::move(order);
  return *known;
}

cloud::TypeList CatalogIndex::List(const Bits& types) const {
  cloud::TypeList list;
  ForEachBit(types, [&](size_t at) { list.push_back(&types_[at]); });
  return list;
}

}  // namespace coppice::provision
