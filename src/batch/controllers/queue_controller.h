// QueueController: states and counts of queues, and the two that everybody relies on: `root`, and
// the default queue. In the place of Volcano's own.
//
// A queue without a state is opened: the scheduler lets nobody into one that is not Open. With the
// annotation coppice.dev/queue-state: Closed it is closed as soon as nothing is left in it, and
// Closing until then; without it, or with Open, it is opened again. (Upstream's way, a Command of
// bus.volcano.sh, is not read.)
//
// Decision thread.

#pragma once

#include <functional>
#include <set>
#include <string>

#include "base/executor.h"
#include "base/log.h"
#include "batch/group_phases.h"
#include "cluster/world.h"
#include "cluster/writer.h"
#include "model/batch.h"

namespace coppice::batch {

inline constexpr std::string_view kQueueStateKey = "coppice.dev/queue-state";

class QueueController {
 public:
  struct Parts {
    cluster::World& world;
    cluster::ObjectWriter& writer;
    Executor& executor;
    const Log& log;
    std::string default_queue;
    std::function<void()> wake;
  };
  explicit QueueController(Parts parts) : parts_(std::move(parts)) {}

  void Sync();
  size_t under_way() const { return busy_.size(); }
  const std::map<std::string, GroupPhases>& phases() const { return phases_; }  // by queue

 private:
  static constexpr Duration kAgain = std::chrono::seconds(1);
  void MakeIfAbsent(const std::string& name, bool reclaimable);
  coppice::Task<void> Create(std::string name, std::string json);
  coppice::Task<void> Write(std::string name, std::string uid, std::string patch);

  const Parts parts_;
  std::set<std::string> busy_;  // names
  std::map<std::string, GroupPhases> phases_;
};

}  // namespace coppice::batch
