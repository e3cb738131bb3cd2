#include "cloud/instance_type.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <set>
#include <utility>

#include "model/resources.h"

namespace coppice::cloud {
namespace {

constexpr std::string_view kHugePages = "hugepages-";

void AddTo(model::ResourceList& sum, const model::ResourceList& more) {
  for (const auto& [name, amount] : more) sum[name].Add(amount);
}

model::ResourceList Overlaid(model::ResourceList base, const model::ResourceList& over) {
  for (const auto& [name, amount] : over) base[name] = amount;
  return base;
}

// Huge pages are taken out of memory once more: the kubelet reports them beside it.
void TakeHugePages(model::ResourceList& allocatable, const model::ResourceList& capacity) {
  for (const auto& [name, amount] : capacity) {
    if (!name.starts_with(kHugePages)) continue;
    model::Quantity& memory = allocatable[model::kMemory];
    memory.Sub(amount);
    if (memory.Sign() < 0) memory = model::Quantity::FromUnits(0, memory.format());
  }
}

model::ResourceList AllocatableOf(const InstanceType& type, const Offering* override_by) {
  model::ResourceList capacity = type.capacity;
  model::ResourceList overhead = type.overhead.Total();
  if (override_by != nullptr) {
    capacity = Overlaid(std::move(capacity), override_by->capacity_override);
    if (override_by->overhead_override)
      overhead = Overlaid(std::move(overhead), override_by->overhead_override->Total());
  }
  model::ResourceList allocatable = capacity;
  for (auto& [name, amount] : allocatable) {
    if (const model::Quantity* taken = overhead.Find(name)) amount.Sub(*taken);
  }
  TakeHugePages(allocatable, capacity);
  return allocatable;
}

// Go compares overrides by how they print, so a text that differs is another group even if the
// amount is the same.
std::string OverrideText(const Offering& offering) {
  std::string text;
  const auto append = [&text](const model::ResourceList& list) {
    for (const auto& [name, amount] : list) text += fmt::format("{}={},", name, amount.ToString());
    text += '|';
  };
  append(offering.capacity_override);
  if (offering.overhead_override) {
    append(offering.overhead_override->kube_reserved);
    append(offering.overhead_override->system_reserved);
    append(offering.overhead_override->eviction_threshold);
  }
  return text;
}

bool HasOverride(const Offering& offering) {
  return !offering.capacity_override.empty() || offering.overhead_override.has_value();
}

bool Suits(const Offering& offering, const model::NodeRequirements& requirements,
           const model::LabelRules& rules) {
  return requirements.Compatible(offering.requirements, &rules);
}

}  // namespace

model::ResourceList InstanceTypeOverhead::Total() const {
  model::ResourceList sum = kube_reserved;
  AddTo(sum, system_reserved);
  AddTo(sum, eviction_threshold);
  return sum;
}

std::string Offering::CapacityType() const {
  const auto* found = requirements.Find(model::kCapacityTypeLabel);
  return found == nullptr ? "" : found->Any();
}
std::string Offering::Zone() const {
  const auto* found = requirements.Find(model::kZoneLabel);
  return found == nullptr ? "" : found->Any();
}
std::string Offering::ReservationId(std::string_view reservation_label) const {
  const auto* found = requirements.Find(reservation_label);
  return found == nullptr ? "" : found->Any();
}

bool Offering::Launchable() const {
  if (!available) return false;
  const auto* type = requirements.Find(model::kCapacityTypeLabel);
  return type == nullptr || !type->Has(model::kReserved) || reservation_capacity > 0;
}

std::optional<double> InstanceType::OfferingPrice(std::string_view zone,
                                                  std::string_view capacity_type) const {
  for (const Offering& offering : offerings) {
    if (offering.Zone() == zone && offering.CapacityType() == capacity_type) return offering.price;
  }
  return std::nullopt;
}

std::vector<AllocatableGroup> AllocatableGroups(const InstanceType& type) {
  std::vector<AllocatableGroup> groups;
  groups.push_back({.allocatable = AllocatableOf(type, nullptr), .offerings = {}});
  std::vector<std::string> texts = {""};
  for (const Offering& offering : type.offerings) {
    if (!offering.available) continue;
    if (!HasOverride(offering)) {
      groups.front().offerings.push_back(&offering);
      continue;
    }
    const std::string text = OverrideText(offering);
    const auto at = static_cast<size_t>(std::ranges::find(texts.begin() + 1, texts.end(), text) -
                                        texts.begin());
    if (at == texts.size()) {
      texts.push_back(text);
      groups.push_back({.allocatable = AllocatableOf(type, &offering), .offerings = {}});
    }
    groups[at].offerings.push_back(&offering);
  }
  return groups;
}

bool Fits(const model::ResourceList& requests, const model::ResourceList& total) {
  for (const auto& [name, amount] : total) {
    if (amount.Sign() < 0) return false;
  }
  return std::ranges::all_of(requests, [&](const auto& request) {
    const model::Quantity* there = total.Find(request.first);
    return there == nullptr ? request.second.Sign() <= 0 : request.second.Compare(*there) <= 0;
  });
}

double CheapestPrice(const InstanceType& type, const model::NodeRequirements& requirements,
                     const model::LabelRules& rules) {
  double cheapest = kNoPrice;
  for (const Offering& offering : type.offerings) {
    if (offering.Launchable() && offering.price < cheapest &&
        Suits(offering, requirements, rules)) {
      cheapest = offering.price;
    }
  }
  return cheapest;
}

double WorstLaunchPrice(const InstanceType& type, const model::NodeRequirements& requirements,
                        const model::LabelRules& rules) {
  for (const std::string_view wanted : {model::kReserved, model::kSpot, model::kOnDemand}) {
    model::NodeRequirements of_type;
    of_type.Add(model::NodeRequirement::In(model::kCapacityTypeLabel, {std::string(wanted)}));
    std::optional<double> dearest;
    for (const Offering& offering : type.offerings) {
      if (!offering.Launchable() || !Suits(offering, requirements, rules) ||
          !Suits(offering, of_type, rules)) {
        continue;
      }
      dearest = std::max(dearest.value_or(offering.price), offering.price);
    }
    if (dearest) return *dearest;
  }
  return kNoPrice;
}

bool HasCompatibleOffering(const InstanceType& type, const model::NodeRequirements& requirements,
                           const model::LabelRules& rules, bool only_available) {
  return std::ranges::any_of(type.offerings, [&](const Offering& offering) {
    return (offering.available || !only_available) && Suits(offering, requirements, rules);
  });
}

void OrderByPrice(TypeList& types, const model::NodeRequirements& requirements,
                  const model::LabelRules& rules) {
  std::vector<std::pair<double, const InstanceType*>> priced;
  priced.reserve(types.size());
  for (const InstanceType* type : types)
    priced.emplace_back(CheapestPrice(*type, requirements, rules), type);
  std::ranges::sort(priced, [](const auto& a, const auto& b) {
    return a.first != b.first ? a.first < b.first : a.second->name < b.second->name;
  });
  std::ranges::transform(priced, types.begin(), [](const auto& entry) { return entry.second; });
}

std::string MinValuesAnswer::Error() const {
  if (met()) return "";
  std::vector<std::string_view> labels;
  for (const auto& [label, count] : unmet) labels.push_back(label);
  return fmt::format("minValues requirement is not met for label(s) (label(s)=[{}])",
                     fmt::join(labels, " "));
}

MinValuesAnswer SatisfiesMinValues(const TypeList& types,
                                   const model::NodeRequirements& requirements) {
  MinValuesAnswer answer;
  if (!requirements.HasMinValues()) return answer;
  std::map<std::string_view, std::set<std::string_view>> seen;
  for (const InstanceType* type : types) {
    ++answer.needed;
    answer.unmet.clear();
    for (const model::NodeRequirement& wished : requirements) {
      if (!wished.min_values()) continue;
      auto& values = seen[wished.key()];
      if (const auto* offered = type->requirements.Find(wished.key())) {
        for (const std::string& value : offered->values()) {
          if (wished.Has(value)) values.insert(value);
        }
      }
      const auto count = static_cast<int64_t>(values.size());
      if (count < *wished.min_values()) answer.unmet[wished.key()] = count;
    }
    if (answer.met()) return answer;
  }
  return answer;
}

Result<TypeList> Truncate(TypeList types, const model::NodeRequirements& requirements,
                          const model::LabelRules& rules, size_t most, bool strict) {
  OrderByPrice(types, requirements, rules);
  if (types.size() > most) types.resize(most);
  if (strict && requirements.HasMinValues()) {
    const MinValuesAnswer answer = SatisfiesMinValues(types, requirements);
    if (!answer.met()) return FailedPrecondition("validating minValues, " + answer.Error());
  }
  return types;
}

double AdjustedPrice(double price, std::string_view change) {
  if (change.empty()) return price;
  const bool is_change = change.front() == '+' || change.front() == '-';
  const bool is_percent = is_change && change.back() == '%';
  std::string_view number = change;
  if (is_percent) number.remove_suffix(1);
  if (number.starts_with('+')) number.remove_prefix(1);  // from_chars takes only a minus
  double by = 0;
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), by);
  if (error != std::errc() || end != number.data() + number.size()) return price;
  if (!is_change) return by;
  return std::max(0.0, is_percent ? price * (1 + by / 100) : price + by);
}

}  // namespace coppice::cloud
