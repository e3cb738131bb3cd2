// Batcher: when pods that came together are to be decided on together.
//
// Ours: when no other has come for a moment, at the latest a little after the first. The peer's: the
// same with a second and ten. A pod that was in a batch does not begin another one for ten seconds;
// until then whoever waits for it is on the way, or nothing can be done.
//
// Pure; decision thread.

#pragma once

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "base/clock.h"
#include "provision/options.h"

namespace coppice::provision {

class Batcher {
 public:
  explicit Batcher(const EngineOptions& options)
      : idle_(options.exact_batches() ? options.batch_idle_duration : options.batch_quiet),
        longest_(options.exact_batches() ? options.batch_max_duration : options.batch_wait) {}

  static constexpr Duration kAgain = std::chrono::seconds(10);

  // Somebody waits: a pod, a node that leaves. True if it is news.
  bool Trigger(const std::string& uid, TimePoint now) {
    const auto seen = seen_.find(uid);
    if (seen != seen_.end() && now < Later(seen->second, kAgain)) return false;
    if (!window_.insert(uid).second) return false;
    if (!first_) first_ = now;
    last_ = now;
    return true;
  }
  // At the latest then, whoever waits.
  void TriggerAt(TimePoint when) {
    if (!at_ || when < *at_) at_ = when;
  }

  TimePoint Due() const {
    TimePoint due = at_.value_or(TimePoint::max());
    if (first_) due = std::min({due, Later(last_, idle_), Later(*first_, longest_)});
    return due;
  }

  // The batch is decided on now.
  void Take(TimePoint now) {
    for (const std::string& uid : window_) seen_[uid] = now;
    window_.clear();
    first_.reset();
    at_.reset();
    std::erase_if(seen_, [&](const auto& entry) { return now >= Later(entry.second, kAgain); });
  }

 private:
  const Duration idle_;
  const Duration longest_;
  std::set<std::string> window_;
  std::map<std::string, TimePoint> seen_;  // in which batch
  std::optional<TimePoint> first_;
  TimePoint last_;
  std::optional<TimePoint> at_;
};

}  // namespace coppice::provision
