#include "grpc/framing.h"

#include <algorithm>
#include <charconv>
#include <utility>

namespace coppice::grpc {
namespace {

// A client refuses headers that are too long, and then the reason would be lost altogether.
constexpr size_t kMaxStatusText = 6'000;

}  // namespace

size_t LengthOf(std::string_view prefix) {
  size_t length = 0;
  for (size_t i = 1; i < kPrefix; ++i) length = length << 8 | static_cast<unsigned char>(prefix[i]);
  return length;
}

void WritePrefix(char* out, size_t length) {
  out[0] = 0;
  for (size_t i = 1; i < kPrefix; ++i)
    out[i] = static_cast<char>(length >> (8 * (kPrefix - 1 - i)) & 0xff);
}

std::string PercentEncode(std::string_view text) {
  static constexpr char kHex[] = "0123456789ABCDEF";
  std::string encoded;
  for (const char c : text.substr(0, kMaxStatusText)) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte <= 0x7e && byte != '%') {
      encoded += c;
    } else {
      encoded += '%';
      encoded += kHex[byte >> 4];
      encoded += kHex[byte & 15];
    }
  }
  if (text.size() > kMaxStatusText) encoded += " ...";
  return encoded;
}

std::string PercentDecode(std::string_view text) {
  const auto digit = [](char c) {
    if (c >= '0' && c <= '9') return c - '0';
    const char lower = static_cast<char>(c | 0x20);
    return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
  };
  std::string decoded;
  for (size_t i = 0; i < text.size(); ++i) {
    const bool escape =
        text[i] == '%' && i + 2 < text.size() && digit(text[i + 1]) >= 0 && digit(text[i + 2]) >= 0;
    decoded += escape ? static_cast<char>(digit(text[i + 1]) * 16 + digit(text[i + 2])) : text[i];
    if (escape) i += 2;
  }
  return decoded;
}

std::optional<Duration> ParseTimeout(std::string_view text) {
  if (text.size() < 2 || text.size() > 9) return std::nullopt;
  int64_t n = 0;
  const char* end = text.data() + text.size() - 1;
  const auto [stop, error] = std::from_chars(text.data(), end, n);
  if (error != std::errc() || stop != end || n < 0) return std::nullopt;
  switch (text.back()) {
    case 'H':
      return std::chrono::hours(std::min<int64_t>(n, 1'000'000));
    case 'M':
      return std::chrono::minutes(n);
    case 'S':
      return std::chrono::seconds(n);
    case 'm':
      return std::chrono::milliseconds(n);
    case 'u':
      return std::chrono::microseconds(n);
    case 'n':
      return std::chrono::nanoseconds(n);
    default:
      return std::nullopt;
  }
}

std::string FormatTimeout(Duration time) {
  constexpr int64_t kMost = 99'999'999;  // eight digits
  const int64_t nanos = std::max<int64_t>(time.count(), 1);
  constexpr std::pair<int64_t, char> kUnits[] = {{1'000, 'u'}, {1'000'000, 'm'}};
  for (const auto& [unit, letter] : kUnits) {
    const int64_t count = nanos / unit + (nanos % unit != 0);
    if (count <= kMost) return std::to_string(count) + letter;
  }
  return std::to_string(std::min(nanos / 1'000'000'000 + 1, kMost)) + 'S';
}

}  // namespace coppice::grpc
