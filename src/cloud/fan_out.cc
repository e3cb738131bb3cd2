#include "cloud/fan_out.h"

#include <algorithm>
#include <utility>

namespace coppice::cloud {

FanOut::FanOut(Workers& workers, size_t bound)
    : workers_(workers), state_(std::make_shared<State>()) {
  state_->bound = std::max<size_t>(1, bound);
}

void FanOut::Work(const std::shared_ptr<State>& state) {
  UniqueMutexLock lock(state->mutex);
  while (!state->waiting.empty()) {
    std::function<void()> work = std::move(state->waiting.front());
    state->waiting.pop_front();
    lock.unlock();
    work();
    work = nullptr;  // what it holds is released without our lock
    lock.lock();
  }
  if (--state->running == 0) state->idle.notify_all();
}

void FanOut::Run(std::function<void()> work) {
  {
    const MutexLock lock(state_->mutex);
    state_->waiting.push_back(std::move(work));
    if (state_->running >= state_->bound) return;
    ++state_->running;
  }
  if (workers_.Submit([state = state_] { Work(state); }).ok()) return;
  // The pool's queue is full. A runner that is at work takes the piece over; if there is none, the
  // caller does it: late is better than never.
  {
    const MutexLock lock(state_->mutex);
    if (state_->running > 1) {
      --state_->running;
      return;
    }
  }
  Work(state_);
}

bool FanOut::WaitIdle(Clock& clock, Deadline deadline) {
  UniqueMutexLock lock(state_->mutex);
  return clock.WaitUntil(lock.standard(), state_->idle, deadline.at,
                         [this]() COPPICE_REQUIRES(state_->mutex) {
                           return state_->running == 0 && state_->waiting.empty();
                         });
}

size_t FanOut::running() const {
  const MutexLock lock(state_->mutex);
  return state_->running;
}

size_t FanOut::waiting() const {
  const MutexLock lock(state_->mutex);
  return state_->waiting.size();
}

}  // namespace coppice::cloud
