// ModelSteering: pause and speed of a model cluster, and errands for the thread that plays it.
//
// Any thread may call, but for Wait(), which is the playing thread's.

#pragma once

#include <functional>
#include <string>
#include <vector>

#include "app/dashboard.h"
#include "base/clock.h"
#include "base/mutex.h"

namespace coppice::app {

class ModelSteering {
 public:
  // 0: as fast as it goes.
  explicit ModelSteering(double speed) : speed_(speed) {}

  void Set(const web::Control& control);
  std::string Json() const;
  void Post(Dashboard::WithWorld errand);

  // Waits until it is time for `next`, at once when `interrupted`; calls `meanwhile` now and then,
  // also while the model stands still.
  void Wait(TimePoint now, TimePoint next, const std::function<bool()>& interrupted);
  std::function<void()> meanwhile;
  // What was posted since the last call.
  std::vector<Dashboard::WithWorld> TakeErrands();

 private:
  mutable Mutex mutex_;
  double speed_ COPPICE_GUARDED_BY(mutex_);
  bool paused_ COPPICE_GUARDED_BY(mutex_) = false;
  uint64_t version_ COPPICE_GUARDED_BY(mutex_) = 1;  // of the two
  std::vector<Dashboard::WithWorld> errands_ COPPICE_GUARDED_BY(mutex_);
  // The playing thread's: from where time is reckoned.
  uint64_t known_version_ = 0;
  TimePoint start_{};
  std::chrono::steady_clock::time_point real_start_{};
};

}  // namespace coppice::app
