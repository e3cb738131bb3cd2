// Sets of small numbers as words: instance types, slots, targets.
//
// All sets of one universe have the same number of words, so that operations are plain loops.

#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace coppice::provision {

using Bits = std::vector<uint64_t>;

inline constexpr size_t kBitsPerWord = 64;

inline size_t WordsFor(size_t members) { return (members + kBitsPerWord - 1) / kBitsPerWord; }
inline Bits NoBits(size_t members) { return Bits(WordsFor(members), 0); }
inline void SetBit(Bits& bits, size_t at) {
  bits[at / kBitsPerWord] |= uint64_t{1} << (at % kBitsPerWord);
}
inline void ClearBit(Bits& bits, size_t at) {
  bits[at / kBitsPerWord] &= ~(uint64_t{1} << (at % kBitsPerWord));
}
inline bool HasBit(const Bits& bits, size_t at) {
  return (bits[at / kBitsPerWord] >> (at % kBitsPerWord) & 1) != 0;
}
inline Bits AllBits(size_t members) {
  Bits bits(WordsFor(members), ~uint64_t{0});
  if (members % kBitsPerWord != 0) bits.back() = (uint64_t{1} << (members % kBitsPerWord)) - 1;
  return bits;
}
inline bool AnyBit(const Bits& bits) {
  for (const uint64_t word : bits) {
    if (word != 0) return true;
  }
  return false;
}
inline void KeepOnly(Bits& bits, const Bits& these) {
  for (size_t i = 0; i < bits.size(); ++i) bits[i] &= these[i];
}
inline void AddBits(Bits& bits, const Bits& these) {
  for (size_t i = 0; i < bits.size(); ++i) bits[i] |= these[i];
}
inline void DropBits(Bits& bits, const Bits& these) {
  for (size_t i = 0; i < bits.size(); ++i) bits[i] &= ~these[i];
}
inline bool Overlap(const Bits& a, const Bits& b) {
  for (size_t i = 0; i < a.size(); ++i) {
    if ((a[i] & b[i]) != 0) return true;
  }
  return false;
}

// In rising order.
template <class See>
void ForEachBit(const Bits& bits, See see) {
  for (size_t i = 0; i < bits.size(); ++i) {
    for (uint64_t word = bits[i]; word != 0; word &= word - 1)
      see(i * kBitsPerWord + static_cast<size_t>(std::countr_zero(word)));
  }
}

}  // namespace coppice::provision
