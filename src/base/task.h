// Task<T>: a coroutine that computes a T, for code that waits without holding a thread.
//
//   Task<Result<int>> Grow(Executor& executor, Cloud& cloud) {
//     CO_TRY(const auto machines, co_await List(cloud));
//     co_await executor.Sleep(std::chrono::seconds(10));
//     co_return static_cast<int>(machines.size());
//   }
//
// A task starts when it is awaited (or spawned on an Executor) and runs on that thread. Whoever
// holds the Task owns its frame; it is awaited once. There are no exceptions of ours: one that
// escapes ends the process.
//
// A coroutine keeps its parameters, but only what it takes by value: no references to temporaries,
// and no capturing lambda that is a coroutine itself unless it outlives the task. g++ 12 does not
// compile braces inside a co_await expression: name the argument first.

#pragma once

#include <coroutine>
#include <exception>
#include <optional>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/status.h"

namespace coppice {

template <class T>
class Task;

namespace internal {

class TaskPromiseBase {
 public:
  std::suspend_always initial_suspend() noexcept { return {}; }
  void unhandled_exception() noexcept { std::terminate(); }

  // Hands control straight to who awaits, without growing the stack.
  auto final_suspend() noexcept {
    struct Awaiter {
      TaskPromiseBase* promise;
      bool await_ready() noexcept { return false; }
      std::coroutine_handle<> await_suspend(std::coroutine_handle<>) noexcept {
        promise->finished_ = true;
        return promise->continuation_ ? promise->continuation_ : std::noop_coroutine();
      }
      void await_resume() noexcept {}
    };
    return Awaiter{this};
  }

  bool finished() const { return finished_; }
  void set_continuation(std::coroutine_handle<> continuation) { continuation_ = continuation; }

 private:
  std::coroutine_handle<> continuation_;
  bool finished_ = false;
};

template <class T>
class TaskPromise final : public TaskPromiseBase {
 public:
  Task<T> get_return_object();
  template <class U>
  void return_value(U&& value) {
    value_.emplace(std::forward<U>(value));
  }
  T Take() { return *std::move(value_); }

 private:
  std::optional<T> value_;
};

template <>
class TaskPromise<void> final : public TaskPromiseBase {
 public:
  Task<void> get_return_object();
  void return_void() {}
  void Take() {}
};

}  // namespace internal

template <class T = void>
class [[nodiscard]] Task {
 public:
  using promise_type = internal::TaskPromise<T>;

  explicit Task(std::coroutine_handle<promise_type> frame) : frame_(frame) {}
  Task(Task&& other) noexcept : frame_(std::exchange(other.frame_, nullptr)) {}
  Task& operator=(Task&& other) noexcept {
    std::swap(frame_, other.frame_);
    return *this;
  }
  ~Task() {
    if (frame_) frame_.destroy();
  }

  auto operator co_await() && {
    struct Awaiter {
      std::coroutine_handle<promise_type> frame;
      bool await_ready() { return false; }
      // The child runs inside this call until it first waits. One that finishes without waiting
      // leaves no trace on the stack, so a loop of a million of them is safe also at -O0, where g++
      // makes no tail calls of handle transfers.
      bool await_suspend(std::coroutine_handle<> parent) {
        frame.resume();
        if (frame.promise().finished()) return false;
        frame.promise().set_continuation(parent);
        return true;
      }
      T await_resume() { return frame.promise().Take(); }
    };
    CHECK(frame_ && !frame_.promise().finished());
    return Awaiter{frame_};
  }

