// Statuses: what a session says about groups, queues and pods, written to the API server.
//
// Only what has changed is written, and of one object only the newest is under way: what was
// overtaken is not written at all. Until the watch shows it, our own World has it already, so that
// the next session does not decide the same again; what could not be written is taken back there,
// and the next session says it again.
//
// Decision thread.

#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/executor.h"
#include "base/log.h"
#include "batch/outcome.h"
#include "batch/turnstile.h"
#include "cluster/world.h"
#include "cluster/writer.h"

namespace coppice::batch {

// A status by its own door; where the definition of the kind has none, as part of the object.
coppice::Task<Status> PutStatus(cluster::ObjectWriter& writer, cluster::ObjectName object,
                                std::string patch);

class Statuses {
 public:
  struct Parts {
    cluster::World& shared;
    cluster::World& own;
    cluster::Writer& writer;
    Executor& executor;
    const Log& log;
  };
  explicit Statuses(Parts parts) : parts_(std::move(parts)), doors_(parts_.executor, kAtOnce) {}

  // Between sessions, both.
  void Put(const Outcome& outcome, TimePoint now);
  void Settle(TimePoint now);
  // PodScheduled=False for a pod whose binding failed.
  void BindFailed(const model::Pod& pod, const Status& why, TimePoint now);
  // Unless the same was told about the object not long ago.
  void Tell(cluster::Event event, TimePoint now);

  size_t under_way() const { return writes_.size(); }

 private:
  static constexpr size_t kAtOnce = 64;
  using Write = std::function<coppice::Task<Status>()>;
  struct Slot {
    std::shared_ptr<Write> next;  // null: nothing newer than what is under way
  };
  void PutGroup(const Outcome::GroupStatus& group);
  void PutHyperNode(const Outcome::GroupStatus& group);
  void PutQueue(const Outcome::QueueAllocated& queue);
  void PutCondition(const Outcome::PodCondition& condition, TimePoint now);
  void ForgetOldTexts(TimePoint now);
  void Enqueue(std::string key, Write write);
  coppice::Task<void> Run(std::string key, std::shared_ptr<Write> write);

  const Parts parts_;
  Turnstile doors_;
  std::map<std::string, Slot> writes_;               // by what they are about
  std::set<std::string> failed_;                     // of those, what is to be taken back
  std::unordered_map<std::string, TimePoint> told_;  // by all that an event says
  TimePoint told_since_;
};

}  // namespace coppice::batch
