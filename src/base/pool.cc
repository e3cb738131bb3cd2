#include "base/pool.h"

#include <condition_variable>
#include <deque>
#include <string>
#include <thread>
#include <vector>

#include "base/check.h"
#include "base/mutex.h"

namespace coppice {

struct Pool::State {
  Mutex mutex;
  std::condition_variable wake;
  std::condition_variable over;  // a piece has ended
  std::deque<std::function<void()>> queue COPPICE_GUARDED_BY(mutex);
  // Threads with nothing to do, those that have not started yet included.
  size_t idle COPPICE_GUARDED_BY(mutex) = 0;
  size_t max_queued COPPICE_GUARDED_BY(mutex) = 0;
  bool stopping COPPICE_GUARDED_BY(mutex) = false;
  std::vector<std::thread> threads;

  void Run() {
    UniqueMutexLock lock(mutex);
    for (;;) {
      wake.wait(lock.standard(),
                [this]() COPPICE_REQUIRES(mutex) { return stopping || !queue.empty(); });
      if (queue.empty()) return;
      --idle;
      std::function<void()> work = std::move(queue.front());
      queue.pop_front();
      lock.unlock();
      work();
      work = nullptr;  // what it captured goes before the next piece starts, and outside the lock
      lock.lock();
      ++idle;
      over.notify_all();
    }
  }
};

Pool::Pool(size_t threads, size_t max_queued) : state_(std::make_unique<State>()) {
  CHECK(threads > 0);
  state_->idle = threads;
  state_->max_queued = max_queued;
  state_->threads.reserve(threads);
  for (size_t i = 0; i < threads; ++i) {
    state_->threads.emplace_back([state = state_.get()] { state->Run(); });
  }
}

Pool::~Pool() {
  {
    const MutexLock lock(state_->mutex);
    state_->stopping = true;
  }
  state_->wake.notify_all();
  for (std::thread& thread : state_->threads) thread.join();
}

Status Pool::Submit(std::function<void()> work) {
  {
    const MutexLock lock(state_->mutex);
    if (state_->stopping) return Unavailable("the worker pool is stopping");
    // What an idle thread is about to take does not wait, so it does not count.
    if (state_->queue.size() >= state_->max_queued + state_->idle) {
      return ResourceExhausted("all " + std::to_string(state_->threads.size()) +
                               " workers are busy and " + std::to_string(state_->max_queued) +
                               " pieces of work wait already");
    }
    state_->queue.push_back(std::move(work));
  }
  state_->wake.notify_one();
  return Status::Ok();
}

size_t Pool::Stop(Clock& clock, Deadline deadline) {
  std::deque<std::function<void()>> forgotten;
  UniqueMutexLock lock(state_->mutex);
  state_->stopping = true;
  forgotten.swap(state_->queue);
  lock.unlock();
  state_->wake.notify_all();
  forgotten.clear();  // outside the lock: what it holds may do something
  lock.lock();
  const auto running = [this]() COPPICE_REQUIRES(state_->mutex) {
    return state_->threads.size() - state_->idle;
  };
  clock.WaitUntil(lock.standard(), state_->over, deadline.at,
                  [&]() COPPICE_REQUIRES(state_->mutex) { return running() == 0; });
  return running();
}

size_t Pool::queued() const {
  const MutexLock lock(state_->mutex);
  return state_->queue.size() > state_->idle ? state_->queue.size() - state_->idle : 0;
}

}  // namespace coppice
