// HealthCheck: upstream's rules for /health-check. Not monitored: healthy. Monitored: a pass has to
// have begun and one to have succeeded recently; until the first success the limits are longer.
// Ours in addition: what decisions rest on has to have been read lately. Any thread.

#pragma once

#include <atomic>
#include <functional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/mutex.h"

namespace coppice::host {

class HealthCheck {
 public:
  struct Limits {
    Duration inactivity = std::chrono::minutes(10);
    Duration failing = std::chrono::minutes(15);
    Duration startup = std::chrono::minutes(20);
  };
  HealthCheck(Limits limits, const Clock& clock) : limits_(limits), clock_(clock) {}

  void StartMonitoring();
  void Active() { last_activity_ = Now(); }
  // A pass has succeeded. Of several engines the one that has been without success for longest
  // counts: `since` then is when that began to try, `of` who that is, `started` whether it (they
  // all) ever succeeded.
  void Succeeded() { Succeeded(clock_.Now(), "", true); }
  void Succeeded(TimePoint since, std::string_view of, bool started);

  // "" or which kinds have not been read for too long. Set before anybody asks; called from any
  // thread.
  std::function<std::string()> stale_kinds = nullptr;

  // "" or why not.
  std::string Trouble() const;

 private:
  int64_t Now() const { return clock_.Now().time_since_epoch().count(); }
  Limits limits_;
  const Clock& clock_;
  std::atomic<bool> monitored_ = false;
  std::atomic<bool> started_ = false;  // a pass has succeeded
  std::atomic<int64_t> last_activity_ = 0;
  std::atomic<int64_t> last_success_ = 0;
  mutable Mutex mutex_;
  std::string late_ COPPICE_GUARDED_BY(mutex_);  // whose success that is; "": of the only one
};

}  // namespace coppice::host
