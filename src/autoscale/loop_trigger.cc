#include "autoscale/loop_trigger.h"

#include <algorithm>

namespace coppice::autoscale {
namespace {

// Upstream's: a condition that is older than this is no news.
constexpr Duration kNews = std::chrono::seconds(10);
constexpr size_t kMaxRemembered = 200'000;

// A Deployment that is scaled to nothing sends its pods away within a second or two: a pass every
// half second follows them for four. A change that never ends is followed by a few in ten seconds,
// or in the scan interval if that is shorter.
constexpr double kMostHasty = 8;
constexpr Duration kRegained = std::chrono::seconds(10);
constexpr Duration kBetweenHasty = std::chrono::milliseconds(500);
// Passes that are hastened by changes leave at least so much of the thread to others.
constexpr int kPauseOfPass = 4;

const model::PodCondition* PodScheduled(const model::Pod& pod) {
  const auto it =
      std::ranges::find(pod.status.conditions, "PodScheduled", &model::PodCondition::type);
  return it == pod.status.conditions.end() ? nullptr : &*it;
}

}  // namespace

LoopTrigger::LoopTrigger(TriggerOptions options)
    : scan_interval_(options.scan_interval),
      change_interval_(std::min(options.scan_interval, kRegained)),
      frequent_(options.frequent_loops_enabled),
      debounce_(options.deviations.debounce_new_pods),
      wakes_(options.deviations.wake_when_due),
      quiet_(options.deviations.new_pod_quiet),
      longest_wait_(options.deviations.new_pod_wait),
      bypassed_(std::move(options.bypassed_scheduler_names)),
      pods_{.hasty = kMostHasty},
      nodes_{.hasty = kMostHasty} {}

bool LoopTrigger::PodSeen(const model::Pod& pod, TimePoint now) {
  if (!frequent_) return false;
  const model::PodCondition* condition = PodScheduled(pod);
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

bool LoopTrigger::Changes::Note(TimePoint now) {
  last = now;
  if (first) return false;
  first = now;
  return true;
}

void LoopTrigger::Changes::SeenBy(const LastPass& pass, double regained) {
  if (first && *first <= pass.began) {
    hasty -= 1;
    first = last > pass.began ? std::optional(last) : std::nullopt;
  }
  hasty = std::clamp(hasty + regained, 0.0, kMostHasty);
}

bool LoopTrigger::PodGone(TimePoint now) { return wakes_ && pods_.Note(now); }

bool LoopTrigger::NodesChanged(TimePoint now) { return wakes_ && nodes_.Note(now); }

bool LoopTrigger::Ended(TimePoint now) {
  if (!wakes_) return false;
  ended_ = now;
  return true;
}

void LoopTrigger::PassEnded(const LastPass& pass) {
  // Compared with the start of the run before: after one productive pass two follow at once.
  const TimePoint previous = before_last_.value_or(TimePoint::max());
  productive_ = pass.last_scale_up >= previous || pass.last_scale_down >= previous;
  before_last_ = pass.began;
  // What came while the pass ran has not been seen by it as a whole: it counts again.
  if (first_nudge_ && *first_nudge_ <= pass.began) {
    first_nudge_ = last_nudge_ > pass.began ? std::optional(last_nudge_) : std::nullopt;
  }
  if (ended_ && *ended_ <= pass.began) ended_.reset();
  double regained = 0;
  if (last_ && change_interval_ > Duration::zero()) {
    const std::chrono::duration<double> passed = pass.ended - last_->ended;
    const std::chrono::duration<double> interval = change_interval_;
    regained = 2 * passed.count() / interval.count();
  }
  pods_.SeenBy(pass, regained);
  nodes_.SeenBy(pass, regained);
  last_ = pass;
}

report::CallAgain LoopTrigger::Next() const {
  if (!last_) return {TimePoint(), "the first pass"};
  if (frequent_ && productive_) return {last_->ended, "the last passes changed something"};
  report::CallAgain next{Later(last_->ended, scan_interval_), "the scan interval"};
  const auto hasten = [&](TimePoint at, std::string_view why) {
    at = std::max(at, last_->ended);
    if (at < next.at) next = {at, why};
  };
  if (frequent_ && first_nudge_) {
    hasten(
        debounce_ ? std::min(last_nudge_ + quiet_, *first_nudge_ + longest_wait_) : *first_nudge_,
        "pods are pending");
  }
  if (frequent_ && last_->waits_for_quiet && debounce_)
    hasten(last_->ended + quiet_, "pending pods are new");
  if (!wakes_) return next;
  if (last_->call_again) hasten(last_->call_again->at, last_->call_again->why);
  if (ended_) hasten(*ended_, "what was under way has ended");
  const Duration worked = last_->worked.value_or(last_->ended - last_->began);
  const Duration pause = std::max<Duration>(kBetweenHasty, kPauseOfPass * worked);
  const auto follow = [&](const Changes& changes, std::string_view why) {
    if (!changes.first) return;
    hasten(changes.hasty >= 1 ? std::max(*changes.first + quiet_, last_->ended + pause)
                              : last_->ended + std::max(change_interval_, pause),
           why);
  };
  follow(pods_, "pods went");
  follow(nodes_, "nodes changed");
  return next;
}

}  // namespace coppice::autoscale
