// ChangesUnderWay: the calls that change the cloud and have not answered yet.
//
// Whoever gives the lease back closes the door first and waits until nobody is inside: a deletion
// that still runs then would run beside what the next leader decides.
//
// Any thread.

#pragma once

#include <optional>
#include <set>

#include "base/clock.h"
#include "base/mutex.h"
#include "base/promise.h"
#include "base/status.h"

namespace coppice {

class ChangesUnderWay {
 public:
  // A call that has to be over at `by` begins; not after Close().
  Status Begin(Deadline by) {
    const MutexLock lock(mutex_);
    if (closed_) {
      ++refused_;
      return Unavailable("the process is ending: nothing new is begun");
    }
    inside_.insert(by.at);
    return Status::Ok();
  }
  void End(Deadline by) {
    const MutexLock lock(mutex_);
    inside_.erase(inside_.find(by.at));
    if (inside_.empty() && none_inside_) none_inside_->Set(true);
  }
  // Sets it when nobody is inside; at once if that is so. One waits at most, and after Close().
  void TellWhenNone(const Promise<bool>& told) {
    const MutexLock lock(mutex_);
    none_inside_ = told;
    if (inside_.empty()) told.Set(true);
  }

  void Close() {
    const MutexLock lock(mutex_);
    closed_ = true;
  }
  size_t count() const {
    const MutexLock lock(mutex_);
    return inside_.size();
  }
  size_t refused() const {
    const MutexLock lock(mutex_);
    return refused_;
  }
  // When the last of those inside has to be over; long ago if there is none.
  TimePoint latest() const {
    const MutexLock lock(mutex_);
    return inside_.empty() ? TimePoint::min() : *inside_.rbegin();
  }

 private:
  mutable Mutex mutex_;
  std::multiset<TimePoint> inside_ COPPICE_GUARDED_BY(mutex_);
  std::optional<Promise<bool>> none_inside_ COPPICE_GUARDED_BY(mutex_);
  bool closed_ COPPICE_GUARDED_BY(mutex_) = false;
  size_t refused_ COPPICE_GUARDED_BY(mutex_) = 0;
};

}  // namespace coppice
