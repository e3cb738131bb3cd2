// Provisioner: from pods that wait to claims that are created.
//
// One run: what waits and what there is are copied out of the World, the solver works (on a worker:
// values only), kube-scheduler's filters are asked, claims are created and their launch is begun. A
// pod whose claim is not launched yet is not asked for again, and the room that such a claim is sure
// to have takes pods that come later. A pool with a claim that is not launched and of whose pods
// nothing is known (it was created by a process before us) buys nothing until that is over; others go
// on. (The peer stops everything.)
//
// Decision thread; one run at a time.

#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "provision/cluster_view.h"
#include "provision/lifecycle/claim_life.h"
#include "provision/pod_times.h"
#include "provision/pool_ledger.h"
#include "report/provision_report.h"

namespace coppice::provision {

class Provisioner {
 public:
  struct Parts {
    Context& context;
    ClaimStore& store;
    PoolKeeper& pools;
    ClaimLife& life;
    Marks& marks;
    PodTimes& times;
  };
  explicit Provisioner(Parts parts);

  Task<report::Provisioning> Run(TimePoint now);

  // A claim of a pool, which gets a name of its own.
  struct Wish {
    NodePoolPtr pool;
    model::NodeClaim claim;
    std::string reason;  // provisioned, unhealthy, drifted, empty, underutilized
    std::vector<PodPtr> pods;
    model::ResourceList most = {};   // that the machine may turn out to have
    model::ResourceList least = {};  // that pods will find on it; empty: not known
  };
  // Creates it and begins its launch. The ledger has granted it.
  Task<Result<ClaimPtr>> Buy(Wish wish, PoolLedger::Grant grant);
  PoolLedger& ledger() { return ledger_; }
  static PoolLedger::Entry EntryOf(const Wish& wish) {
    return {wish.pool->metadata.name, wish.most};
  }

  // Takes what claims on their way may turn out to have off the pools' limits; but for those that
  // the world shows, which count by themselves.
  void HoldBackLimits(DisruptionWorld& world) { ledger_.HoldBack(world); }
  // Pools with a claim that is not launched and of whose pods nothing is known.
  std::set<std::string> UnsyncedPools();

  // Claims of static pools: as many as are wished for.
  void KeepStatic(const std::vector<ClaimPtr>& claims, TimePoint now);

  // Pods that are on their way to a claim that is not launched yet, by uid.
  std::set<std::string> OnTheirWay();

  // Near misses of pods that could not be placed, worked out on a worker.
  std::function<void(std::shared_ptr<const DisruptionWorld>, std::vector<report::UnplacedPod>)>
      explain;

 private:
  std::string WhyNotNow(const std::set<std::string>& unsynced) const;
  SolveRequest RequestOf(const DisruptionWorld& world,
                         const std::set<std::string>& on_their_way) const;
  Task<Result<SolveOutcome>> Solve(std::shared_ptr<const DisruptionWorld> world,
                                   const SolveRequest& request);
  void TellZones(const SolveOutcome& outcome);
  void NoteDecisions(const SolveRequest& request, const SolveOutcome& outcome);
  Task<void> BuyAll(const DisruptionWorld& world, const SolveRequest& request,
                    SolveOutcome& outcome, const std::set<std::string>& unsynced,
                    report::Provisioning& told);
  Task<void> BuyGranted(std::vector<Wish> wishes, std::vector<report::PlannedMachine> machines,
                        std::vector<PoolLedger::Answer> answers, report::Provisioning& told);
  void TellIgnored(const DisruptionWorld& world, report::Provisioning& told);
  void Nominate(const DisruptionWorld& world, const SolveRequest& request,
                const SolveOutcome& outcome, TimePoint now, report::Provisioning& told);
  void TellErrors(const SolveRequest& request, const SolveOutcome& outcome,
                  report::Provisioning& told);
  void DropMisfits(const DisruptionWorld& world, const SolveRequest& request,
                   const std::vector<model::NodeClaim>& claims, SolveOutcome& outcome,
                   report::Provisioning& told);
  void DropSettled(const SolveRequest& request, SolveOutcome& outcome);
  Task<report::PlannedMachine> BuyPlanned(Wish wish, PoolLedger::Grant grant,
                                          report::PlannedMachine machine);
  std::string NewName(const std::string& pool);
  Task<void> GrowStatic(NodePoolPtr pool, int64_t count);
  Task<void> ShrinkStatic(NodePoolPtr pool, std::vector<ClaimPtr> claims, int64_t count);

  Context& context() const { return parts_.context; }

  // How long a pod that could not be helped is not told so again.
  static constexpr Duration kFailedAgain = std::chrono::minutes(5);

  const Parts parts_;
  struct ExpectedPod {
    PodPtr asked;             // as it was when it was decided on
    PodPtr placed = nullptr;  // on the machine that is to come; made when it is first shown
  };
  struct Expected {
    std::map<std::string, ExpectedPod> pods;  // by uid
    model::ResourceList most;                 // that it may turn out to have
    model::ResourceList least;                // that pods will find on it; empty: not known
  };
  // Machines on their way, as the least that they may turn out to be, with the pods that they are
  // for.
  void ShowExpected(DisruptionWorld& world);
  std::vector<PodPtr> StillExpected(const std::string& claim, Expected& expected) const;
  // These, too, wait for that claim.
  void Expect(const model::NodeClaim& claim, const ExistingPlacement& placement,
              const SolveRequest& request, report::Provisioning& told);
  // Of a dry run: all of them have a node by now, or are gone.
  bool NobodyWaits(const Expected& expected) const;
  std::map<std::string, Expected> expected_;  // by the claim's uid
  PoolLedger ledger_;
  std::set<std::string> bought_for_;   // pods, by uid, since the run began
  std::set<std::string> static_busy_;  // pools
  size_t solves_ = 0;
  std::set<std::string> zones_told_;
};

// What pods find on a machine of any of them, whichever offering it is.
model::ResourceList LeastOf(const cloud::TypeList& types);
bool IsUnlaunched(const model::NodeClaim& claim);

}  // namespace coppice::provision
