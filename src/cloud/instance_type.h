// Instance types: what a node pool can buy, where, and at what price.
//
// A type is a machine as it will look as a node (labels, capacity, what the kubelet keeps); an
// offering is one place and way to buy it (zone, capacity type, reservation), available or not.
// Plain values that a provider hands out and nobody changes; all types are listed, also those of
// which nothing is available just now.
//
// Pure functions, no state. The solver has bitsets of its own for these questions; here they are
// asked plainly, for prices, truncation, drift and error texts.

#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "model/requirements.h"

namespace coppice::cloud {

inline constexpr double kNoPrice = std::numeric_limits<double>::max();

struct InstanceTypeOverhead {
  model::ResourceList kube_reserved;
  model::ResourceList system_reserved;
  model::ResourceList eviction_threshold;
  model::ResourceList Total() const;
  friend bool operator==(const InstanceTypeOverhead&, const InstanceTypeOverhead&) = default;
};

struct Offering {
  model::NodeRequirements requirements;  // at least capacity type and zone
  double price = 0;
  bool available = true;             // healthy; a full reservation is available, too
  int64_t reservation_capacity = 0;  // of capacity type reserved only
  // Over the type's own, key by key.
  model::ResourceList capacity_override;
  std::optional<InstanceTypeOverhead> overhead_override;
  friend bool operator==(const Offering&, const Offering&) = default;

  std::string CapacityType() const;  // "" if it does not say
  std::string Zone() const;
  std::string ReservationId(std::string_view reservation_label) const;
  // Can be bought now: available, and if reserved, not full.
  bool Launchable() const;
};

struct InstanceType {
  std::string name;
  model::NodeRequirements requirements;  // every well-known label, be it DoesNotExist
  std::vector<Offering> offerings;
  model::ResourceList capacity;
  InstanceTypeOverhead overhead;
  // By CSI driver; a driver that is not named has no limit. What a node's CSINode says wins.
  std::map<std::string, int64_t> volume_attachment_limits;
  friend bool operator==(const InstanceType&, const InstanceType&) = default;

  // Price of the first offering there, available or not.
  std::optional<double> OfferingPrice(std::string_view zone, std::string_view capacity_type) const;
};

using InstanceTypes = std::vector<InstanceType>;

// What pods can have of a type, and the available offerings that give it. The first group is the
// type's own (perhaps without offerings), then one per pair of overrides, in the order of
// offerings.
struct AllocatableGroup {
  model::ResourceList allocatable;
  std::vector<const Offering*> offerings;
};
std::vector<AllocatableGroup> AllocatableGroups(const InstanceType& type);

// Also false if any amount of `total` is negative, asked for or not.
bool Fits(const model::ResourceList& requests, const model::ResourceList& total);

// Of what can be bought now under these requirements; kNoPrice if there is nothing.
double CheapestPrice(const InstanceType& type, const model::NodeRequirements& requirements,
                     const model::LabelRules& rules);
// The dearest offering of the capacity type that would be bought: reserved, else spot, else
// on-demand.
double WorstLaunchPrice(const InstanceType& type, const model::NodeRequirements& requirements,
                        const model::LabelRules& rules);
bool HasCompatibleOffering(const InstanceType& type, const model::NodeRequirements& requirements,
                           const model::LabelRules& rules, bool only_available);

using TypeList = std::vector<const InstanceType*>;

// Cheapest first; equal prices by name.
void OrderByPrice(TypeList& types, const model::NodeRequirements& requirements,
                  const model::LabelRules& rules);

// Whether the types, in this order, have as many different values as the requirements wish for.
struct MinValuesAnswer {
  size_t needed = 0;                     // types of the list until all wishes are met
  std::map<std::string, int64_t> unmet;  // label -> different values that there are
  bool met() const { return unmet.empty(); }
  std::string Error() const;  // the peer's sentence; empty if met
};
MinValuesAnswer SatisfiesMinValues(const TypeList& types,
                                   const model::NodeRequirements& requirements);

// The `most` cheapest. Refused if they do not meet minValues and `strict` asks for it.
Result<TypeList> Truncate(TypeList types, const model::NodeRequirements& requirements,
                          const model::LabelRules& rules, size_t most, bool strict);

// A price changed as an overlay writes it: "0.5" replaces, "+0.1" adds, "-25%" scales; never below
// 0. A change that is no number changes nothing.
double AdjustedPrice(double price, std::string_view change);

}  // namespace coppice::cloud
