// The signals that end a command, taken in turn with its work: no handler, no global flag.

#pragma once

#include <signal.h>

#include <initializer_list>

#include "base/clock.h"

namespace coppice::app {

class StopSignals {
 public:
  // Blocks them, and ignores SIGPIPE. In the first thread and before any other exists, so that all
  // inherit it and Wait() is the only receiver.
  explicit StopSignals(std::initializer_list<int> signals);

  // Whether one came within that time.
  bool Wait(Duration duration) const;

 private:
  sigset_t set_;
};

}  // namespace coppice::app
