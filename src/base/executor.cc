#include "base/executor.h"

#include <algorithm>

#include "base/mutex.h"

namespace coppice {

class Executor::Inbox {
 public:
  Mutex mutex;
  std::condition_variable wake;
  std::vector<std::function<void()>> work COPPICE_GUARDED_BY(mutex);
  bool stop COPPICE_GUARDED_BY(mutex) = false;
  bool closed COPPICE_GUARDED_BY(mutex) = false;
};

// The outermost frame of a spawned task: ends with destroying itself.
class Executor::Root {
 public:
  struct promise_type {
    Executor* executor;
    promise_type(Executor& e, Task<void>&) : executor(&e) {}

    Root get_return_object() {
      return Root{std::coroutine_handle<promise_type>::from_promise(*this)};
    }
    std::suspend_always initial_suspend() noexcept { return {}; }
    void unhandled_exception() noexcept { std::terminate(); }
    void return_void() {}
    auto final_suspend() noexcept {
      struct Awaiter {
        bool await_ready() noexcept { return false; }
        void await_suspend(std::coroutine_handle<promise_type> finished) noexcept {
          finished.promise().executor->roots_.erase(finished.address());
          finished.destroy();
        }
        void await_resume() noexcept {}
      };
      return Awaiter{};
    }
  };

  std::coroutine_handle<promise_type> frame;
};

Executor::Root Executor::RunRoot(Executor&, Task<void> task) { co_await std::move(task); }

Executor::Executor(Clock& clock) : clock_(clock), inbox_(std::make_shared<Inbox>()) {}

Executor::~Executor() {
  std::vector<std::function<void()>> dropped;
  {
    const MutexLock lock(inbox_->mutex);
    inbox_->closed = true;
    dropped.swap(inbox_->work);
  }
  dropped.clear();  // outside the lock: what it holds may post
  const std::unordered_set<void*> roots = std::move(roots_);
  for (void* frame : roots) std::coroutine_handle<>::from_address(frame).destroy();
}

void Executor::PostTo(Inbox& inbox, std::function<void()> work) {
  {
    const MutexLock lock(inbox.mutex);
    if (inbox.closed) return;
    inbox.work.push_back(std::move(work));
  }
  inbox.wake.notify_one();
}

void Executor::Post(std::function<void()> work) { PostTo(*inbox_, std::move(work)); }

void Executor::Spawn(Task<void> task) {
  const auto frame = RunRoot(*this, std::move(task)).frame;
  roots_.insert(frame.address());
  Post([frame] { frame.resume(); });
}

void Executor::Stop() {
  {
    const MutexLock lock(inbox_->mutex);
    inbox_->stop = true;
  }
  inbox_->wake.notify_all();
}

bool Executor::TakeStop() {
  const MutexLock lock(inbox_->mutex);
  return std::exchange(inbox_->stop, false);
}

// Everything that was posted or due when the round began; whether there was anything. What these
// cause waits for the next round, so that nobody is starved.
bool Executor::RunRound() {
  {
    const MutexLock lock(inbox_->mutex);
    taken_.swap(inbox_->work);
  }
  bool any = !taken_.empty();
  for (std::function<void()>& work : taken_) {
    work();
    work = nullptr;
  }
  taken_.clear();
  if (timers_.empty()) return any;
  const TimePoint now = clock_.Now();
  const uint64_t first_new = next_number_;
  while (!timers_.empty() && timers_.front()->when <= now && timers_.front()->number < first_new) {
    Timer& due = *timers_.front();
    Remove(due);
    due.waiter.resume();
    any = true;
  }
  return any;
}

void Executor::Wait(TimePoint limit, bool stoppable) {
  const TimePoint next = timers_.empty() ? TimePoint::max() : timers_.front()->when;
  const TimePoint began = clock_.Now();
  UniqueMutexLock lock(inbox_->mutex);
  const auto woken = [&]() COPPICE_REQUIRES(inbox_->mutex) {
    return !inbox_->work.empty() || (stoppable && inbox_->stop);
  };
  const bool done = clock_.WaitUntil(lock.standard(), inbox_->wake, std::min(next, limit), woken);
  // A fake clock does not wait for what has no date; then only another thread can have something to
  // say.
  if (!done && std::min(next, limit) == TimePoint::max()) inbox_->wake.wait(lock.standard(), woken);
  idle_ += clock_.Now() - began;
}

void Executor::RunUntilIdle() {
  while (RunRound()) {
  }
}

void Executor::RunUntilSet(const bool& done) {
  for (;;) {
    const bool any = RunRound();
    if (done) return;
    if (!any) Wait(TimePoint::max(), false);
  }
}

void Executor::RunUntil(TimePoint when) {
  for (RunUntilIdle(); clock_.Now() < when; RunUntilIdle()) Wait(when, false);
}

void Executor::Run() {
  while (!TakeStop()) {
    if (!RunRound()) Wait(TimePoint::max(), true);
  }
}

std::optional<TimePoint> Executor::next_timer() const {
  if (timers_.empty()) return std::nullopt;
  return timers_.front()->when;
}

bool Executor::Before(const Timer& a, const Timer& b) const {
  return a.when != b.when ? a.when < b.when : a.number < b.number;
}

void Executor::Put(size_t slot, Timer* timer) {
  timers_[slot] = timer;
  timer->slot = slot;
}

void Executor::SiftUp(size_t slot) {
  Timer* timer = timers_[slot];
  for (; slot > 0 && Before(*timer, *timers_[(slot - 1) / 2]); slot = (slot - 1) / 2) {
    Put(slot, timers_[(slot - 1) / 2]);
  }
  Put(slot, timer);
}

void Executor::SiftDown(size_t slot) {
  Timer* timer = timers_[slot];
  for (size_t child = 2 * slot + 1; child < timers_.size(); child = 2 * slot + 1) {
    if (child + 1 < timers_.size() && Before(*timers_[child + 1], *timers_[child])) ++child;
    if (!Before(*timers_[child], *timer)) break;
    Put(slot, timers_[child]);
    slot = child;
  }
  Put(slot, timer);
}

void Executor::Add(Timer& timer) {
  timer.number = next_number_++;
  timers_.push_back(&timer);
  SiftUp(timers_.size() - 1);
}

void Executor::Remove(Timer& timer) {
  if (timer.slot == Timer::kNoSlot) return;
  const size_t slot = std::exchange(timer.slot, Timer::kNoSlot);
  Timer* last = timers_.back();
  timers_.pop_back();
  if (last == &timer) return;
  Put(slot, last);
  SiftUp(slot);
  SiftDown(last->slot);
}

}  // namespace coppice
