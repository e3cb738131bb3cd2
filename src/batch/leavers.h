// Leavers: pods that a session wants gone, from the decision until the watch shows that they go.
//
// Each is told why (an event, conditions as upstream writes them) and then deleted; where budgets
// count, by an eviction, which the API server holds against them. Until the watch shows it, our own
// World has the pod as one that is going. One that could not be made to go is as before.
//
// Decision thread.

#pragma once

#include <functional>
#include <map>
#include <string>

#include "base/executor.h"
#include "base/log.h"
#include "base/rng.h"
#include "batch/outcome.h"
#include "batch/turnstile.h"
#include "cluster/world.h"
#include "cluster/writer.h"

namespace coppice::batch {

class Leavers {
 public:
  struct Parts {
    cluster::World& own;
    cluster::Writer& writer;
    Executor& executor;
    Rng& rng;
    const Log& log;
    std::function<void(const Status& status)> ended;
  };
  explicit Leavers(Parts parts) : parts_(std::move(parts)), doors_(parts_.executor, kAtOnce) {}

  // What speaks against it if it is not begun. `by_budget`: as an eviction. Between sessions.
  Status Begin(const Outcome::Eviction& eviction, bool by_budget, TimePoint now);
  void Settle(TimePoint now);  // between sessions

  size_t under_way() const { return under_way_; }

 private:
  static constexpr size_t kAtOnce = 64;
  enum class State : uint8_t { kAsking, kGoing, kStays };
  struct Leaver {
    cluster::PodPtr before;
    cluster::PodPtr shown;
    State state = State::kAsking;
  };

  coppice::Task<void> Run(cluster::PodPtr pod, std::string reason, bool by_budget);
  coppice::Task<Status> Remove(cluster::PodPtr pod, std::string reason, bool by_budget);
  void Show(Leaver& leaver, const cluster::PodPtr& pod, TimePoint now);
  bool SettleOne(Leaver& leaver, TimePoint now);

  const Parts parts_;
  Turnstile doors_;
  std::map<std::string, Leaver> leavers_;  // by uid
  size_t under_way_ = 0;
};

}  // namespace coppice::batch
