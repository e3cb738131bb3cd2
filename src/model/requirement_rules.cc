// What may be demanded at all, and the sentences for what may not: the words are the API server's
// and the peer's, for users search for them.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/strings.h"
#include "model/requirement.h"

namespace coppice::model {
namespace {

constexpr size_t kLongestName = 63;
constexpr size_t kLongestDomain = 253;
constexpr std::string_view kNameRule =
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an "
    "alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for "
    "validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
constexpr std::string_view kDomainRule =
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or "
    "'.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used "
    "for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
constexpr std::string_view kValueRule =
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or "
    "'.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  "
    "or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";

bool IsLowerAlnum(char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); }
bool IsAlnum(char c) { return IsLowerAlnum(c) || (c >= 'A' && c <= 'Z'); }

bool IsQualifiedPart(std::string_view name) {
  return !name.empty() && IsAlnum(name.front()) && IsAlnum(name.back()) &&
         std::ranges::all_of(name,
                             [](char c) { return IsAlnum(c) || c == '-' || c == '_' || c == '.'; });
}

bool IsSubdomain(std::string_view domain) {
  return std::ranges::all_of(Split(domain, '.'), [](const std::string& part) {
    return !part.empty() && IsLowerAlnum(part.front()) && IsLowerAlnum(part.back()) &&
           std::ranges::all_of(part, [](char c) { return IsLowerAlnum(c) || c == '-'; });
  });
}

std::vector<std::string> WrongWithQualifiedName(std::string_view key) {
  const auto parts = Split(key, '/');
  if (parts.size() > 2) {
    return {
        fmt::format("a valid label key {} with an optional DNS subdomain prefix and '/' (e.g. "
                    "'example.com/MyName')",
                    kNameRule)};
  }
  std::vector<std::string> wrong;
  if (parts.size() == 2) {
    const std::string& domain = parts.front();
    if (domain.empty()) {
      wrong.emplace_back("prefix part must be non-empty");
    } else {
      if (domain.size() > kLongestDomain)
        wrong.push_back(fmt::format("prefix part must be no more than {} bytes", kLongestDomain));
      if (!IsSubdomain(domain)) wrong.push_back(fmt::format("prefix part {}", kDomainRule));
    }
  }
  const std::string& name = parts.back();
  if (name.empty()) wrong.emplace_back("name part must be non-empty");
  if (name.size() > kLongestName)
    wrong.push_back(fmt::format("name part must be no more than {} bytes", kLongestName));
  if (!IsQualifiedPart(name)) wrong.push_back(fmt::format("name part {}", kNameRule));
  return wrong;
}

std::vector<std::string> WrongWithValue(std::string_view value) {
  std::vector<std::string> wrong;
  if (value.size() > kLongestName)
    wrong.push_back(fmt::format("must be no more than {} bytes", kLongestName));
  if (!value.empty() && !IsQualifiedPart(value)) wrong.emplace_back(kValueRule);
  return wrong;
}

bool IsBoundOperator(std::string_view op) {
  return op == "Gt" || op == "Lt" || op == "Gte" || op == "Lte";
}

std::string WrongWithKnownValues(const RequirementSpec& spec, std::string_view key,
                                 const LabelRules& rules) {
  const auto known = rules.known_values.find(key);
  if (!rules.IsWellKnown(key) || spec.operator_ != "In" || known == rules.known_values.end())
    return "";
  std::vector<std::string> invalid;
  for (const std::string& value : spec.values) {
    if (!known->second.contains(value)) invalid.push_back(value);
  }
  const size_t valid = spec.values.size() - invalid.size();
  if (valid == 0) {
    return fmt::format(
        "no valid values found in [{}] for {}, expected one of: map[{}:{{}}], got: [{}]",
        fmt::join(spec.values, " "), key, fmt::join(known->second, ":{} "),
        fmt::join(invalid, " "));
  }
  if (spec.min_values && static_cast<int64_t>(valid) < *spec.min_values) {
    return fmt::format(
        "not enough valid values found in [{}] for {}, expected at least {} valid values from: "
        "[{}], "
        "got: {}",
        fmt::join(spec.values, " "), key, *spec.min_values, fmt::join(known->second, " "), valid);
  }
  return "";
}

}  // namespace

std::string WhyRestricted(std::string_view key, const LabelRules& rules) {
  if (rules.IsWellKnown(key)) return "";
  const size_t slash = key.find('/');
  const std::string_view domain = slash == key.npos ? "" : key.substr(0, slash);
  const bool in_domain =
      std::ranges::any_of(rules.restricted_domains, [&](const std::string& restricted) {
        return domain == restricted || domain.ends_with("." + restricted);
      });
  if (!in_domain && !rules.restricted.contains(key)) return "";
  return fmt::format(
      "using label {} is not allowed as it might interfere with the internal provisioning logic; "
      "specify a well known label: [{}], or a custom label that does not use a restricted domain: "
      "[{}]",
      key, fmt::join(rules.well_known, " "), fmt::join(rules.restricted_domains, " "));
}

std::string WrongWithRequirement(const RequirementSpec& spec, const LabelRules& rules) {
  const std::string_view key = rules.NormalizedKey(spec.key);
  const std::string_view op = spec.operator_;
  std::vector<std::string> wrong;
  const auto note = [&wrong](std::string what) {
    if (!what.empty()) wrong.push_back(std::move(what));
  };
  const bool is_bound = IsBoundOperator(op);
  if (!is_bound && op != "In" && op != "NotIn" && op != "Exists" && op != "DoesNotExist") {
    note(
        fmt::format("key {} has an unsupported operator {} not in [DoesNotExist Exists Gt Gte In "
                    "Lt Lte NotIn]",
                    key, op));
  }
  note(WhyRestricted(key, rules));
  note(WrongWithKnownValues(spec, key, rules));
  for (const std::string& what : WrongWithQualifiedName(key))
    note(fmt::format("key {} is not a qualified name, {}", key, what));
  for (const std::string& value : spec.values) {
    for (const std::string& what : WrongWithValue(value))
      note(fmt::format("invalid value {} for key {}, {}", value, key, what));
  }
  if (op == "In" && spec.values.empty())
    note(fmt::format("key {} with operator {} must have a value defined", key, op));
  if (op == "In" && spec.min_values &&
      static_cast<int64_t>(spec.values.size()) < *spec.min_values) {
    note(
        fmt::format("key {} with operator {} must have at least minimum number of values defined "
                    "in 'values' field",
                    key, op));
  }
  if (is_bound) {
    const auto number = spec.values.size() == 1 ? GoInteger(spec.values.front()) : std::nullopt;
    if (!number || *number < 0) {
      note(fmt::format("key {} with operator {} must have a single positive integer value", key,
                       op));
    }
  }
  return Join(wrong, "; ");
}

}  // namespace coppice::model
