// Turnstile: so many at a time, the others wait in line. Decision thread.

#pragma once

#include <cstddef>
#include <deque>
#include <utility>

#include "base/executor.h"
#include "base/promise.h"

namespace coppice::batch {

class Turnstile {
 public:
  Turnstile(Executor& executor, size_t places) : executor_(executor), places_(places) {}

  // Whoever is in; out when it goes.
  class Inside {
   public:
    explicit Inside(Turnstile& of) : of_(&of) {}
    Inside(Inside&& other) noexcept : of_(std::exchange(other.of_, nullptr)) {}
    Inside& operator=(Inside&&) = delete;
    ~Inside() {
      if (of_ != nullptr) of_->Leave();
    }

   private:
    Turnstile* of_;
  };

  coppice::Task<Inside> Enter() {
    if (inside_ < places_) {
      ++inside_;
      co_return Inside(*this);
    }
    const Promise<bool> turn(executor_);
    line_.push_back(turn);
    co_await turn.future();
    co_return Inside(*this);
  }

 private:
  void Leave() {
    if (line_.empty()) {
      --inside_;
      return;
    }
    const Promise<bool> next = line_.front();  // its place is the one that became free
    line_.pop_front();
    next.Set(true);
  }

  Executor& executor_;
  const size_t places_;
  size_t inside_ = 0;
  std::deque<Promise<bool>> line_;
};

}  // namespace coppice::batch