 private:
  std::coroutine_handle<promise_type> frame_;
};

namespace internal {

template <class T>
Task<T> TaskPromise<T>::get_return_object() {
  return Task<T>(std::coroutine_handle<TaskPromise<T>>::from_promise(*this));
}
inline Task<void> TaskPromise<void>::get_return_object() {
  return Task<void>(std::coroutine_handle<TaskPromise<void>>::from_promise(*this));
}

// Counts the branches of a WhenAll down; the last one goes on with who waits.
struct Countdown {
  size_t left;
  std::coroutine_handle<> waiter;
};

// One branch: owned by the WhenAll's frame, counted when it is done.
class Branch {
 public:
  struct promise_type {
    Countdown* countdown = nullptr;
    Branch get_return_object() {
      return Branch(std::coroutine_handle<promise_type>::from_promise(*this));
    }
    std::suspend_always initial_suspend() noexcept { return {}; }
    void unhandled_exception() noexcept { std::terminate(); }
    void return_void() {}
    auto final_suspend() noexcept {
      struct Awaiter {
        Countdown* countdown;
        bool await_ready() noexcept { return false; }
        std::coroutine_handle<> await_suspend(std::coroutine_handle<>) noexcept {
          return --countdown->left == 0 ? countdown->waiter : std::noop_coroutine();
        }
        void await_resume() noexcept {}
      };
      return Awaiter{countdown};
    }
  };

  explicit Branch(std::coroutine_handle<promise_type> frame) : frame_(frame) {}
  Branch(Branch&& other) noexcept : frame_(std::exchange(other.frame_, nullptr)) {}
  Branch& operator=(Branch&&) = delete;
  ~Branch() {
    if (frame_) frame_.destroy();
  }
  void Start(Countdown& countdown) {
    frame_.promise().countdown = &countdown;
    frame_.resume();
  }

 private:
  std::coroutine_handle<promise_type> frame_;
};

// Starts the branches in order and waits for all. One count is its own, so that branches which
// finish at once do not resume it before all have been started.
struct StartAll {
  std::vector<Branch>& branches;
  Countdown countdown{};
  bool await_ready() { return false; }
  bool await_suspend(std::coroutine_handle<> waiter) {
    countdown = {branches.size() + 1, waiter};
    for (Branch& branch : branches) branch.Start(countdown);
    return --countdown.left > 0;
  }
  void await_resume() {}
};

template <class T>
Branch RunBranch(Task<T> task, std::optional<T>& result) {
  result.emplace(co_await std::move(task));
}
inline Branch RunBranch(Task<void> task) { co_await std::move(task); }

}  // namespace internal

// Runs all of them, interleaved where they wait; the results in the order of the tasks.
template <class T>
Task<std::vector<T>> WhenAll(std::vector<Task<T>> tasks) {
  std::vector<std::optional<T>> slots(tasks.size());
  std::vector<internal::Branch> branches;
  branches.reserve(tasks.size());
  for (size_t i = 0; i < tasks.size(); ++i) {
    branches.push_back(internal::RunBranch(std::move(tasks[i]), slots[i]));
  }
  internal::StartAll all{branches};
  co_await all;
  std::vector<T> results;
  results.reserve(slots.size());
  for (std::optional<T>& slot : slots) results.push_back(*std::move(slot));
  co_return results;
}

inline Task<void> WhenAll(std::vector<Task<void>> tasks) {
  std::vector<internal::Branch> branches;
  branches.reserve(tasks.size());
  for (Task<void>& task : tasks) branches.push_back(internal::RunBranch(std::move(task)));
  internal::StartAll all{branches};
  co_await all;
}

}  // namespace coppice

// `CO_TRY(const auto machines, co_await List());` declares the value, or leaves the coroutine with
// the failure. TRY cannot: a statement expression and co_await do not mix.
#define CO_TRY(declaration, ...) CO_TRY_NUMBERED(__COUNTER__, declaration, __VA_ARGS__)
#define CO_TRY_NUMBERED(number, declaration, ...) CO_TRY_PASTED(number, declaration, __VA_ARGS__)
#define CO_TRY_PASTED(number, declaration, ...) \
  CO_TRY_AS(coppice_co_try_##number, declaration, __VA_ARGS__)
#define CO_TRY_AS(result, declaration, ...)                          \
  auto result = (__VA_ARGS__);                                       \
  if (!result.ok()) co_return ::coppice::internal::StatusOf(result); \
  declaration = ::coppice::internal::ValueOf(std::move(result))
