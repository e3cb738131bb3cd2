// What would become of the gangs in a dump: which start on what is there, which wait, why, and what
// machines for them would cost. One session of the batch scheduler and a quote of whoever sells; it
// binds nobody and buys nothing.
//
// The executor goes before it: what a session has set going refers to it.

#pragma once

#include <memory>
#include <string>
#include <vector>

#include "batch/scheduler.h"
#include "market/seller.h"
#include "report/batch_report.h"

namespace coppice::whatif {

struct GangsPlan {
  struct Starting {
    std::string gang;  // "namespace/name"
    size_t pods = 0;
    size_t nodes = 0;
  };
  std::vector<Starting> starting;
  std::vector<report::WaitingGang> waiting;
  bool everybody_helped() const;  // nobody waits for what nobody has
};

class GangLook {
 public:
  struct Parts {
    cluster::World& world;
    Executor& executor;
    Rng& rng;
    const batch::PluginRegistry& plugins;
    const fit::FilterRegistry& filters;
    const Log& log;
    Metrics& metrics;
    std::vector<market::Seller*> sellers;
  };
  explicit GangLook(Parts parts);
  ~GangLook();
  GangLook(const GangLook&) = delete;
  GangLook& operator=(const GangLook&) = delete;

  // Whose pods are gangs'.
  static std::vector<std::string> SchedulerNames() { return batch::Options().scheduler_names; }
  // Groups whose queue is not there: one without limits is put there for each, and `notes` say so.
  static void AddMissingQueues(cluster::World& world, std::vector<std::string>& notes);

  Result<GangsPlan> Look(TimePoint now);

 private:
  class Nobody;

  const Parts parts_;
  std::unique_ptr<Nobody> writer_;
  std::unique_ptr<batch::Scheduler> scheduler_;
};

// For people: a paragraph per gang, of the first few unless `whole`.
std::string AsText(const GangsPlan& plan, bool whole);

}  // namespace coppice::whatif
