// Mutex and MutexLock: the standard ones with clang's annotations, so that "with the lock held" is
// checked where clang compiles (-Wthread-safety) and not only read. Under g++ they are std::mutex
// and std::lock_guard, no more.
//
//   mutable Mutex mutex_;
//   std::string said_ COPPICE_GUARDED_BY(mutex_);
//   Status Reopen() COPPICE_REQUIRES(mutex_);
//
// Where a condition is waited for, std::mutex stays: its waiting functions take nothing else.

#pragma once

#include <mutex>

#if defined(__clang__)
#define COPPICE_THREAD_ATTRIBUTE(x) __attribute__((x))
#else
#define COPPICE_THREAD_ATTRIBUTE(x)
#endif
#define COPPICE_GUARDED_BY(mutex) COPPICE_THREAD_ATTRIBUTE(guarded_by(mutex))
#define COPPICE_REQUIRES(mutex) COPPICE_THREAD_ATTRIBUTE(requires_capability(mutex))

namespace coppice {

class COPPICE_THREAD_ATTRIBUTE(capability("mutex")) Mutex {
 public:
  void lock() COPPICE_THREAD_ATTRIBUTE(acquire_capability()) { mutex_.lock(); }
  void unlock() COPPICE_THREAD_ATTRIBUTE(release_capability()) { mutex_.unlock(); }

 private:
  std::mutex mutex_;
};

class COPPICE_THREAD_ATTRIBUTE(scoped_lockable) MutexLock {
 public:
  explicit MutexLock(Mutex& mutex) COPPICE_THREAD_ATTRIBUTE(acquire_capability(mutex))
      : mutex_(mutex) {
    mutex_.lock();
  }
  ~MutexLock() COPPICE_THREAD_ATTRIBUTE(release_capability()) { mutex_.unlock(); }
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

 private:
  Mutex& mutex_;
};

}  // namespace coppice
