// ChangesUnderWay: the calls that change the cloud and have not answered yet.
//
// Whoever gives the lease back closes the door first and waits until nobody is inside: a deletion
// that still runs then would run beside what the next leader decides.
//
// Any thread.

#pragma once

#include <mutex>
#include <set>

#include "base/clock.h"
#include "base/status.h"

namespace coppice {

class ChangesUnderWay {
 public:
  // A call that has to be over at `by` begins; not after Close().
  Status Begin(Deadline by) {
    const std::lock_guard lock(mutex_);
    if (closed_) {
      ++refused_;
      return Unavailable("the process is ending: nothing new is begun");
    }
    inside_.insert(by.at);
    return Status::Ok();
  }
  void End(Deadline by) {
    const std::lock_guard lock(mutex_);
    inside_.erase(inside_.find(by.at));
  }

  void Close() {
    const std::lock_guard lock(mutex_);
    closed_ = true;
  }
  size_t count() const {
    const std::lock_guard lock(mutex_);
    return inside_.size();
  }
  size_t refused() const {
    const std::lock_guard lock(mutex_);
    return refused_;
  }
  // When the last of those inside has to be over; long ago if there is none.
  TimePoint latest() const {
    const std::lock_guard lock(mutex_);
    return inside_.empty() ? TimePoint::min() : *inside_.rbegin();
  }

 private:
  mutable std::mutex mutex_;
  std::multiset<TimePoint> inside_;
  bool closed_ = false;
  size_t refused_ = 0;
};

}  // namespace coppice
