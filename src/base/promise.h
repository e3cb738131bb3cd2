// Promise<T> and Future<T>: how an answer gets from any thread to a task.
//
//   Promise<Result<Machine>> promise(executor);
//   pool.Submit([promise, spec] { promise.Set(cloud.Create(spec, deadline)); });
//   const Result<Machine> machine = co_await promise.future();
//
// One answer, one task that waits for it. Who takes a promise must set it: a task whose answer
// never comes waits as long as its executor lives, unless it waits with a limit. A promise may
// outlive the executor.

#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <utility>

#include "base/executor.h"

namespace coppice {

namespace internal {

template <class T>
struct PromiseState {
  explicit PromiseState(Executor& e) : executor(&e), inbox(e.inbox()) {}

  Executor* executor;  // touched on its own thread only
  std::shared_ptr<Executor::Inbox> inbox;
  std::atomic_flag set;
  std::optional<T> value;  // written by who set the flag, then handed over through the inbox
  bool delivered = false;  // from here on: executor's thread
  std::coroutine_handle<> waiter;    // null when nobody waits
  Executor::Timer* timer = nullptr;  // of the waiter, if it has a limit

  void Deliver() {
    delivered = true;
    if (timer != nullptr) executor->Remove(*std::exchange(timer, nullptr));
    if (waiter) std::exchange(waiter, nullptr).resume();
  }
};

}  // namespace internal

template <class T>
class Future {
 public:
  explicit Future(std::shared_ptr<internal::PromiseState<T>> state) : state_(std::move(state)) {}

  bool ready() const { return state_->delivered; }

  // The answer.
  auto operator co_await() const {
    struct Awaiter {
      std::shared_ptr<internal::PromiseState<T>> state;
      bool await_ready() const { return state->delivered; }
      void await_suspend(std::coroutine_handle<> waiter) const {
        CHECK(!state->waiter);
        state->waiter = waiter;
      }
      T await_resume() const { return *std::exchange(state->value, std::nullopt); }
    };
    return Awaiter{state_};
  }

  // The answer, or nothing at `when`; it may then be awaited again.
  auto Until(TimePoint when) const {
    struct Awaiter {
      std::shared_ptr<internal::PromiseState<T>> state;
      Executor::Timer timer;
      bool await_ready() const { return state->delivered; }
      void await_suspend(std::coroutine_handle<> waiter) {
        CHECK(!state->waiter);
        state->waiter = waiter;
        timer.waiter = waiter;
        state->timer = &timer;
        state->executor->Add(timer);
      }
      std::optional<T> await_resume() {
        state->waiter = nullptr;
        state->timer = nullptr;
        if (!state->delivered) return std::nullopt;
        return std::exchange(state->value, std::nullopt);
      }
    };
    return Awaiter{state_, {when}};
  }

 private:
  std::shared_ptr<internal::PromiseState<T>> state_;
};

template <class T>
class Promise {
 public:
  explicit Promise(Executor& executor)
      : state_(std::make_shared<internal::PromiseState<T>>(executor)) {}

  Future<T> future() const { return Future<T>(state_); }

  // Any thread. The first call counts; false for the others.
  bool Set(T value) const {
    if (state_->set.test_and_set()) return false;
    state_->value.emplace(std::move(value));
    Executor::PostTo(*state_->inbox, [state = state_] { state->Deliver(); });
    return true;
  }

 private:
  std::shared_ptr<internal::PromiseState<T>> state_;
};

}  // namespace coppice
