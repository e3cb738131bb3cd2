#include "grpc/framing.h"

#include <algorithm>
#include <charconv>

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

}  // namespace coppice::grpc
