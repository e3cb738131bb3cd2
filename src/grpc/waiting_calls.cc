#include "grpc/waiting_calls.h"

#include <memory>
#include <utility>

namespace coppice::grpc {
namespace {

// Who called, for a handler that may outlive the connection.
struct KeptCaller final : Caller {
  std::vector<std::string> names;
  std::string address;
  std::vector<std::string> Names() const override { return names; }
  std::string Address() const override { return address; }
};

}  // namespace

struct WaitingCalls::Job {
  Job(uint64_t number, WaitingCall waiting) : connection(number), call(std::move(waiting)) {}

  const uint64_t connection;
  const WaitingCall call;
  KeptCaller caller;
};

void WaitingCalls::Start(uint64_t connection, const Caller& caller, WaitingCall call) {
  const auto job = std::make_shared<Job>(connection, std::move(call));
  job->caller.names = caller.Names();
  job->caller.address = caller.Address();
  {
    const MutexLock lock(mutex_);
    ++running_;
  }
  const Status queued = workers_.Submit([this, job] { Finish(*job, Work(*job)); });
  if (queued.ok()) return;
  Finish(*job, Unavailable("the server is busy with calls of " + job->call.route.path + ": " +
                           queued.message() + "; try again"));
}

void WaitingCalls::Finish(const Job& job, Answer answer) {
  const MutexLock lock(mutex_);
  late_.push_back({job.connection, job.call.stream, std::move(answer), job.call.held});
  --running_;
  wake_();  // under the lock: afterwards the server may be gone
}

// On a worker. A call that nobody waits for any more is not started: it might order machines.
Answer WaitingCalls::Work(const Job& job) {
  const WaitingCall& call = job.call;
  if (*call.given_up) {
    load_.Refuse(Refusal::kCancelled, Describe(&job.caller), call.route.path);
    return Cancelled("the client gave the call up before its turn came");
  }
  if (call.deadline.Passed(clock_)) {
    load_.Refuse(Refusal::kExpired, Describe(&job.caller), call.route.path);
    return DeadlineExceeded("the deadline passed before the call's turn came");
  }
  return call.route.unary({.method = call.route.path,
                           .request = call.request,
                           .deadline = call.deadline,
                           .caller = &job.caller});
}

std::vector<WaitingCalls::Late> WaitingCalls::Take() {
  std::vector<Late> taken;
  {
    const MutexLock lock(mutex_);
    taken.swap(late_);
  }
  for (const Late& one : taken) load_.Return(one.held);
  return taken;
}

bool WaitingCalls::idle() const {
  const MutexLock lock(mutex_);
  return running_ == 0 && late_.empty();
}

}  // namespace coppice::grpc
