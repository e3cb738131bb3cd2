#include "autoscale/cloud_calls.h"

#include <memory>

namespace coppice::autoscale {

namespace {

// Where the answer is put and who waits for it; both ends hold it, for either may end first.
struct Answer {
  std::optional<Status> status;
  std::coroutine_handle<> waiter;
};

struct AwaitAnswer {
  std::shared_ptr<Answer> answer;
  bool await_ready() const { return answer->status.has_value(); }
  void await_suspend(std::coroutine_handle<> waiter) { answer->waiter = waiter; }
  Status await_resume() { return *answer->status; }
};

}  // namespace

Task<Status> CloudCalls::Run(std::function<Status()> call) {
  auto answer = std::make_shared<Answer>();
  const std::shared_ptr<Executor::Inbox> inbox = executor_.inbox();
  const Status submitted = workers_.Submit([answer, inbox, call = std::move(call)] {
    Status status = call();
    Executor::PostTo(*inbox, [answer, status = std::move(status)] {
      answer->status = status;
      if (answer->waiter) std::exchange(answer->waiter, nullptr).resume();
    });
  });
  if (!submitted.ok()) co_return submitted;
  AwaitAnswer waiting{answer};
  co_return co_await waiting;
}

Task<Status> CloudCalls::Refresh() {
  const Deadline deadline = Deadline::In(executor_.clock(), timeouts_.refresh);
  return Run([this, deadline] { return groups_.Refresh(deadline); });
}

Task<Status> CloudCalls::Increase(std::string group, int delta, bool all_or_nothing) {
  const Deadline deadline = Deadline::In(executor_.clock(), timeouts_.change);
  return Run([this, group = std::move(group), delta, all_or_nothing, deadline] {
    if (all_or_nothing) {
      const Status status = groups_.IncreaseAtomically(group, delta, deadline);
      if (status.code() != Code::kUnimplemented) return status;
    }
    return groups_.Increase(group, delta, deadline);
  });
}

Task<Status> CloudCalls::Delete(std::string group, std::vector<cloud::NodeRef> nodes) {
  const Deadline deadline = Deadline::In(executor_.clock(), timeouts_.change);
  return Run([this, group = std::move(group), nodes = std::move(nodes), deadline] {
    return groups_.Delete(group, nodes, deadline);
  });
}

Task<Status> CloudCalls::DecreaseTarget(std::string group, int delta) {
  const Deadline deadline = Deadline::In(executor_.clock(), timeouts_.change);
  return Run([this, group = std::move(group), delta, deadline] {
    return groups_.DecreaseTarget(group, delta, deadline);
  });
}

}  // namespace coppice::autoscale
