#include "app/stop_signals.h"

#include <ctime>

namespace coppice::app {

StopSignals::StopSignals(std::initializer_list<int> signals) {
  sigemptyset(&set_);
  for (const int one : signals) sigaddset(&set_, one);
  pthread_sigmask(SIG_BLOCK, &set_, nullptr);
  signal(SIGPIPE, SIG_IGN);
}

bool StopSignals::Wait(Duration duration) const {
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(duration);
  const timespec wait{.tv_sec = seconds.count(), .tv_nsec = (duration - seconds).count()};
  return sigtimedwait(&set_, nullptr, &wait) >= 0;
}

}  // namespace coppice::app
