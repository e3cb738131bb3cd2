// NodeRequirement: what is demanded of, or offered by, one label of a node that may not exist yet.
//
// A set of values or the complement of one, optionally with integer bounds, and a wish for variety
// (minValues) that never decides about compatibility. This is the algebra of node pools: a pool, an
// instance type, an offering and a pod each say what they allow, and what is left is the
// intersection. Deliberately not model::Requirement (selector.h): a label selector asks about
// labels that are there, this one about labels that could be.
//
// Plain values; texts are those of the peer, for they end in events. Keys and values are normalised
// where a requirement is made (LabelRules), never later.

#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "model/pod.h"

namespace coppice::model {

inline constexpr std::string_view kNodePoolLabel = "karpenter.sh/nodepool";
inline constexpr std::string_view kCapacityTypeLabel = "karpenter.sh/capacity-type";
inline constexpr std::string_view kRegisteredLabel = "karpenter.sh/registered";
inline constexpr std::string_view kInitializedLabel = "karpenter.sh/initialized";
inline constexpr std::string_view kZoneLabel = "topology.kubernetes.io/zone";
inline constexpr std::string_view kRegionLabel = "topology.kubernetes.io/region";
inline constexpr std::string_view kInstanceTypeLabel = "node.kubernetes.io/instance-type";
inline constexpr std::string_view kHostnameLabel = "kubernetes.io/hostname";
inline constexpr std::string_view kArchLabel = "kubernetes.io/arch";
inline constexpr std::string_view kOsLabel = "kubernetes.io/os";

inline constexpr std::string_view kSpot = "spot";
inline constexpr std::string_view kOnDemand = "on-demand";
inline constexpr std::string_view kReserved = "reserved";

// One entry of spec.requirements, as an object writes it: also Gte and Lte, also minValues.
struct RequirementSpec {
  std::string key;
  std::string operator_;  // In, NotIn, Exists, DoesNotExist, Gt, Lt, Gte, Lte
  std::vector<std::string> values;
  std::optional<int64_t> min_values;
  friend bool operator==(const RequirementSpec&, const RequirementSpec&) = default;
};

// What a provider of machines knows about labels. The peer keeps these in process-wide variables
// that a provider changes behind everybody's back; here they are handed in.
struct LabelRules {
  // May be undefined on a claim and still be selected: the machine will have them.
  std::set<std::string, std::less<>> well_known;
  std::map<std::string, std::string, std::less<>> normalized_keys;  // alias -> key
  // By normalised key: value -> value.
  std::map<std::string, std::map<std::string, std::string, std::less<>>, std::less<>>
      normalized_values;
  std::set<std::string, std::less<>> restricted;  // never in a pool's or pod's demands
  std::set<std::string, std::less<>>
      restricted_domains;  // and their sub-domains, unless well-known
  std::map<std::string, std::set<std::string, std::less<>>, std::less<>> known_values;

  static const LabelRules& Default();  // what the peer starts with; copy it to add labels

  bool IsWellKnown(std::string_view key) const { return well_known.contains(key); }
  std::string_view NormalizedKey(std::string_view key) const;
  std::string_view NormalizedValue(std::string_view normalized_key, std::string_view value) const;
};

class NodeRequirement {
 public:
  enum class Operator : uint8_t { kIn, kNotIn, kExists, kDoesNotExist };

  // A bound that is no integer counts as 0, as the peer reads it: specs are validated before.
  static NodeRequirement From(const RequirementSpec& spec, const LabelRules& rules);
  static NodeRequirement From(const NodeSelectorRequirement& spec, const LabelRules& rules);
  // These take keys and values as they are.
  static NodeRequirement In(std::string_view key, std::vector<std::string> values);
  static NodeRequirement NotIn(std::string_view key, std::vector<std::string> values);
  static NodeRequirement Exists(std::string_view key);
  static NodeRequirement DoesNotExist(std::string_view key);

  const std::string& key() const { return key_; }
  Operator op() const;  // a bounded one without values reads as Exists
  bool complement() const { return complement_; }
  const std::vector<std::string>& values() const { return values_; }  // sorted, each once
  const std::optional<int64_t>& gte() const { return gte_; }
  const std::optional<int64_t>& lte() const { return lte_; }
  const std::optional<int64_t>& min_values() const { return min_values_; }
  void set_min_values(std::optional<int64_t> count) { min_values_ = count; }

  int64_t Length() const;  // of a complement: the largest int64 less what is excluded
  bool Has(std::string_view value) const;

  NodeRequirement Intersection(const NodeRequirement& other) const;
  bool HasIntersection(const NodeRequirement& other) const;  // the same, without building it

  // A value that fits, or "" if there is none: the smallest of a set, the lower bound of a range.
  // (The peer draws one.)
  std::string Any() const;

  std::string ToString() const;
  // As spec.requirements writes it: one entry, or two if both bounds are set. A bounded one loses
  // the values that it excludes, as with the peer.
  std::vector<RequirementSpec> ToSpec() const;

  friend bool operator==(const NodeRequirement&, const NodeRequirement&) = default;

 private:
  NodeRequirement(std::string_view key, bool complement, std::vector<std::string> values);

  std::string key_;
  bool complement_ = false;
  std::vector<std::string> values_;
  std::optional<int64_t> gte_;
  std::optional<int64_t> lte_;
  std::optional<int64_t> min_values_;
};

std::string_view ToString(NodeRequirement::Operator op);
inline bool AcceptsAbsence(NodeRequirement::Operator op) {
  return op == NodeRequirement::Operator::kNotIn || op == NodeRequirement::Operator::kDoesNotExist;
}

// As Go's strconv.Atoi reads it ("+4" and "007" are integers); none if it is not one of 64 bits.
std::optional<int64_t> GoInteger(std::string_view text);
// The same, with what Atoi returns besides its error: 0, or the nearest bound of int64.
int64_t GoIntegerOrNearest(std::string_view text);

// Empty if a pool or a pod may demand this, else all that is wrong with it, "; " between them.
std::string WrongWithRequirement(const RequirementSpec& spec, const LabelRules& rules);
// Empty if the label may be used at all.
std::string WhyRestricted(std::string_view key, const LabelRules& rules);

}  // namespace coppice::model
