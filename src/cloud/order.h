// An order for one machine, from the moment it is noted until a machine stands in its place.

#pragma once

#include <condition_variable>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/status.h"
#include "cloud/types.h"

namespace coppice::cloud {

// One request of the client and what has become of its pieces so far. Guarded by the lock of the
// OrderBook; the pieces in flight and the waiting thread share it.
struct Request {
  std::condition_variable answered;
  size_t open = 0;  // pieces that nobody has answered
  int64_t done = 0;
  int64_t unanswered = 0;  // the answer was lost; a list will tell
  int64_t cancelled = 0;   // by another request
  std::vector<Status> failures;
  bool left = false;  // the client has its answer: later failures are shown in the list instead

  void Close() {  // of one piece
    if (--open == 0) answered.notify_all();
  }
};

enum class OrderState {
  kQueued,      // the cloud has not heard of it
  kSent,        // it has, and has not answered
  kUnanswered,  // the answer was lost: a machine may exist or not
  kFailed,      // refused; listed until somebody deletes the placeholder
};

struct Order {
  std::string name;  // the order's own; it stays the same when it is repeated
  // What to order, but for the name. Shared by a thousand orders: user data may be long.
  std::shared_ptr<const MachineSpec> what;
  OrderState state = OrderState::kQueued;
  bool doomed = false;  // to be deleted if it comes
  int attempts = 0;
  TimePoint changed_at;               // when `state` became what it is
  Status failure;                     // with kFailed: what the cloud said, OK if it said nothing
  std::optional<MachineError> error;  // with kFailed
  std::shared_ptr<Request> request;   // null once answered
};

// Whether a failed create may nevertheless have made a machine. Only refusals are certain.
bool MayHaveHappened(Code code);

// How a refusal is shown to the autoscaler: quota and stock-out are class 1, the rest 99.
MachineError AsMachineError(const Status& status);

}  // namespace coppice::cloud
