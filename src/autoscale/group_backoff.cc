#include "autoscale/group_backoff.h"

#include <algorithm>

namespace coppice::autoscale {

TimePoint GroupBackoff::Failed(std::string_view group, cloud::MachineError why, TimePoint now) {
  Duration duration = first_;
  const auto it = entries_.find(group);
  if (it != entries_.end()) {
    duration = it->second.duration;
    if (it->second.until < now) duration = std::min(2 * duration, longest_);
  }
  Entry entry{duration, now + duration, now, std::move(why)};
  entries_.insert_or_assign(std::string(group), std::move(entry));
  return now + duration;
}

std::optional<cloud::MachineError> GroupBackoff::Active(std::string_view group,
                                                        TimePoint now) const {
  const auto it = entries_.find(group);
  if (it == entries_.end() || it->second.until < now) return std::nullopt;
  return it->second.why;
}

std::optional<TimePoint> GroupBackoff::Until(std::string_view group) const {
  const auto it = entries_.find(group);
  if (it == entries_.end()) return std::nullopt;
  return it->second.until;
}

void GroupBackoff::ForgetStale(TimePoint now) {
  std::erase_if(entries_,
                [&](const auto& e) { return e.second.last_failure + forget_after_ < now; });
}

void GroupBackoff::Restore(const Entries& entries, TimePoint now) {
  for (const auto& [group, before] : entries) {
    Entry entry = before;
    entry.duration = std::clamp(entry.duration, std::min(first_, longest_), longest_);
    entry.until = std::min(entry.until, now + entry.duration);
    entry.last_failure = std::min(entry.last_failure, now);
    entries_.insert_or_assign(group, std::move(entry));
  }
}

}  // namespace coppice::autoscale
