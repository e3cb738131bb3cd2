#include "model/label_names.h"

#include <algorithm>

namespace coppice::model {
namespace {

constexpr size_t kMaxName = 63;
constexpr size_t kMaxDomain = 253;

bool IsLowerOrDigit(char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); }
bool IsAlphanumeric(char c) { return IsLowerOrDigit(c) || (c >= 'A' && c <= 'Z'); }

// Letters, digits, '-', '_' and '.' inside; a letter or digit at both ends.
bool IsName(std::string_view name) {
  return !name.empty() && IsAlphanumeric(name.front()) && IsAlphanumeric(name.back()) &&
         std::ranges::all_of(
             name, [](char c) { return IsAlphanumeric(c) || c == '-' || c == '_' || c == '.'; });
}

// Labels of lower-case letters, digits and '-', separated by dots (RFC 1123).
bool IsDomain(std::string_view domain) {
  for (size_t start = 0;;) {
    const size_t dot = domain.find('.', start);
    const std::string_view label = domain.substr(start, dot == domain.npos ? dot : dot - start);
    if (label.empty() || !IsLowerOrDigit(label.front()) || !IsLowerOrDigit(label.back()))
      return false;
    if (!std::ranges::all_of(label, [](char c) { return IsLowerOrDigit(c) || c == '-'; }))
      return false;
    if (dot == domain.npos) return true;
    start = dot + 1;
  }
}

}  // namespace

std::string WrongWithLabelKey(std::string_view key) {
  const size_t slash = key.find('/');
  std::string_view name = key;
  if (slash != key.npos) {
    const std::string_view domain = key.substr(0, slash);
    name = key.substr(slash + 1);
    if (name.find('/') != name.npos) return "must be a name, or a domain, one '/' and a name";
    if (domain.empty()) return "has an empty domain before the '/'";
    if (domain.size() > kMaxDomain) return "has a domain of more than 253 characters";
    if (!IsDomain(domain)) {
      return "has a domain that is not made of lower-case letters, digits, '-' and '.', with a "
             "letter or "
             "digit at both ends of every part";
    }
  }
  if (name.empty()) return "has an empty name";
  if (name.size() > kMaxName) return "has a name of more than 63 characters";
  if (!IsName(name)) {
    return "has a name that is not made of letters, digits, '-', '_' and '.', with a letter or "
           "digit at "
           "both ends";
  }
  return "";
}

std::string WrongWithLabelValue(std::string_view value) {
  if (value.size() > kMaxName) return "has more than 63 characters";
  if (!value.empty() && !IsName(value)) {
    return "is not made of letters, digits, '-', '_' and '.', with a letter or digit at both ends";
  }
  return "";
}

}  // namespace coppice::model
