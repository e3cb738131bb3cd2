#include "plugins/batch/resourcequota/go_text.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cstdint>
#include <string_view>
#include <utility>

#include "base/strings.h"

namespace coppice::batch::resourcequota {
namespace {

struct Suffix {
  std::string_view text;
  int exponent;  // of ten, or of two
  bool binary = false;
};
constexpr std::array<Suffix, 16> kSuffixes{{{"", 0},
                                            {"n", -9},
                                            {"u", -6},
                                            {"m", -3},
                                            {"k", 3},
                                            {"M", 6},
                                            {"G", 9},
                                            {"T", 12},
                                            {"P", 15},
                                            {"E", 18},
                                            {"Ki", 10, true},
                                            {"Mi", 20, true},
                                            {"Gi", 30, true},
                                            {"Ti", 40, true},
                                            {"Pi", 50, true},
                                            {"Ei", 60, true}}};

// Value and scale are what the text was read as: digits without the point, and where it stands.
std::string GoQuantity(const model::Quantity& quantity) {
  const std::string text = quantity.ToString();
  if (text == "0") return "{{0 0} {<nil>} 0 }";
  std::string_view rest = text;
  const bool negative = rest.starts_with('-');
  if (negative || rest.starts_with('+')) rest.remove_prefix(1);
  std::string digits;
  int scale = 0;
  bool after_point = false;
  while (!rest.empty() && (rest[0] == '.' || (rest[0] >= '0' && rest[0] <= '9'))) {
    if (rest[0] == '.') {
      after_point = true;
    } else {
      digits += rest[0];
      if (after_point) --scale;
    }
    rest.remove_prefix(1);
  }
  const Suffix* suffix = nullptr;
  for (const Suffix& known : kSuffixes) {
    if (known.text == rest) suffix = &known;
  }
  int64_t value = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (suffix && suffix->binary) {
    value = static_cast<int64_t>(static_cast<uint64_t>(value) << suffix->exponent);
  } else if (suffix) {
    scale += suffix->exponent;
  }
  return fmt::format("{{{{{} {}}} {{<nil>}} {} {}}}", negative ? -value : value, scale, text,
                     model::ToString(quantity.format()));
}

}  // namespace

std::string GoText(const model::ResourceList& list) {
  std::vector<std::string> parts;
  for (const auto& [name, amount] : list) parts.push_back(name + ":" + GoQuantity(amount));
  return "map[" + Join(parts, " ") + "]";
}

}  // namespace coppice::batch::resourcequota
