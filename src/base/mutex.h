// Mutex, MutexLock and UniqueMutexLock: the standard ones with clang's annotations, so that "with the
// lock held" is checked where clang compiles (-Wthread-safety) and not only read. Under g++ they are
// std::mutex, std::lock_guard and std::unique_lock, no more.
//
//   mutable Mutex mutex_;
//   std::string said_ COPPICE_GUARDED_BY(mutex_);
//   Status Reopen() COPPICE_REQUIRES(mutex_);
//
// A condition is waited for with UniqueMutexLock::standard(). What it asks meanwhile runs with the
// lock held, which has to be said: [&]() COPPICE_REQUIRES(mutex_) { return done_; }

#pragma once

#include <mutex>

#if defined(__clang__)
#define COPPICE_THREAD_ATTRIBUTE(x) __attribute__((x))
#else
#define COPPICE_THREAD_ATTRIBUTE(x)
#endif
#define COPPICE_GUARDED_BY(mutex) COPPICE_THREAD_ATTRIBUTE(guarded_by(mutex))
#define COPPICE_REQUIRES(mutex) COPPICE_THREAD_ATTRIBUTE(requires_capability(mutex))
// Of a function that hands out a mutex, so that others can be guarded by it, too.
#define COPPICE_RETURNS(mutex) COPPICE_THREAD_ATTRIBUTE(lock_returned(mutex))

namespace coppice {

class COPPICE_THREAD_ATTRIBUTE(capability("mutex")) Mutex {
 public:
  void lock() COPPICE_THREAD_ATTRIBUTE(acquire_capability()) { mutex_.lock(); }
  void unlock() COPPICE_THREAD_ATTRIBUTE(release_capability()) { mutex_.unlock(); }

 private:
  friend class UniqueMutexLock;
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

// May be let go of and taken again.
class COPPICE_THREAD_ATTRIBUTE(scoped_lockable) UniqueMutexLock {
 public:
  explicit UniqueMutexLock(Mutex& mutex) COPPICE_THREAD_ATTRIBUTE(acquire_capability(mutex))
      : lock_(mutex.mutex_) {}
  ~UniqueMutexLock() COPPICE_THREAD_ATTRIBUTE(release_capability()) {}
  UniqueMutexLock(const UniqueMutexLock&) = delete;
  UniqueMutexLock& operator=(const UniqueMutexLock&) = delete;
  void lock() COPPICE_THREAD_ATTRIBUTE(acquire_capability()) { lock_.lock(); }
  void unlock() COPPICE_THREAD_ATTRIBUTE(release_capability()) { lock_.unlock(); }
  std::unique_lock<std::mutex>& standard() { return lock_; }

 private:
  std::unique_lock<std::mutex> lock_;
};

}  // namespace coppice
