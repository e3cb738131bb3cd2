#include "app/model_steering.h"

#include <algorithm>
#include <thread>
#include <utility>

namespace coppice::app {

void ModelSteering::Set(const web::Control& control) {
  const MutexLock lock(mutex_);
  if (control.paused) paused_ = *control.paused;
  if (control.speed) speed_ = *control.speed;
  ++version_;
}

std::string ModelSteering::Json() const {
  const MutexLock lock(mutex_);
  report::JsonOut out;
  out.Open('{').Field("mode", "model").Field("paused", paused_).Field("speed", speed_);
  return out.Close('}').Take();
}

void ModelSteering::Post(Dashboard::WithWorld errand) {
  const MutexLock lock(mutex_);
  errands_.push_back(std::move(errand));
}

std::vector<Dashboard::WithWorld> ModelSteering::TakeErrands() {
  const MutexLock lock(mutex_);
  return std::exchange(errands_, {});
}

void ModelSteering::Wait(TimePoint now, TimePoint next, const std::function<bool()>& interrupted) {
  using Real = std::chrono::steady_clock;
  for (;;) {
    if (meanwhile) meanwhile();
    if (interrupted()) return;
    double speed = 0;
    bool paused = false;
    {
      const MutexLock lock(mutex_);
      speed = speed_;
      paused = paused_;
      // Reckoned anew: what was waited for at another speed does not count.
      if (std::exchange(known_version_, version_) != version_ || paused) {
        start_ = now;
        real_start_ = Real::now();
      }
    }
    if (!paused && speed <= 0) return;
    auto left = std::chrono::nanoseconds(std::chrono::milliseconds(50));
    if (!paused) {
      const auto due = real_start_ + std::chrono::duration_cast<std::chrono::nanoseconds>(
                                         (next - start_) / speed);
      left = std::min<std::chrono::nanoseconds>(left, due - Real::now());
      if (left <= std::chrono::nanoseconds::zero()) return;
    }
    // In slices: a signal does not wake this thread for sure.
    std::this_thread::sleep_for(left);
  }
}

}  // namespace coppice::app
