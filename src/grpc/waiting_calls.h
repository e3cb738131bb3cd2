// Calls of methods that wait, from the server's thread to the workers and back. Internal to this
// module.

#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/mutex.h"
#include "base/pool.h"
#include "grpc/http2_session.h"

namespace coppice::grpc {

class WaitingCalls {
 public:
  struct Late {
    uint64_t connection = 0;
    int32_t stream = 0;
    Answer answer;
    size_t held = 0;  // of the server's load, for the request
  };

  // `wake` tells the server's thread that there is something to Take().
  WaitingCalls(Workers& workers, const Clock& clock, ServerLoad& load, std::function<void()> wake)
      : workers_(workers), clock_(clock), load_(load), wake_(std::move(wake)) {}

  // A call of that connection. The answer comes later, a refusal too.
  void Start(uint64_t connection, const Caller& caller, WaitingCall call);

  // The answers since the last time; what they held of the load is returned.
  std::vector<Late> Take();
  // No call is running and no answer waits.
  bool idle() const;

 private:
  struct Job;
  void Finish(const Job& job, Answer answer);
  Answer Work(const Job& job);

  Workers& workers_;
  const Clock& clock_;
  ServerLoad& load_;
  const std::function<void()> wake_;
  mutable Mutex mutex_;
  std::vector<Late> late_ COPPICE_GUARDED_BY(mutex_);
  size_t running_ COPPICE_GUARDED_BY(mutex_) = 0;
};

}  // namespace coppice::grpc
