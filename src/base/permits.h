// Permits: so many at once. Who comes later waits, first come first served.
//
//   const auto permit = co_await permits.Take(deadline);
//   if (!permit) co_return DeadlineExceeded("too many before us");
//   ... until `permit` goes out of scope
//
// On the executor's thread.

#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <utility>

#include "base/clock.h"
#include "base/executor.h"
#include "base/promise.h"
#include "base/task.h"

namespace coppice {

class Permits {
  struct Waiter {
    explicit Waiter(Executor& executor) : told(executor) {}
    Promise<bool> told;
    bool granted = false;
    bool gave_up = false;
  };
  struct State {
    size_t left;
    std::deque<std::shared_ptr<Waiter>> waiting = {};
  };

 public:
  Permits(Executor& executor, size_t most)
      : executor_(executor), state_(std::make_shared<State>(State{.left = most})) {}

  // One of them; given back at its end, which may be after that of the Permits.
  class Permit {
   public:
    explicit Permit(std::shared_ptr<State> state) : state_(std::move(state)) {}
    Permit(Permit&&) noexcept = default;
    Permit& operator=(Permit&& other) noexcept {
      std::swap(state_, other.state_);
      return *this;
    }
    ~Permit() {
      if (state_ != nullptr) GiveBack(*state_);
    }

   private:
    std::shared_ptr<State> state_;
  };

  // Absent: it was not our turn by then.
  Task<std::optional<Permit>> Take(Deadline by);

 private:
  static void GiveBack(State& state);

  Executor& executor_;
  const std::shared_ptr<State> state_;
};

}  // namespace coppice
