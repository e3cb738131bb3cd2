// SignalThread: the one thread that takes the process' signals while it lives, and hands them on.
// Signals are blocked everywhere else (stop_signals.h).

#pragma once

#include <atomic>
#include <functional>
#include <thread>

#include "host/stop_signals.h"

namespace coppice::host {

class SignalThread {
 public:
  // `came` is called on that thread.
  SignalThread(const StopSignals& signals, std::function<void(Signal)> came)
      : thread_([this, &signals, came = std::move(came)] {
          while (!over_) {
            const Signal signal = signals.Wait(std::chrono::milliseconds(100));
            if (signal != Signal::kNone) came(signal);
          }
        }) {}
  ~SignalThread() {
    over_ = true;
    thread_.join();
  }
  SignalThread(const SignalThread&) = delete;
  SignalThread& operator=(const SignalThread&) = delete;

 private:
  std::atomic<bool> over_ = false;
  std::thread thread_;  // last: it reads the flag
};

}  // namespace coppice::host
