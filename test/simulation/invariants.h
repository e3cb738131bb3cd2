// What must hold after every pass of the autoscaler, whatever goes wrong around it. Checked against
// the truth of the model, and never with the engine's own code.
//
//   - no machine is deleted under a pod that must not move, nor under any running pod;
//   - no group above its maximum or below its minimum by our hand;
//   - no machine is ordered twice for the same pods. Exactly so until the scheduler binds a pod or
//     some machine fails: then the pods that are left may need more than was bought, because the
//     scheduler does not pack as the order was packed (a few small pods on the first node, and a
//     large one finds no room any more). From then on nothing is bought again as long as everybody
//     who waits fits on what is there and on its way, by a packing of the test's own and with a
//     quarter to spare;
//   - nothing is orphaned: every machine becomes a node or goes, no node stays marked for deletion;
//   - every pending pod has a reason or an order.

#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "report/pass_report.h"
#include "sim/model.h"
#include "whatif/model_host.h"

namespace coppice::simulation {

class Invariants {
 public:
  using Broken = std::function<void(const std::string& what)>;
  Invariants(sim::Model& model, autoscale::Options options, Broken broken);

  // After each pass. `stale`: the engine knew that its view was old.
  void AfterPass(const report::PassReport& pass, const whatif::ModelHost& host);
  // The surroundings got worse: what was ordered before may not be enough any more.
  void SupplyShrank() { ++epoch_; }

  // After a long time without faults: everybody is served and nothing is left over.
  void Healed();

 private:
  void Created(const cloud::Machine& machine);
  void Deleted(const cloud::ProviderId& id);
  void CheckDoubleOrders(const report::PassReport& pass);
  void CheckReasons(const report::PassReport& pass, const whatif::ModelHost& host);
  void CheckOrphans();
  const cloud::GroupConfig* GroupOf(const cloud::Machine& machine) const;

  sim::Model& model_;
  const autoscale::Options options_;
  const Broken broken_;
  uint64_t epoch_ = 0;
  std::set<std::string> pending_;  // uids, at the end of the last pass
  struct Order {
    uint64_t epoch = 0;
    TimePoint at = {};
    std::string group = {};
    size_t bound = 0;   // pods that the scheduler had bound by then, of all times
    size_t failed = 0;  // machines that had failed by then, likewise
  };
  struct Room {
    int64_t cpu_millis = 0;
    int64_t memory_bytes = 0;
  };
  static Room AsksFor(const model::Pod& pod);
  Room FreeOn(const model::Node& node, bool daemons_only) const;
  // What is free on nodes that take pods, and on machines on their way that are not of this pass.
  std::vector<Room> RoomThereIs() const;
  // Whether everybody who waits fits there, by first fit decreasing.
  bool EverybodyFits() const;
  void CheckOrder(const report::ScaleUp& up, TimePoint at);
  std::map<std::string, Room> fresh_room_;  // by group: on a node with nothing but DaemonSets' pods
  std::map<std::string, std::shared_ptr<Order>> ordered_;  // by uid of the pod
  size_t failed_ = 0;
  std::set<cloud::ProviderId> fresh_;                       // machines ordered in this pass
  std::map<std::string, TimePoint> silent_;                 // pods without a word, since
  std::map<cloud::ProviderId, TimePoint> alone_;            // machines without a node, since
  std::map<std::string, TimePoint> marked_;                 // nodes marked for deletion, since
  std::deque<std::pair<TimePoint, std::string>> vanished_;  // group
  std::map<cloud::ProviderId, cloud::Machine> known_;       // machines at the last look
  std::set<cloud::ProviderId> ours_;                        // deleted by us since
};

}  // namespace coppice::simulation
