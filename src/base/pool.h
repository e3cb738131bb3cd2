// Executor of work off the calling thread: a bounded pool of threads, or, in tests, the caller
// itself.

#pragma once

#include <cstddef>
#include <functional>
#include <memory>

#include "base/clock.h"
#include "base/status.h"

namespace coppice {

class Workers {
 public:
  virtual ~Workers() = default;

  // Runs `work` soon, on another thread. ResourceExhausted when the queue is full: the caller
  // decides whether to wait or to refuse; nothing is dropped silently.
  virtual Status Submit(std::function<void()> work) = 0;
};

// `threads` threads and a queue of at most `max_queued` pieces. The destructor lets queued work
// finish.
class Pool final : public Workers {
 public:
  Pool(size_t threads, size_t max_queued);
  ~Pool() override;
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  Status Submit(std::function<void()> work) override;
  size_t queued() const;
  // The end, with a limit: takes nothing more, forgets what has not begun, and waits for what runs.
  // How many pieces still run at the deadline: what they use must outlive them.
  size_t Stop(Clock& clock, Deadline deadline);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Runs everything at once on the calling thread: deterministic, for tests.
class InlineWorkers final : public Workers {
 public:
  Status Submit(std::function<void()> work) override {
    work();
    return Status::Ok();
  }
};

}  // namespace coppice
