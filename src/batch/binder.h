// Binder: puts pods on nodes, and knows what the watch has not shown yet.
//
// A pod that is being bound is assumed: in the World it stands on its node at once, so that neither
// the next session nor another engine gives the room away. The assumption ends when the watch shows
// the pod on a node, or when it is known that the binding did not happen; then the pod is as before
// and is left alone for a while. As long as nobody knows (the API server is away, an answer was
// lost), the same binding is tried again: a pod is never put on a second node by a guess.
//
// Bindings go on between sessions. Decision thread.

#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>

#include "base/backoff.h"
#include "base/executor.h"
#include "base/log.h"
#include "base/pool.h"
#include "batch/outcome.h"
#include "batch/turnstile.h"
#include "batch/volumes.h"
#include "cluster/world.h"
#include "cluster/writer.h"

namespace coppice::batch {

class Binder {
 public:
  struct Parts {
    cluster::World& shared;  // that all engines see
    cluster::World& own;     // that follows it, and hears of everything at once
    cluster::PodWriter& writer;
    Executor& executor;
    Rng& rng;
    const Log& log;
    Volumes& volumes;
    Workers* workers = nullptr;  // who wait for delegates; null: the decision thread does
    // What comes before a binding (volumes) is done, and how long that took. Null: nobody counts.
    std::function<void(const cluster::PodPtr& pod, Duration took)> prepared;
    // A binding ended: how, and how long it took after that.
    std::function<void(const cluster::PodPtr& pod, const Status& status, Duration took)> ended;
  };
  explicit Binder(Parts parts) : parts_(std::move(parts)), doors_(parts_.executor, kAtOnce) {}

  // What speaks against a binding as things are now. Between sessions.
  Status Check(const Outcome::Bind& bind) const;
  // Begins one that nothing speaks against; else says what does. Between sessions.
  Status Begin(const Outcome::Bind& bind);
  // Makes the World agree with what is known about bindings. Between sessions.
  void Settle(TimePoint now);
  // Not to be placed now: its last binding failed a moment ago.
  bool HeldBack(const model::Pod& pod, TimePoint now) const;

  size_t assumed() const { return assumed_.size(); }
  size_t under_way() const { return under_way_; }

 private:
  static constexpr size_t kAtOnce = 256;

  enum class State : uint8_t { kBinding, kBound, kFailed, kGone };
  struct Assumed {
    cluster::PodPtr before;  // as it was when it was chosen
    cluster::PodPtr shown;   // as we put it into the World
    std::string node;
    State state = State::kBinding;
  };
  struct Failure {
    int attempts = 0;
    TimePoint until;
  };

  coppice::Task<void> Run(cluster::PodPtr pod, Outcome::Bind bind);
  coppice::Task<Status> Prepare(cluster::PodPtr pod, std::string node);
  coppice::Task<Status> Bind(cluster::PodPtr pod, Outcome::Bind bind);
  // By the delegate; nothing: it could not be had, and need not be.
  coppice::Task<std::optional<Status>> ByDelegate(cluster::PodPtr pod, Outcome::Bind bind);
  void Show(Assumed& assumed, const cluster::PodPtr& pod);
  // True if it is over.
  bool SettleOne(Assumed& assumed, TimePoint now);
  bool IsThere(const model::Pod& pod) const;

  const Parts parts_;
  Turnstile doors_;
  std::map<std::string, Assumed> assumed_;             // by uid
  std::unordered_map<std::string, Failure> failures_;  // by uid
  size_t under_way_ = 0;
};

}  // namespace coppice::batch
