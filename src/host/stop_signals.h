// The signals that a command listens to, taken in turn with its work: no handler, no global flag.

#pragma once

#include <signal.h>

#include <initializer_list>

#include "base/clock.h"

namespace coppice::host {

enum class Signal {
  kNone,
  kStop,
  kReload,  // SIGHUP: read files again
};

class StopSignals {
 public:
  // Blocks those that end the command and SIGHUP, and ignores SIGPIPE. In the first thread and
  // before any other exists, so that all inherit it and Wait() is the only receiver.
  explicit StopSignals(std::initializer_list<int> stop);

  // The first that comes within that time.
  Signal Wait(Duration duration) const;

 private:
  sigset_t set_;
};

}  // namespace coppice::host
