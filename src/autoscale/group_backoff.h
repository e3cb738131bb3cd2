// Groups that failed lately and are left alone for a while.
//
// A failure while a group is already left alone restarts the wait without lengthening it: several
// machines of one order fail together. A failure after the wait doubles it, up to a limit. Success
// does not shorten anything; only time without a failure does.

#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "cloud/types.h"

namespace coppice::autoscale {

class GroupBackoff {
 public:
  GroupBackoff(Duration first, Duration longest, Duration forget_after)
      : first_(first), longest_(longest), forget_after_(forget_after) {}

  // Returns until when the group is left alone.
  TimePoint Failed(std::string_view group, cloud::MachineError why, TimePoint now);

  // Why it is left alone at `now`, or nothing.
  std::optional<cloud::MachineError> Active(std::string_view group, TimePoint now) const;
  std::optional<TimePoint> Until(std::string_view group) const;

  void ForgetStale(TimePoint now);

  struct Entry {
    Duration duration{};
    TimePoint until;
    TimePoint last_failure;
    cloud::MachineError why;
    friend bool operator==(const Entry&, const Entry&) = default;
  };
  using Entries = std::map<std::string, Entry, std::less<>>;
  const Entries& entries() const { return entries_; }
  // Of a process before this one. Never longer than a failure right now would make it.
  void Restore(const Entries& entries, TimePoint now);

 private:
  Duration first_;
  Duration longest_;
  Duration forget_after_;
  Entries entries_;
};

}  // namespace coppice::autoscale
