// The protobuf wire format, one token at a time, never beyond the end of what it was given.

#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>

namespace coppice::wire {

enum class WireType : uint32_t {
  kVarint = 0,
  kFixed64 = 1,
  kLengthDelimited = 2,
  kStartGroup = 3,
  kEndGroup = 4,
  kFixed32 = 5,
};

struct Tag {
  uint32_t number = 0;
  WireType type = WireType::kVarint;
};

class ProtoCursor {
 public:
  explicit ProtoCursor(std::string_view bytes)
      : at_(bytes.data()), end_(bytes.data() + bytes.size()) {}

  bool done() const { return at_ == end_; }
  const char* at() const { return at_; }

  // All readers answer false, and what they read is unusable, when the bytes end too early or make
  // no sense. A varint is at most ten bytes. Three are always inlined: nearly all varints have one
  // byte, and calls for them were a tenth of what a list of pods costs.
  [[gnu::always_inline]] bool ReadVarint(uint64_t& value) {
    if (at_ != end_ && static_cast<unsigned char>(*at_) < 0x80) [[likely]] {
      value = static_cast<unsigned char>(*at_++);
      return true;
    }
    return ReadLongVarint(value);
  }

  [[gnu::always_inline]] bool ReadTag(Tag& tag) {
    uint64_t raw;
    if (!ReadVarint(raw) || raw > UINT32_MAX) return false;
    tag.number = static_cast<uint32_t>(raw >> 3);
    tag.type = static_cast<WireType>(raw & 7);
    return tag.number != 0;
  }

  [[gnu::always_inline]] bool ReadBytes(std::string_view& bytes) {
    uint64_t length;
    if (!ReadVarint(length) || length > static_cast<uint64_t>(end_ - at_)) return false;
    bytes = {at_, static_cast<size_t>(length)};
    at_ += length;
    return true;
  }

  // Steps over the value of `tag`, groups included.
  bool Skip(Tag tag) {
    switch (tag.type) {
      case WireType::kVarint: {
        uint64_t ignored;
        return ReadVarint(ignored);
      }
      case WireType::kFixed64:
        return Advance(8);
      case WireType::kLengthDelimited: {
        std::string_view ignored;
        return ReadBytes(ignored);
      }
      case WireType::kStartGroup:
        return SkipGroup();
      case WireType::kFixed32:
        return Advance(4);
      default:
        return false;
    }
  }

 private:
  static constexpr int kMaxGroupDepth = 100;

  bool Advance(size_t count) {
    if (static_cast<size_t>(end_ - at_) < count) return false;
    at_ += count;
    return true;
  }

  [[gnu::noinline]] bool ReadLongVarint(uint64_t& value) {
    value = 0;
    for (unsigned shift = 0; shift < 70 && at_ != end_; shift += 7) {
      const auto byte = static_cast<unsigned char>(*at_++);
      if (shift == 63 && byte > 1) return false;  // does not fit 64 bits
      value |= static_cast<uint64_t>(byte & 0x7F) << shift;
      if (byte < 0x80) return true;
    }
    return false;
  }

  // A loop and a counter instead of recursion, so that nesting cannot exhaust the stack. Nobody
  // sends groups any more; that ends match their starts by number is not checked.
  bool SkipGroup() {
    for (int depth = 1; depth > 0;) {
      Tag inner;
      if (!ReadTag(inner)) return false;
      if (inner.type == WireType::kStartGroup) {
        if (++depth > kMaxGroupDepth) return false;
      } else if (inner.type == WireType::kEndGroup) {
        --depth;
      } else if (!Skip(inner)) {
        return false;
      }
    }
    return true;
  }

  const char* at_;
  const char* end_;
};

}  // namespace coppice::wire
