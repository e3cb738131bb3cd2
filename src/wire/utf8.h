// Is this text UTF-8? What comes in is taken as it is; what goes out as JSON has to be. Nearly all
// of it is ASCII, so that answer is inline and quick.

#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace coppice::wire {

// Overlong forms, surrogates and what is beyond U+10FFFF are refused, as Unicode says.
bool IsUtf8Slowly(std::string_view text);

inline bool IsAscii(std::string_view text) {
  const char* p = text.data();
  size_t left = text.size();
  uint64_t seen = 0;
  for (; left >= 8; p += 8, left -= 8) {
    uint64_t word;
    std::memcpy(&word, p, 8);
    seen |= word;
  }
  for (; left > 0; ++p, --left) seen |= static_cast<unsigned char>(*p);
  return (seen & 0x8080808080808080u) == 0;
}

// Each byte that is none of a well-formed sequence becomes U+FFFD, as Go's encoder has it.
std::string WithoutBadUtf8(std::string_view text);

inline bool IsUtf8(std::string_view text) { return IsAscii(text) || IsUtf8Slowly(text); }

}  // namespace coppice::wire
