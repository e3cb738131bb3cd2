#include "wire/utf8.h"

namespace coppice::wire {
namespace {

// The length of the well-formed sequence at `p`, or 0. The second byte's range depends on the
// first: that is what rules out overlong forms (E0, F0), surrogates (ED) and too large values (F4).
size_t SequenceLength(const unsigned char* p, size_t left) {
  const auto in = [](unsigned char c, unsigned low, unsigned high) {
    return c >= low && c <= high;
  };
  const unsigned char first = p[0];
  if (first < 0x80) return 1;
  if (in(first, 0xC2, 0xDF)) return left >= 2 && in(p[1], 0x80, 0xBF) ? 2 : 0;
  if (in(first, 0xE0, 0xEF)) {
    const unsigned low = first == 0xE0 ? 0xA0 : 0x80;
    const unsigned high = first == 0xED ? 0x9F : 0xBF;
    return left >= 3 && in(p[1], low, high) && in(p[2], 0x80, 0xBF) ? 3 : 0;
  }
  if (in(first, 0xF0, 0xF4)) {
    const unsigned low = first == 0xF0 ? 0x90 : 0x80;
    const unsigned high = first == 0xF4 ? 0x8F : 0xBF;
    return left >= 4 && in(p[1], low, high) && in(p[2], 0x80, 0xBF) && in(p[3], 0x80, 0xBF) ? 4 : 0;
  }
  return 0;
}

}  // namespace

bool IsUtf8Slowly(std::string_view text) {
  const auto* p = reinterpret_cast<const unsigned char*>(text.data());
  size_t left = text.size();
  while (left > 0) {
    const size_t length = SequenceLength(p, left);
    if (length == 0) return false;
    p += length;
    left -= length;
  }
  return true;
}

std::string WithoutBadUtf8(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const size_t length =
        SequenceLength(reinterpret_cast<const unsigned char*>(text.data()), text.size());
    out += length == 0 ? std::string_view("\xEF\xBF\xBD") : text.substr(0, length);
    text.remove_prefix(length == 0 ? 1 : length);
  }
  return out;
}

}  // namespace coppice::wire
