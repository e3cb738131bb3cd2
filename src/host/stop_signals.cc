#include "host/stop_signals.h"

#include <ctime>

namespace coppice::host {

StopSignals::StopSignals(std::initializer_list<int> stop) {
  sigemptyset(&set_);
  sigaddset(&set_, SIGHUP);
  for (const int one : stop) sigaddset(&set_, one);
  pthread_sigmask(SIG_BLOCK, &set_, nullptr);
  signal(SIGPIPE, SIG_IGN);
}

Signal StopSignals::Wait(Duration duration) const {
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(duration);
  const timespec wait{.tv_sec = seconds.count(), .tv_nsec = (duration - seconds).count()};
  const int came = sigtimedwait(&set_, nullptr, &wait);
  if (came < 0) return Signal::kNone;
  return came == SIGHUP ? Signal::kReload : Signal::kStop;
}

}  // namespace coppice::host
