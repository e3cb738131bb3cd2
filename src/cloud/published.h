// Published<T>: the newest version of an immutable object, for many readers and few writers. A
// reader keeps what it loaded as long as it likes; nobody waits for a reader.

#pragma once

#include <atomic>
#include <memory>
#include <utility>

#include "base/mutex.h"

// std::atomic<shared_ptr> of g++ 12's library releases its internal bit with relaxed order after a
// load: harmless on x86, where that instruction is a full fence, a race elsewhere and in
// ThreadSanitizer's eyes. There a mutex stands in; it is held for one copy of a pointer.
#if defined(__SANITIZE_THREAD__) || !defined(__x86_64__)
#define COPPICE_PUBLISHED_WITH_MUTEX 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define COPPICE_PUBLISHED_WITH_MUTEX 1
#endif
#endif

namespace coppice::cloud {

template <class T>
class Published {
 public:
  explicit Published(std::shared_ptr<const T> first) : current_(std::move(first)) {}

#ifdef COPPICE_PUBLISHED_WITH_MUTEX
  std::shared_ptr<const T> Load() const {
    const MutexLock lock(mutex_);
    return current_;
  }
  void Store(std::shared_ptr<const T> next) {
    const MutexLock lock(mutex_);
    current_.swap(next);  // the old one is released by `next`, after the lock
  }

 private:
  mutable Mutex mutex_;
  std::shared_ptr<const T> current_ COPPICE_GUARDED_BY(mutex_);
#else
  std::shared_ptr<const T> Load() const { return current_.load(std::memory_order_acquire); }
  void Store(std::shared_ptr<const T> next) {
    current_.store(std::move(next), std::memory_order_release);
  }

 private:
  std::atomic<std::shared_ptr<const T>> current_;
#endif
};

}  // namespace coppice::cloud
