// What must hold at every moment of a life of node pools on a model cluster, looked at from the side
// of the cluster and its cloud: whatever the engine believes, this is what it has done.
//
//   - no machine is nobody's for longer than the grace, no claim without one, none has two;
//   - no pod that is not to be disturbed is evicted, none that a budget keeps; only a grace period
//     that is over takes one away all the same, and not a second earlier than the pod needs to end;
//   - no machine is ended under a pod that works there, but for the same reason;
//   - a pool has no more machines on their way out by our hand than its budget says;
//   - no pool is above its limits. A machine that goes by our hand makes room before it is gone; if
//     that is taken back it may be one too many, until there is room again. Of a static pool every
//     machine counts until it is gone.

#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "report/provision_report.h"
#include "sim/model.h"

namespace coppice::simulation {

class PoolRules {
 public:
  using Broken = std::function<void(const std::string& what)>;

  // Told of evictions and deletions by the model itself; its hooks must be those of this object.
  PoolRules(sim::Model& model, Broken broken);

  // The pool may not have more than these go at a time.
  void SetBudget(const std::string& pool, int64_t nodes) { budgets_[pool] = nodes; }

  void AfterPass(const report::ProvisionReport& pass);
  // Now and then.
  void Look();
  // What the process before had begun and not carried out is taken back.
  void Restarted();
  // The cloud was told to end it.
  void Ended(const cloud::ProviderId& id);

  // After a long time without faults: what is still not as it should be.
  std::vector<std::string> Ill() const;

  struct Counts {
    size_t gone = 0;                      // machines that went by our hand
    size_t repaired = 0;                  // of these, because they were sick
    size_t forced = 0;                    // pods that a grace period took away
    size_t refused = 0;                   // plans that found their room taken by another one
    size_t guarded = 0;                   // looks at pods that must not be disturbed
    std::map<std::string, int64_t> most;  // by limit, as "pool/resource": in millis, used at most
  };
  const Counts& counts() const { return counts_; }

 private:
  using ClaimPtr = std::shared_ptr<const model::NodeClaim>;
  using PoolPtr = std::shared_ptr<const model::NodePool>;
  void Break(const std::string& what) const { broken_(what); }
  void Evicted(const model::Pod& pod);
  void Deleted(const model::Pod& pod);
  void CheckBudgetOf(const model::Pod& pod);
  void CheckCommands(const report::ProvisionReport& pass);
  void CheckLimits();
  void CheckMachines();
  void CheckClaims();
  std::vector<ClaimPtr> Claims() const;
  PoolPtr FindPool(const std::string& name) const;
  ClaimPtr ClaimOf(const std::string& node) const;
  // When its grace period is over.
  std::optional<TimePoint> DeadlineOf(const std::string& node) const;
  void FindSick(std::vector<std::string>& ill) const;

  sim::Model& model_;
  const Broken broken_;
  std::map<std::string, int64_t> budgets_;    // by pool
  std::map<std::string, TimePoint> nobodys_;  // machines without a claim, since when
  std::map<std::string, TimePoint> empty_;    // claims without a machine, by uid, since when
  std::set<std::string> going_;               // claims that go by our hand
  std::set<std::string> sick_;                // of these, because they are sick
  std::set<std::pair<std::string, TimePoint>> taken_back_;  // commands
  std::set<std::string> may_exceed_;                        // pools
  TimePoint told_provisioning_;
  Counts counts_;
};

}  // namespace coppice::simulation
