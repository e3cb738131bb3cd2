#include "model/requirement.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <limits>
#include <utility>

#include "base/strings.h"

namespace coppice::model {
namespace {

using Values = std::vector<std::string>;

bool WithinBounds(std::string_view value, const std::optional<int64_t>& gte,
                  const std::optional<int64_t>& lte) {
  if (!gte && !lte) return true;
  const auto number = GoInteger(value);  // a bound lets integers through and nothing else
  return number && (!gte || *number >= *gte) && (!lte || *number <= *lte);
}

std::optional<int64_t> Larger(const std::optional<int64_t>& a, const std::optional<int64_t>& b) {
  if (!a || !b) return a ? a : b;
  return std::max(*a, *b);
}

std::optional<int64_t> Smaller(const std::optional<int64_t>& a, const std::optional<int64_t>& b) {
  if (!a || !b) return a ? a : b;
  return std::min(*a, *b);
}

bool ContainsValue(const Values& sorted, std::string_view value) {
  return std::binary_search(sorted.begin(), sorted.end(), value);
}

int64_t FirstInteger(const Values& values) {
  return values.empty() ? 0 : GoIntegerOrNearest(values.front());
}

}  // namespace

const LabelRules& LabelRules::Default() {
  static const LabelRules kRules{
      .well_known = {std::string(kNodePoolLabel), std::string(kZoneLabel),
                     std::string(kRegionLabel), std::string(kInstanceTypeLabel),
                     std::string(kArchLabel), std::string(kOsLabel),
                     std::string(kCapacityTypeLabel), "node.kubernetes.io/windows-build"},
      .normalized_keys = {{"failure-domain.beta.kubernetes.io/zone", std::string(kZoneLabel)},
                          {"failure-domain.beta.kubernetes.io/region", std::string(kRegionLabel)},
                          {"beta.kubernetes.io/arch", std::string(kArchLabel)},
                          {"beta.kubernetes.io/os", std::string(kOsLabel)},
                          {"beta.kubernetes.io/instance-type", std::string(kInstanceTypeLabel)}},
      .restricted = {std::string(kHostnameLabel)},
      .restricted_domains = {"karpenter.sh"},
      .known_values = {{std::string(kCapacityTypeLabel),
                        {std::string(kOnDemand), std::string(kSpot), std::string(kReserved)}}},
  };
  return kRules;
}

std::string_view LabelRules::NormalizedKey(std::string_view key) const {
  const auto it = normalized_keys.find(key);
  return it == normalized_keys.end() ? key : it->second;
}

std::string_view LabelRules::NormalizedValue(std::string_view normalized_key,
                                             std::string_view value) const {
  const auto of_key = normalized_values.find(normalized_key);
  if (of_key == normalized_values.end()) return value;
  const auto it = of_key->second.find(value);
  return it == of_key->second.end() ? value : it->second;
}

NodeRequirement::NodeRequirement(std::string_view key, bool complement, Values values)
    : key_(key), complement_(complement), values_(std::move(values)) {
  std::ranges::sort(values_);
  values_.erase(std::ranges::unique(values_).begin(), values_.end());
}

NodeRequirement NodeRequirement::From(const RequirementSpec& spec, const LabelRules& rules) {
  const std::string_view key = rules.NormalizedKey(spec.key);
  Values values;
  values.reserve(spec.values.size());
  for (const std::string& value : spec.values)
    values.emplace_back(rules.NormalizedValue(key, value));
  const std::string_view op = spec.operator_;
  if (op == "Gt" && FirstInteger(values) == std::numeric_limits<int64_t>::max()) {
    return DoesNotExist(key);  // nothing is larger; the peer forgets minValues here, too
  }
  const bool complement = op != "In" && op != "DoesNotExist";
  NodeRequirement made(key, complement, op == "In" || op == "NotIn" ? values : Values());
  made.min_values_ = spec.min_values;
  if (op == "Gt") made.gte_ = FirstInteger(values) + 1;
  if (op == "Gte") made.gte_ = FirstInteger(values);
  if (op == "Lte") made.lte_ = FirstInteger(values);
  if (op == "Lt") {  // wraps at the smallest integer, as Go does
    made.lte_ = static_cast<int64_t>(static_cast<uint64_t>(FirstInteger(values)) - 1);
  }
  return made;
}

NodeRequirement NodeRequirement::From(const NodeSelectorRequirement& spec,
                                      const LabelRules& rules) {
  return From(RequirementSpec{.key = spec.key, .operator_ = spec.operator_, .values = spec.values},
              rules);
}

NodeRequirement NodeRequirement::In(std::string_view key, Values values) {
  return NodeRequirement(key, false, std::move(values));
}
NodeRequirement NodeRequirement::NotIn(std::string_view key, Values values) {
  return NodeRequirement(key, true, std::move(values));
}
NodeRequirement NodeRequirement::Exists(std::string_view key) {
  return NodeRequirement(key, true, {});
}
NodeRequirement NodeRequirement::DoesNotExist(std::string_view key) {
  return NodeRequirement(key, false, {});
}

NodeRequirement::Operator NodeRequirement::op() const {
  if (complement_) return values_.empty() ? Operator::kExists : Operator::kNotIn;
  return values_.empty() ? Operator::kDoesNotExist : Operator::kIn;
}

int64_t NodeRequirement::Length() const {
  const auto count = static_cast<int64_t>(values_.size());
  return complement_ ? std::numeric_limits<int64_t>::max() - count : count;
}

bool NodeRequirement::Has(std::string_view value) const {
  return ContainsValue(values_, value) != complement_ && WithinBounds(value, gte_, lte_);
}

NodeRequirement NodeRequirement::Intersection(const NodeRequirement& other) const {
  const auto gte = Larger(gte_, other.gte_);
  const auto lte = Smaller(lte_, other.lte_);
  NodeRequirement both = DoesNotExist(key_);
  both.min_values_ = Larger(min_values_, other.min_values_);
  if (gte && lte && *gte > *lte) return both;
  both.complement_ = complement_ && other.complement_;
  const auto into = std::back_inserter(both.values_);
  if (both.complement_) {
    std::ranges::set_union(values_, other.values_, into);
  } else if (complement_) {
    std::ranges::set_difference(other.values_, values_, into);
  } else if (other.complement_) {
    std::ranges::set_difference(values_, other.values_, into);
  } else {
    std::ranges::set_intersection(values_, other.values_, into);
  }
  std::erase_if(both.values_,
                [&](const std::string& value) { return !WithinBounds(value, gte, lte); });
  if (both.complement_) {  // a set of values has no need of bounds any more
    both.gte_ = gte;
    both.lte_ = lte;
  }
  return both;
}

bool NodeRequirement::HasIntersection(const NodeRequirement& other) const {
  const auto gte = Larger(gte_, other.gte_);
  const auto lte = Smaller(lte_, other.lte_);
  if (gte && lte && *gte > *lte) return false;
  if (complement_ && other.complement_) return true;
  const NodeRequirement& some = complement_ ? other : *this;  // its values are given
  const NodeRequirement& rest = complement_ ? *this : other;
  return std::ranges::any_of(some.values_, [&](const std::string& value) {
    return ContainsValue(rest.values_, value) != rest.complement_ && WithinBounds(value, gte, lte);
  });
}

std::string NodeRequirement::Any() const {
  if (!complement_) return values_.empty() ? "" : values_.front();
  // Excluded values are not looked at, as with the peer.
  return std::to_string(gte_ ? *gte_ : 0);
}

std::string NodeRequirement::ToString() const {
  std::string text = fmt::format("{} {}", key_, model::ToString(op()));
  if (!values_.empty()) {
    constexpr size_t kShown = 5;
    const auto end =
        values_.begin() + static_cast<std::ptrdiff_t>(std::min(kShown, values_.size()));
    text += fmt::format(" [{}", fmt::join(values_.begin(), end, " "));
    if (values_.size() > kShown) text += fmt::format(" and {} others", values_.size() - kShown);
    text += "]";
  }
  if (gte_) text += fmt::format(" >={}", *gte_);
  if (lte_) text += fmt::format(" <={}", *lte_);
  if (min_values_) text += fmt::format(" minValues {}", *min_values_);
  return text;
}

std::vector<RequirementSpec> NodeRequirement::ToSpec() const {
  const auto entry = [this](std::string_view op, Values values) {
    return RequirementSpec{.key = key_,
                           .operator_ = std::string(op),
                           .values = std::move(values),
                           .min_values = min_values_};
  };
  std::vector<RequirementSpec> specs;
  if (gte_) specs.push_back(entry("Gte", {std::to_string(*gte_)}));
  if (lte_) specs.push_back(entry("Lte", {std::to_string(*lte_)}));
  if (specs.empty()) specs.push_back(entry(model::ToString(op()), values_));
  return specs;
}

std::string_view ToString(NodeRequirement::Operator op) {
  switch (op) {
    case NodeRequirement::Operator::kIn:
      return "In";
    case NodeRequirement::Operator::kNotIn:
      return "NotIn";
    case NodeRequirement::Operator::kExists:
      return "Exists";
    case NodeRequirement::Operator::kDoesNotExist:
      return "DoesNotExist";
  }
  return "";
}

namespace {

// Digits with a sign; `overflow` tells that they were fine but too many.
std::optional<int64_t> ReadInteger(std::string_view text, bool& overflow) {
  overflow = false;
  const bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) text.remove_prefix(1);
  if (text.empty()) return std::nullopt;
  constexpr uint64_t kLargest = std::numeric_limits<int64_t>::max();
  const uint64_t bound = negative ? kLargest + 1 : kLargest;
  uint64_t number = 0;
  for (const char c : text) {
    if (c < '0' || c > '9') return std::nullopt;
    const auto digit = static_cast<uint64_t>(c - '0');
    if (!overflow && number > (bound - digit) / 10) overflow = true;
    if (!overflow) number = number * 10 + digit;
  }
  if (overflow) number = bound;
  return negative ? static_cast<int64_t>(~number + 1) : static_cast<int64_t>(number);
}

}  // namespace

std::optional<int64_t> GoInteger(std::string_view text) {
  bool overflow = false;
  const auto number = ReadInteger(text, overflow);
  return overflow ? std::nullopt : number;
}

int64_t GoIntegerOrNearest(std::string_view text) {
  bool overflow = false;
  return ReadInteger(text, overflow).value_or(0);
}

}  // namespace coppice::model
