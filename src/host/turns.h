// Turns: whose turn it is, in a list of engines on one thread and one World.
//
// Each has its turn when it is due: of several that are, the one that has been due for longest, and
// of those the first of the list. A pass is a coroutine; while one is suspended another engine may
// begin its own, but not
//
//   while one that has begun keeps the others out (Engine::keeps_others_out), nor begins one that
//   has to be alone while another is under way; if that is the one that has been due for longest,
//   nobody begins until those under way have ended;
//   while a fork is open in the World's snapshot: nobody plans on what somebody else imagines.
//
// The health of the process is that of the engine that has been without success for longest: one that
// is not due is not late, and one that works does not hide another that fails.
//
// Decision thread.

#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "base/executor.h"
#include "base/promise.h"
#include "cluster/world.h"
#include "host/engine.h"
#include "host/health_check.h"

namespace coppice::host {

class Turns {
 public:
  Turns(Executor& executor, const cluster::World& world, HealthCheck& health)
      : executor_(executor), world_(world), health_(health) {}

  // Before Run. Outlives it.
  void Add(Engine& engine) { seats_.push_back({.engine = &engine}); }

  // Gives turns until Stop(), and is over when the last pass is.
  Task<void> Run();
  void Stop();
  // No pass is under way, and none begins any more.
  bool over() const { return over_; }
  // Until then, or until `when`. One waits at most.
  Task<void> UntilOver(TimePoint when);

  void Tell(const Event& event);
  // Somebody may be due earlier than before, or keep others out no more.
  void LookAgain();

 private:
  struct Seat {
    Engine* engine;
    bool passing = false;
    bool begun = false;      // the pass has got to where it first waits
    bool succeeded = false;  // ever
    // When the first pass since its last success began; absent: it is not late.
    std::optional<TimePoint> tries_since = std::nullopt;
  };

  bool MayBegin(const Seat& seat) const;
  Seat* Next(TimePoint now);
  // When somebody who is not due yet will be.
  TimePoint NextDue(TimePoint now) const;
  size_t Passing() const;
  Task<void> OnePass(Seat& seat);
  void TellHealth();
  Task<void> UntilNewsOr(TimePoint when);

  Executor& executor_;
  const cluster::World& world_;
  HealthCheck& health_;
  std::vector<Seat> seats_;
  std::optional<Promise<bool>> news_;
  bool stopping_ = false;
  bool over_ = false;
  std::optional<Promise<bool>> over_told_;  // whoever waits for that
};

}  // namespace coppice::host
