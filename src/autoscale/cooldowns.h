// Cooldowns: for how long nothing is removed after something was bought, removed or failed; for the
// whole cluster, or group by group (--scale-down-delay-type-local).

#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>

#include "autoscale/memory.h"
#include "autoscale/options.h"
#include "autoscale/wakeups.h"

namespace coppice::autoscale {

class Cooldowns {
 public:
  // No cool-down at the start of a process.
  Cooldowns(const CooldownOptions& options, TimePoint start);

  // Of the whole cluster; `now` is that of the pass.
  void ScaledUp(TimePoint now) { last_scale_up_ = now; }
  void DeletionStarted(TimePoint now) { last_delete_ = now; }
  void DeletionNotStarted(TimePoint now) { last_fail_ = now; }
  // Of one group, as it happens.
  void GroupScaledUp(std::string_view group, TimePoint at) { scaled_up_[std::string(group)] = at; }
  void GroupScaledDown(std::string_view group, TimePoint at) {
    scaled_down_[std::string(group)] = at;
  }
  void GroupFailed(std::string_view group, TimePoint at) { failed_[std::string(group)] = at; }

  // Nothing at all may be removed.
  bool Active(TimePoint now) const;
  struct Wait {
    TimePoint until;
    std::string_view why;  // a literal
  };
  // The one that ends last; `otherwise` if all are over.
  Wait Longest(Wait otherwise) const;

  // Groups that are left alone; forgets what is over.
  std::set<std::string> DelayedGroups(TimePoint now);
  void NoteGroupDelays(Wakeups& wake) const;

  TimePoint last_scale_up() const { return last_scale_up_; }
  TimePoint last_delete() const { return last_delete_; }
  TimePoint last_failure() const { return last_fail_; }
  // Of a process before this one; what it says of the future counts as of now.
  void Recall(const Memory& memory, TimePoint now);

 private:
  const CooldownOptions& options_;
  TimePoint last_scale_up_;
  TimePoint last_delete_;
  TimePoint last_fail_;
  std::map<std::string, TimePoint> scaled_up_;
  std::map<std::string, TimePoint> scaled_down_;
  std::map<std::string, TimePoint> failed_;
};

}  // namespace coppice::autoscale
