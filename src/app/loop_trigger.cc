#include "app/loop_trigger.h"

#include <algorithm>

namespace coppice::app {
namespace {

// Upstream's: a condition that is older than this is no news.
constexpr Duration kNews = std::chrono::seconds(10);
constexpr size_t kMaxRemembered = 200'000;

const model::PodCondition* Scheduled(const model::Pod& pod) {
  const auto it =
      std::ranges::find(pod.status.conditions, "PodScheduled", &model::PodCondition::type);
  return it == pod.status.conditions.end() ? nullptr : &*it;
}

}  // namespace

LoopTrigger::LoopTrigger(const autoscale::FlagValues& flags)
    : scan_interval_(flags.options.scan_interval),
      frequent_(flags.frequent_loops_enabled),
      debounce_(flags.options.deviations.debounce_new_pods),
      quiet_(flags.options.deviations.new_pod_quiet),
      longest_wait_(flags.options.deviations.new_pod_wait),
      bypassed_(flags.options.bypassed_scheduler_names) {}

bool LoopTrigger::PodSeen(const model::Pod& pod, TimePoint now) {
  if (!frequent_) return false;
  const model::PodCondition* condition = Scheduled(pod);
  std::string key = pod.metadata.uid;
  if (condition != nullptr && condition->status == "False" &&
      condition->reason == "Unschedulable") {
    const TimePoint since =
        condition->last_transition_time ? condition->last_transition_time->at : now;
    if (now - since > kNews) return false;
    key += "/" + std::to_string(since.time_since_epoch().count());
  } else if (condition != nullptr ||
             std::ranges::find(bypassed_, pod.spec.scheduler_name) == bypassed_.end()) {
    return false;
  }
  if (nudged_.size() >= kMaxRemembered) nudged_.clear();
  if (!nudged_.insert(std::move(key)).second) return false;
  if (!first_nudge_) first_nudge_ = now;
  last_nudge_ = now;
  return true;
}

void LoopTrigger::PassEnded(const LastPass& pass) {
  // Compared with the start of the run before: after one productive pass two follow at once.
  const TimePoint previous = before_last_.value_or(TimePoint::max());
  productive_ = pass.last_scale_up >= previous || pass.last_scale_down >= previous;
  before_last_ = pass.began;
  last_ = pass;
  // What came while the pass ran has not been seen by it as a whole: it counts again.
  if (first_nudge_ && *first_nudge_ <= pass.began) {
    first_nudge_ = last_nudge_ > pass.began ? std::optional(last_nudge_) : std::nullopt;
  }
}

TimePoint LoopTrigger::Due() const {
  if (!last_) return TimePoint();  // the first one
  if (frequent_ && productive_) return last_->ended;
  TimePoint due = Later(last_->ended, scan_interval_);
  if (frequent_ && last_->waits_for_quiet && debounce_) due = std::min(due, last_->ended + quiet_);
  if (frequent_ && first_nudge_) {
    const TimePoint settled =
        debounce_ ? std::min(last_nudge_ + quiet_, *first_nudge_ + longest_wait_) : *first_nudge_;
    due = std::min(due, std::max(settled, last_->ended));
  }
  return due;
}

}  // namespace coppice::app
