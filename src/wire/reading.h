// What both readers share: where something went wrong, and the hash of what a pod's spec holds
// beyond the fields that we keep.

#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "model/pod.h"

namespace coppice::wire {

// What kind of thing is wrong: few words, by which people count.
enum class Flaw { kMalformed, kQuantity, kTime, kNumber };
std::string_view ToString(Flaw flaw);

// The failure of one reading. The innermost reader says what; each level on the way out puts its
// own name in front of the path, so that good input pays nothing for it.
class Trouble {
 public:
  // Always false, so that a reader can end with `return trouble.Is("...")`.
  bool Is(std::string what, Flaw flaw = Flaw::kMalformed);
  bool In(std::string_view field);
  bool In(size_t index);
  bool InKey(std::string_view key);

  // "spec.containers[2].resources.requests[cpu]: quantities must match ..."
  Status ToStatus() const;
  // The same, of an object that is kept for what else there is in it.
  model::Unreadable ToUnreadable() const;

 private:
  std::string Text() const;

  std::string path_;
  std::string what_;
  Flaw flaw_ = Flaw::kMalformed;
};

// Collects the hash that becomes PodSpec::unkept_hash (see there what is left out and why).
class UnkeptHash {
 public:
  void Begin() {
    sum_ = 0;
    where_ = 0;
    mounts_.clear();
  }

  // A step into a field or an element; hand the answer back to Leave.
  uint64_t Enter(uint64_t step) {
    const uint64_t before = where_;
    where_ = (where_ ^ (step + 1)) * 0x9E3779B97F4A7C15u;
    return before;
  }
  void Leave(uint64_t before) { where_ = before; }

  // `field` tells fields of one place apart; fields may come in any order.
  void Add(uint64_t field, std::string_view bytes);
  // A mount counts only if its volume turns out not to be a projected one. `volume` must stay
  // alive.
  void AddMount(std::string_view volume, std::string_view bytes);

  uint64_t Finish(const model::PodSpec& spec) const;

 private:
  struct Mount {
    std::string_view volume;
    uint64_t hash;
  };
  uint64_t sum_ = 0;
  uint64_t where_ = 0;
  std::vector<Mount> mounts_;
};

// The quantities of a list are the same few again and again ("100m", "512Mi"), and parsing one
// costs more than all the rest of its field. Remembers the short ones; a later text takes an
// earlier one's place.
class QuantityMemory {
 public:
  // Null if it has not been parsed lately.
  const model::Quantity* Find(std::string_view text) const {
    if (text.empty() || text.size() > kLongest) return nullptr;
    const Entry& entry = entries_[Place(text)];
    return std::string_view(entry.text.data(), entry.length) == text ? &entry.value : nullptr;
  }
  void Remember(std::string_view text, const model::Quantity& value);

 private:
  static constexpr size_t kLongest = 15;
  struct Entry {
    std::array<char, kLongest> text{};
    uint8_t length = 0;
    model::Quantity value;
  };
  static size_t Place(std::string_view text) {
    size_t place = text.size();
    for (const char c : text) place = place * 31 + static_cast<unsigned char>(c);
    return place % kEntries;
  }
  static constexpr size_t kEntries = 61;
  std::array<Entry, kEntries> entries_;
};

struct Reading {
  Trouble trouble;
  std::unique_ptr<QuantityMemory> quantities;  // null unless a whole list is read
  bool in_pod_spec = false;                    // only there the rest is hashed
  // Step over fields that cannot be read and leave them empty: to save the rest of an object that
  // has failed to be read as a whole.
  bool lenient = false;
  UnkeptHash unkept;
};

// Where in a pod's spec we are, as long as it lives; elsewhere nothing.
class SpecStep {
 public:
  SpecStep(Reading& reading, uint64_t step) : reading_(reading) {
    if (reading_.in_pod_spec) before_ = reading_.unkept.Enter(step);
  }
  ~SpecStep() {
    if (reading_.in_pod_spec) reading_.unkept.Leave(before_);
  }
  SpecStep(const SpecStep&) = delete;
  SpecStep& operator=(const SpecStep&) = delete;

 private:
  Reading& reading_;
  uint64_t before_ = 0;
};

}  // namespace coppice::wire
