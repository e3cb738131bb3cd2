#include "batch/yaml_scalar.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <optional>
#include <string>

namespace coppice::batch {
namespace {

template <size_t N>
bool OneOf(std::string_view text, const std::array<std::string_view, N>& words) {
  return std::ranges::find(words, text) != words.end();
}

std::optional<ArgumentValue> FromWord(std::string_view text) {
  static constexpr std::array<std::string_view, 5> kNull{"", "~", "null", "Null", "NULL"};
  static constexpr std::array<std::string_view, 11> kTrue{
      "y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"};
  static constexpr std::array<std::string_view, 11> kFalse{
      "n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"};
  static constexpr std::array<std::string_view, 3> kNan{".nan", ".NaN", ".NAN"};
  static constexpr std::array<std::string_view, 6> kInf{".inf",  ".Inf",  ".INF",
                                                        "+.inf", "+.Inf", "+.INF"};
  static constexpr std::array<std::string_view, 3> kMinusInf{"-.inf", "-.Inf", "-.INF"};
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (OneOf(text, kNull)) return ArgumentValue{};
  if (OneOf(text, kTrue)) return ArgumentValue{true};
  if (OneOf(text, kFalse)) return ArgumentValue{false};
  if (OneOf(text, kNan)) return ArgumentValue{std::nan("")};
  if (OneOf(text, kInf)) return ArgumentValue{kInfinity};
  if (OneOf(text, kMinusInf)) return ArgumentValue{-kInfinity};
  return std::nullopt;
}

// The digits behind sign and prefix.
std::optional<ArgumentValue> FromInt(std::string_view plain) {
  const bool negative = plain.starts_with('-');
  const bool has_sign = negative || plain.starts_with('+');
  if (has_sign) plain.remove_prefix(1);
  int base = 10;
  if (plain.size() > 1 && plain[0] == '0') {
    const char kind = static_cast<char>(plain[1] | 0x20);
    base = kind == 'x' ? 16 : kind == 'b' ? 2 : 8;
    plain.remove_prefix(kind == 'x' || kind == 'b' || kind == 'o' ? 2 : 1);
  }
  uint64_t magnitude = 0;
  const char* end = plain.data() + plain.size();
  const auto [stop, problem] = std::from_chars(plain.data(), end, magnitude, base);
  if (plain.empty() || problem != std::errc() || stop != end) return std::nullopt;
  constexpr auto kMax = static_cast<uint64_t>(std::numeric_limits<int64_t>::max());
  if (negative && magnitude <= kMax + 1) {
    return ArgumentValue{static_cast<int64_t>(-magnitude)};
  }
  if (!negative && magnitude <= kMax) return ArgumentValue{static_cast<int64_t>(magnitude)};
  if (!has_sign) return ArgumentValue{magnitude};
  return std::nullopt;
}

// [-+]? (.digits | digits[.digits?]) ([eE] [-+]? digits)?
std::optional<ArgumentValue> FromFloat(std::string_view plain) {
  size_t at = plain.starts_with('-') || plain.starts_with('+') ? 1 : 0;
  const auto digits = [&] {
    const size_t from = at;
    while (at < plain.size() && plain[at] >= '0' && plain[at] <= '9') ++at;
    return at - from;
  };
  const size_t whole = digits();
  size_t fraction = 0;
  if (at < plain.size() && plain[at] == '.') {
    ++at;
    fraction = digits();
  }
  if (whole + fraction == 0) return std::nullopt;
  if (at < plain.size() && (plain[at] == 'e' || plain[at] == 'E')) {
    ++at;
    if (at < plain.size() && (plain[at] == '-' || plain[at] == '+')) ++at;
    if (digits() == 0) return std::nullopt;
  }
  if (at != plain.size()) return std::nullopt;
  std::string_view number = plain;
  if (number.starts_with('+')) number.remove_prefix(1);
  double value = 0;
  const auto [stop, problem] = std::from_chars(number.data(), number.data() + number.size(), value);
  if (problem == std::errc::result_out_of_range) {
    // Too small is zero, or next to it; too large is a text.
    value = std::strtod(std::string(number).c_str(), nullptr);
    if (std::isinf(value)) return std::nullopt;
  } else if (problem != std::errc()) {
    return std::nullopt;
  }
  return ArgumentValue{value};
}

ArgumentValue FromPlain(const std::string& text) {
  if (auto word = FromWord(text)) return *std::move(word);
  const char first = text[0];
  const bool digit = (first >= '0' && first <= '9') || first == '-' || first == '+';
  if (digit || first == '.') {
    std::string plain = text;
    if (digit) std::erase(plain, '_');
    if (digit) {
      if (auto number = FromInt(plain)) return *std::move(number);
    }
    if (auto number = FromFloat(plain)) return *std::move(number);
  }
  return {text};
}

Result<ArgumentValue> FromScalar(const yaml::Node& node) {
  const std::string& text = node.scalar();
  const yaml::ScalarTag tag = node.tag();
  if (tag == yaml::ScalarTag::kOther || node.quoted()) return ArgumentValue{text};
  ArgumentValue value = FromPlain(text);
  const auto as = [&](bool is, std::string_view what) -> Result<ArgumentValue> {
    if (is) return std::move(value);
    return InvalidArgument("'" + text + "' is not " + std::string(what) + ", as its tag says");
  };
  switch (tag) {
    case yaml::ScalarTag::kNull:
      return as(value.is_null(), "null");
    case yaml::ScalarTag::kBool:
      return as(value.AsBool() != nullptr, "true or false");
    case yaml::ScalarTag::kInt:
      return as(value.AsInt() || value.AsUnsigned(), "an int");
    case yaml::ScalarTag::kFloat:
      if (value.AsInt()) return ArgumentValue{static_cast<double>(*value.AsInt())};
      return as(value.AsFloat() != nullptr, "a float");
    default:
      return value;
  }
}

}  // namespace

Result<ArgumentValue> ToArgument(const yaml::Node& node) {
  switch (node.kind()) {
    case yaml::Node::Kind::kAbsent:
    case yaml::Node::Kind::kNull:
      return ArgumentValue{};
    case yaml::Node::Kind::kScalar:
      return FromScalar(node);
    case yaml::Node::Kind::kList: {
      ArgumentValue::List list;
      for (const yaml::Node& item : node.items()) list.push_back(TRY(ToArgument(item)));
      return ArgumentValue{std::move(list)};
    }
    case yaml::Node::Kind::kMap: {
      ArgumentValue::Map map;
      for (const auto& [key, value] : node.entries()) map[key] = TRY(ToArgument(value));
      return ArgumentValue{std::move(map)};
    }
  }
  return ArgumentValue{};
}

}  // namespace coppice::batch
