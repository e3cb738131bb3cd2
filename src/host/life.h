// Life: in which order a process comes up, works and goes down.
//
// Up: the cluster is read, also while another replica leads, for then the change of leaders is
// quick; the lease is waited for, then a complete view; the engines are put together and take
// turns. Whatever fails on the way ends the process with 1, and so does the loss of the lease: then
// nothing is tidied up, for it is somebody else's now.
//
// Down, at a signal: no pass begins, the one under way ends (or its time runs out), calls that
// change the cloud end (by their deadline, which is before the end of the lease), what is left to
// be written is, and the lease is handed over, unless something that it allowed is still under way:
// then it runs out by itself.
//
// Decision thread, but for what says otherwise. No network: each step is handed in.

#pragma once

#include <atomic>
#include <functional>
#include <string_view>

#include "base/changes_under_way.h"
#include "base/executor.h"
#include "base/log.h"
#include "host/health_check.h"
#include "host/lease.h"
#include "host/turns.h"

namespace coppice::host {

// How long the end of the process waits. Kubernetes kills half a minute after the signal.
struct StopLimits {
  Duration pass = std::chrono::seconds(10);  // for passes under way
  Duration calls = std::chrono::seconds(3);  // for calls that change nothing, a Refresh say
};

class Life {
 public:
  struct Parts {
    Executor& executor;
    const Log& log;
    Turns& turns;
    HealthCheck& health;
    ChangesUnderWay& changes;  // of the cloud
    Lease* lease = nullptr;    // null: nobody is elected
    bool dry_run = false;      // nothing is written, at the end neither
    StopLimits limits = {};
    Duration max_startup = std::chrono::minutes(20);  // until the view is complete
  };
  struct Steps {
    std::function<void()> read;  // from now on
    std::function<Task<Status>(Deadline)> until_read;
    std::function<void()> leads;  // told that we do
    // Puts the engines together and adds them to the turns.
    std::function<Task<Status>()> assemble;
    // What is to be written before the lease goes, the queue until `flushed` and no longer.
    std::function<Task<void>(Deadline flushed)> leave;
    std::function<size_t()> writes_under_way;  // to the API server
  };
  Life(Parts parts, Steps steps) : parts_(parts), steps_(std::move(steps)) {}

  // All of it, until the executor is stopped. Spawn it.
  Task<void> Main();
  // The signal came.
  void StopSoon();

  // Any thread. The lease is being handed over: nothing new is written.
  bool writes_closed() const { return writes_closed_; }
  // After the executor has stopped: until when calls that are under way elsewhere may take.
  Deadline CallsEndBy() const;
  int exit_code() const { return exit_code_; }

 private:
  Clock& clock() const { return parts_.executor.clock(); }
  void Fail(std::string_view what, const Status& why);
  Task<void> HoldLease();
  Task<void> ShutDown();
  Task<void> UntilNothingChanges();
  Task<void> HandOver();

  const Parts parts_;
  const Steps steps_;
  std::atomic<bool> writes_closed_ = false;
  bool stopping_ = false;
  bool assembled_ = false;
  int exit_code_ = 0;
};

}  // namespace coppice::host
