#include "plugins/batch/extender/breaker.h"

namespace coppice::batch::extender {

Status Breaker::Admit(TimePoint now) {
  const std::lock_guard lock(mutex_);
  if (state_ == State::kClosed) return Status::Ok();
  if (state_ == State::kOpen && now >= until_) {
    state_ = State::kTrying;
    return Status::Ok();
  }
  return Unavailable("the extender is not asked for a while, it failed " +
                     std::to_string(failures_) + " times in a row; last: " + last_);
}

void Breaker::Note(const Status& outcome, TimePoint now) {
  const std::lock_guard lock(mutex_);
  if (outcome.ok()) {
    state_ = State::kClosed;
    failures_ = 0;
    return;
  }
  ++failures_;
  last_ = outcome.message();
  if (limit_ <= 0 || failures_ < limit_) return;
  state_ = State::kOpen;
  until_ = Later(now, pause_);
}

Breaker::State Breaker::state() const {
  const std::lock_guard lock(mutex_);
  return state_;
}

std::string Breaker::last_failure() const {
  const std::lock_guard lock(mutex_);
  return failures_ == 0 ? std::string() : last_;
}

std::string_view ToString(Breaker::State state) {
  switch (state) {
    case Breaker::State::kClosed:
      return "closed";
    case Breaker::State::kOpen:
      return "open";
    case Breaker::State::kTrying:
      break;
  }
  return "trying";
}

}  // namespace coppice::batch::extender
