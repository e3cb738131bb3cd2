// What both readers share: where something went wrong, and the hash of what a pod's spec holds
// beyond the fields that we keep.

#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "model/pod.h"

namespace coppice::wire {

// The failure of one reading. The innermost reader says what; each level on the way out puts its
// own name in front of the path, so that good input pays nothing for it.
class Trouble {
 public:
  // Always false, so that a reader can end with `return trouble.Is("...")`.
  bool Is(std::string what);
  bool In(std::string_view field);
  bool In(size_t index);
  bool InKey(std::string_view key);

  // "spec.containers[2].resources.requests[cpu]: quantities must match ..."
  Status ToStatus() const;

 private:
  std::string path_;
  std::string what_;
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

struct Reading {
  Trouble trouble;
  bool in_pod_spec = false;  // only there the rest is hashed
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
