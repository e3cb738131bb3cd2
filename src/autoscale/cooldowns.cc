#include "autoscale/cooldowns.h"

#include <algorithm>

namespace coppice::autoscale {

namespace {

constexpr Duration kBootGrace = std::chrono::hours(1);

}  // namespace

Cooldowns::Cooldowns(const CooldownOptions& options, TimePoint start)
    : options_(options),
      last_scale_up_(start - kBootGrace),
      last_delete_(start - kBootGrace),
      last_fail_(start - kBootGrace) {}

bool Cooldowns::Active(TimePoint now) const {
  if (options_.scale_down_delay_type_local) return false;
  return last_scale_up_ + options_.scale_down_delay_after_add > now ||
         last_fail_ + options_.scale_down_delay_after_failure > now ||
         last_delete_ + options_.scale_down_delay_after_delete > now;
}

Cooldowns::Wait Cooldowns::Longest(Wait otherwise) const {
  Wait longest = otherwise;
  for (const Wait& wait :
       {Wait{last_scale_up_ + options_.scale_down_delay_after_add, "after a scale-up"},
        Wait{last_fail_ + options_.scale_down_delay_after_failure, "after a failure"},
        Wait{last_delete_ + options_.scale_down_delay_after_delete, "after a deletion"}}) {
    if (wait.until > longest.until) longest = wait;
  }
  return longest;
}

std::set<std::string> Cooldowns::DelayedGroups(TimePoint now) {
  std::set<std::string> delayed;
  if (!options_.scale_down_delay_type_local) return delayed;
  const auto delay = [&](std::map<std::string, TimePoint>& since, Duration wait) {
    std::erase_if(since, [&](const auto& entry) { return entry.second + wait <= now; });
    for (const auto& [group, at] : since) delayed.insert(group);
  };
  delay(scaled_up_, options_.scale_down_delay_after_add);
  delay(scaled_down_, options_.scale_down_delay_after_delete);
  delay(failed_, options_.scale_down_delay_after_failure);
  return delayed;
}

void Cooldowns::NoteGroupDelays(Wakeups& wake) const {
  const auto note = [&](const std::map<std::string, TimePoint>& since, Duration wait) {
    for (const auto& [group, at] : since) wake.At(at + wait, "the cool-down of a group ends");
  };
  note(scaled_up_, options_.scale_down_delay_after_add);
  note(scaled_down_, options_.scale_down_delay_after_delete);
  note(failed_, options_.scale_down_delay_after_failure);
}

void Cooldowns::Recall(const Memory& memory, TimePoint now) {
  last_scale_up_ = std::max(last_scale_up_, std::min(memory.last_scale_up, now));
  last_delete_ = std::max(last_delete_, std::min(memory.last_delete, now));
  last_fail_ = std::max(last_fail_, std::min(memory.last_failure, now));
}

}  // namespace coppice::autoscale
