// What must hold at every moment of a batch scheduler's life on a model cluster, looked at from the
// side of the cluster: whatever the scheduler believes, this is what it has done.

#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "batch/scheduler.h"
#include "sim/model.h"
#include "whatif/gang_load.h"

namespace coppice::simulation {

class GangRules {
 public:
  using Broken = std::function<void(const std::string& what)>;

  GangRules(sim::Model& model, const whatif::GangLoad& load,
            const std::vector<whatif::GangQueue>& queues, Broken broken);

  // After each session, with the scheduler that ran it.
  void AfterSession(const report::SessionReport& report, const batch::Scheduler& scheduler);
  // Now and then.
  void Look();
  // Of the scheduler, the autoscaler and the cluster.
  void Heard(const cluster::Event& event);

  // What nobody can be blamed for: the scheduler does not see what happens, or somebody whom it has
  // to ask does not answer.
  void ViewIsStale(bool stale);
  void ExtenderIsDown(bool down) { extender_down_ = down; }
  void Restarted() { restarted_ = model_.agenda.Now(); }

  struct Counts {
    size_t placements = 0, evictions = 0, purchases = 0, refusals = 0, holds_run_out = 0,
           orders_failed = 0, held_nodes = 0, not_carried_out = 0;
  };
  const Counts& counts() const { return counts_; }
  // Nodes that are held, purchases that are noted.
  std::vector<std::string> Held() const;

 private:
  void Bound(const model::Pod& pod, const std::string& node);
  void CheckRoom(const std::string& node);
  void CheckCapability(const std::string& queue);
  void CheckHolds();
  void CheckReasons();
  bool BlindLately() const;
  int PlacedIn(const batch::Scheduler& scheduler, const whatif::PlayedGang& gang) const;
  const whatif::PlayedGang* GangOf(const std::string& pod_key) const;
  void Break(const std::string& what) const { broken_(what); }

  sim::Model& model_;
  const whatif::GangLoad& load_;
  std::map<std::string, int64_t> most_millis_;  // by queue
  const Broken broken_;
  std::optional<TimePoint> stale_until_;
  bool stale_ = false;
  bool extender_down_ = false;
  TimePoint restarted_;
  std::map<std::string, TimePoint> overdue_;     // node or group: held without right, since when
  std::map<std::string, TimePoint> reasonless_;  // gang: since when
  std::set<std::string> explained_;              // groups, by the last session
  TimePoint last_session_;
  Counts counts_;
};

}  // namespace coppice::simulation
