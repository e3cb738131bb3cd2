// IdTable: from a 64-bit hash to the ids of values that are stored elsewhere.
//
// The values decide what is equal, the table only finds candidates: it keeps no more than half of
// the hash. So one small open-addressing table serves every interner and index, whatever it is
// about, and a lookup costs one cache line.

#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace coppice::cluster {

class IdTable {
 public:
  static constexpr uint32_t kAbsent = std::numeric_limits<uint32_t>::max();

  // The id with this hash for which is_it(id) holds, or kAbsent.
  template <class IsIt>
  uint32_t Find(uint64_t hash, IsIt is_it) const {
    if (slots_.empty()) return kAbsent;
    const uint32_t half = Half(hash);
    for (size_t at = half & mask_;; at = (at + 1) & mask_) {
      const Slot& slot = slots_[at];
      if (slot.id == kAbsent) return kAbsent;
      if (slot.hash == half && slot.id != kErased && is_it(slot.id)) return slot.id;
    }
  }

  // The caller has made sure that it is not there yet.
  void Insert(uint64_t hash, uint32_t id) {
    if ((used_ + 1) * 4 > slots_.size() * 3) Grow();
    size_t at = Half(hash) & mask_;
    while (slots_[at].id < kErased) at = (at + 1) & mask_;
    if (slots_[at].id != kErased) ++used_;
    slots_[at] = {Half(hash), id};
    ++size_;
  }

  void Erase(uint64_t hash, uint32_t id) {
    if (Slot* slot = At(hash, id)) {
      slot->id = kErased;
      --size_;
    }
  }

  // Puts another id in the place of `id`; their hashes are equal.
  void Replace(uint64_t hash, uint32_t id, uint32_t other) {
    if (Slot* slot = At(hash, id)) slot->id = other;
  }

  size_t size() const { return size_; }

  // Brings the place of a hash close, for a search or an insertion that comes soon.
  void Prefetch(uint64_t hash) const {
    if (!slots_.empty()) __builtin_prefetch(&slots_[Half(hash) & mask_], 1);
  }

  // Room for this many in all without growing on the way.
  void Reserve(size_t count) {
    size_t slots = slots_.empty() ? 16 : slots_.size();
    while (count * 4 > slots * 3) slots *= 2;
    if (slots > slots_.size()) Resize(slots);
  }

 private:
  static constexpr uint32_t kErased = kAbsent - 1;  // a removed entry: searches go on past it
  struct Slot {
    uint32_t hash = 0;
    uint32_t id = kAbsent;
  };

  static uint32_t Half(uint64_t hash) { return static_cast<uint32_t>(hash); }

  Slot* At(uint64_t hash, uint32_t id) {
    if (slots_.empty()) return nullptr;
    for (size_t at = Half(hash) & mask_;; at = (at + 1) & mask_) {
      if (slots_[at].id == id) return &slots_[at];
      if (slots_[at].id == kAbsent) return nullptr;
    }
  }

  // Also sweeps out erased entries, so that a table that shrinks and grows does not fill with them.
  void Grow() {
    const size_t twice = slots_.empty() ? 16 : slots_.size() * 2;
    Resize(size_ * 2 < slots_.size() ? slots_.size() : twice);
  }

  void Resize(size_t count) {  // a power of two
    std::vector<Slot> old(count);
    old.swap(slots_);
    mask_ = slots_.size() - 1;
    used_ = size_;
    for (const Slot& slot : old) {
      if (slot.id >= kErased) continue;
      size_t at = slot.hash & mask_;
      while (slots_[at].id != kAbsent) at = (at + 1) & mask_;
      slots_[at] = slot;
    }
  }

  std::vector<Slot> slots_;
  size_t mask_ = 0;
  size_t used_ = 0;  // live and erased
  size_t size_ = 0;
};

}  // namespace coppice::cluster
