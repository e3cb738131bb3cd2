// PairMemo: answers remembered by a pair of small ids. Only ever grows.
//
// Open addressing in one array, because the solver asks it for every pod and target.

#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace coppice::provision {

class PairMemo {
 public:
  // Null if the pair has not been seen. Valid until the next Put.
  const uint32_t* Find(uint32_t a, uint32_t b) const {
    if (slots_.empty()) return nullptr;
    const uint64_t key = KeyOf(a, b);
    for (size_t at = Spread(key);; at = (at + 1) & mask_) {
      if (slots_[at].key == key) return &slots_[at].value;
      if (slots_[at].key == kEmpty) return nullptr;
    }
  }

  void Put(uint32_t a, uint32_t b, uint32_t value) {
    if (2 * (used_ + 1) > slots_.size()) Grow();
    Insert(KeyOf(a, b), value);
  }

 private:
  static constexpr uint64_t kEmpty = ~uint64_t{0};  // no id is that large
  struct Slot {
    uint64_t key = kEmpty;
    uint32_t value = 0;
  };

  static uint64_t KeyOf(uint32_t a, uint32_t b) { return uint64_t{a} << 32 | b; }
  size_t Spread(uint64_t key) const {
    key *= 0x9E3779B97F4A7C15ull;  // the golden ratio: neighbours fall far apart
    return static_cast<size_t>(key >> 32) & mask_;
  }
  void Insert(uint64_t key, uint32_t value) {
    size_t at = Spread(key);
    while (slots_[at].key != kEmpty && slots_[at].key != key) at = (at + 1) & mask_;
    used_ += slots_[at].key == kEmpty;
    slots_[at] = {key, value};
  }
  void Grow() {
    std::vector<Slot> old = std::move(slots_);
    slots_.assign(old.empty() ? 64 : 2 * old.size(), Slot());
    mask_ = slots_.size() - 1;
    used_ = 0;
    for (const Slot& slot : old) {
      if (slot.key != kEmpty) Insert(slot.key, slot.value);
    }
  }

  std::vector<Slot> slots_;
  size_t mask_ = 0;
  size_t used_ = 0;
};

}  // namespace coppice::provision
