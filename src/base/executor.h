// Executor: the one thread that runs tasks, with a queue that other threads may post to, and
// timers.
//
// Time comes from a Clock. On a FakeClock waiting is a jump to the next timer, so a day of sleeping
// tasks is over in milliseconds, always in the same order: what is due earlier first, what is due
// together in the order in which it was asked for. (Such a jump does not wait for other threads: in
// tests let InlineWorkers do their work.)
//
// Post, Stop and Promise::Set are for any thread; everything else is for the executor's own.

#pragma once

#include <coroutine>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <type_traits>
#include <unordered_set>
#include <vector>

#include "base/clock.h"
#include "base/task.h"

namespace coppice {

class Executor {
 public:
  // A place in the timer queue. Lives in the coroutine's frame; fires once by
  // resuming.
  struct Timer {
    static constexpr size_t kNoSlot = SIZE_MAX;
    TimePoint when;
    std::coroutine_handle<> waiter = nullptr;
    uint64_t number = 0;
    size_t slot = kNoSlot;
  };
  struct SleepAwaiter {
    Executor& executor;
    Timer timer;
    bool await_ready() { return false; }
    void await_suspend(std::coroutine_handle<> waiter) {
      timer.waiter = waiter;
      executor.Add(timer);
    }
    void await_resume() {}
  };

  explicit Executor(Clock& clock);
  // Destroys the frames of tasks that have not finished. What is posted later is dropped.
  ~Executor();
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;

  Clock& clock() const { return clock_; }

  void Post(std::function<void()> work);
  // Owns the task from now on, and starts it in the next round.
  void Spawn(Task<void> task);

  // Until Stop().
  void Run();
  void Stop();
  // What can be done now, without waiting for a timer.
  void RunUntilIdle();
  void RunUntil(TimePoint when);
  void RunFor(Duration duration) { RunUntil(Later(clock_.Now(), duration)); }
  // Until this task is done, other tasks being served meanwhile.
  template <class T>
  T BlockOn(Task<T> task);

  // co_await executor.Sleep(seconds(10)). Zero and less let all others have a turn.
  SleepAwaiter Sleep(Duration duration) { return SleepUntil(Later(clock_.Now(), duration)); }
  SleepAwaiter SleepUntil(TimePoint when) { return {.executor = *this, .timer = {when}}; }

  std::optional<TimePoint> next_timer() const;
  // For how long the thread has had nothing to do, all in all.
  Duration idle() const { return idle_; }
  size_t tasks() const { return roots_.size(); }  // spawned and not finished

  // For awaitables.
  void Add(Timer& timer);
  void Remove(Timer& timer);  // nothing happens if it is not in the queue

  // Where other threads leave work. Shared, for a thread may hold a Promise longer than we live.
  class Inbox;
  const std::shared_ptr<Inbox>& inbox() const { return inbox_; }
  static void PostTo(Inbox& inbox, std::function<void()> work);

 private:
  class Root;
  static Root RunRoot(Executor& executor, Task<void> task);
  template <class T>
  static Task<void> Keep(Task<T> task, std::optional<T>& result) {
    result.emplace(co_await std::move(task));
  }
  static Task<void> Note(Task<void> task, bool& done) {
    co_await std::move(task);
    done = true;
  }

  bool RunRound();
  void RunUntilSet(const bool& done);
  // Waits for a post or a timer, at most until `limit`.
  void Wait(TimePoint limit, bool stoppable);
  bool TakeStop();

  bool Before(const Timer& a, const Timer& b) const;
  void Put(size_t slot, Timer* timer);
  void SiftUp(size_t slot);
  void SiftDown(size_t slot);

  Clock& clock_;
  std::shared_ptr<Inbox> inbox_;
  std::vector<std::function<void()>> taken_;  // kept for its capacity
  std::vector<Timer*> timers_;                // binary heap
  uint64_t next_number_ = 0;
  Duration idle_{};
  std::unordered_set<void*> roots_;  // frame addresses
};

template <class T>
T Executor::BlockOn(Task<T> task) {
  bool done = false;
  if constexpr (std::is_void_v<T>) {
    Spawn(Note(std::move(task), done));
    RunUntilSet(done);
  } else {
    std::optional<T> result;
    Spawn(Note(Keep(std::move(task), result), done));
    RunUntilSet(done);
    return *std::move(result);
  }
}

}  // namespace coppice
