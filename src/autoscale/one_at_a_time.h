// OneAtATime: tasks that must not overlap, in the order in which they came. Who finds nobody inside
// goes in at once.
//
// Decision thread.

#pragma once

#include <memory>
#include <utility>

#include "base/executor.h"
#include "base/promise.h"
#include "base/task.h"

namespace coppice::autoscale {

class OneAtATime {
 public:
  explicit OneAtATime(Executor& executor) : executor_(executor) {}
  OneAtATime(const OneAtATime&) = delete;
  OneAtATime& operator=(const OneAtATime&) = delete;

  // For as long as it lives nobody else is inside.
  class [[nodiscard]] Turn {
   public:
    Turn(OneAtATime& of, std::shared_ptr<Promise<bool>> done) : of_(&of), done_(std::move(done)) {}
    Turn(Turn&& other) noexcept : of_(other.of_), done_(std::exchange(other.done_, nullptr)) {}
    Turn& operator=(Turn&& other) noexcept {
      std::swap(of_, other.of_);
      std::swap(done_, other.done_);
      return *this;
    }
    ~Turn() {
      if (done_ == nullptr) return;
      if (of_->last_ == done_) of_->last_ = nullptr;  // nobody waits
      done_->Set(true);
    }

   private:
    OneAtATime* of_;
    std::shared_ptr<Promise<bool>> done_;
  };
  Task<Turn> Enter() {
    const auto mine = std::make_shared<Promise<bool>>(executor_);
    const std::shared_ptr<Promise<bool>> before = std::exchange(last_, mine);
    Turn turn(*this, mine);
    if (before != nullptr) {
      const Future<bool> done = before->future();
      co_await done;
    }
    co_return std::move(turn);
  }

 private:
  Executor& executor_;
  std::shared_ptr<Promise<bool>> last_;  // of who is inside or waits; null: nobody
};

}  // namespace coppice::autoscale
