// PodEvents: when something last happened to the pods of a machine: one was bound, ended, or began
// to end. That is what consolidateAfter waits for.
//
// Found by comparing what is on each node with what was there before, if anything there has changed. The first look after a start
// is no event: a restart must not keep every node for another consolidateAfter. (The peer's does.)
// That an object is deleted is no event either.
//
// Decision thread.

#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>

#include "provision/context.h"

namespace coppice::provision {

class PodEvents {
 public:
  explicit PodEvents(Context& context) : context_(context) {}

  // Compares, but not more often than every few seconds.
  void Look(const Context::NodeIndexById& nodes, TimePoint now);

  // When something happened on the machine of this id, as far as this process has seen.
  std::optional<TimePoint> LastOn(const std::string& provider_id) const;

  static constexpr Duration kOnceIn = std::chrono::seconds(10);  // below the 15 s of validation

 private:
  struct Seen {
    std::map<std::string, uint8_t> pods;  // by uid: ended, ending
    std::optional<TimePoint> last;
    bool there = true;
    std::string node;
    uint64_t version = 0;  // of the pods on it
  };
  Context& context_;
  std::unordered_map<std::string, Seen> seen_;  // by provider id
  TimePoint looked_ = TimePoint::min();
};

}  // namespace coppice::provision
