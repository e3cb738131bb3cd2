// Disruptor: rounds of disruption on a running cluster. Looks what could go, waits, checks again,
// and hands what still holds to the queue.
//
// A round works on values: the search runs on a worker and may take as long as it takes; pods are
// provisioned for meanwhile. A command that is to be looked at twice waits in a coroutine of its own
// while this round and later ones go on: its machines are in no other command, use their pools'
// budgets, and consolidation moves nothing onto them. Nothing to do is remembered until something
// changes, at most five minutes.
//
// Decision thread; one round at a time.

#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "provision/cluster_view.h"
#include "provision/disruption/queue.h"

namespace coppice::provision {

class Disruptor {
 public:
  struct Parts {
    Context& context;
    ClaimStore& store;
    PoolKeeper& pools;
    DisruptionQueue& queue;
    Provisioner& provisioner;
    Marks& marks;
  };
  explicit Disruptor(Parts parts) : parts_(parts) {}

  // Begins a round if one is due.
  void Look(const std::vector<ClaimPtr>& claims, TimePoint now);

  const std::vector<report::StayingPoolNode>& staying() const { return staying_; }
  TimePoint last_round() const { return last_round_; }
  // Commands that wait to be checked again, by number.
  const std::map<uint64_t, report::DisruptionCommand>& validating() const { return validating_; }
  // Per pool and reason: what its budgets left in the last round.
  const std::map<std::string, std::map<std::string, int64_t>>& budgets() const { return budgets_; }

 private:
  Task<void> Round();
  // What a round looks at; made anew when time has passed in between.
  struct Scene {
    std::shared_ptr<DisruptionWorld> world;
    std::shared_ptr<DisruptionRound> round;
    uint64_t print = 0;
    bool known = false;  // there was nothing to consolidate in a world like this
  };
  Scene SceneNow();
  Task<bool> OneRound();
  enum class Tried { kNothing, kActed, kWorldChanged };
  Task<Tried> Try(Method method, Scene scene);
  Task<bool> Begin(Order order);
  // validation.cc
  void ValidateApart(Order order);
  Task<void> CheckAndBegin(Order order);
  // What is left of the command after the wait; none: it does not hold any more.
  Task<std::optional<Order>> Validated(Order order);
  Task<std::optional<Order>> StillEmpty(Order order, std::shared_ptr<DisruptionWorld> world);
  Task<std::optional<Order>> StillCheaper(Order order, std::shared_ptr<DisruptionWorld> world);
  bool AreAllWanted(const Order& order, const std::vector<const Candidate*>& candidates,
                    const MethodAnswer& answer);
  std::optional<Order> StillWanted(Order order);
  // As it is now, for the command that is looked at once more.
  std::shared_ptr<DisruptionWorld> WorldAgain(const Order& order);
  Order OrderOf(const Command& command, const DisruptionWorld& world) const;
  void Tell(const MethodAnswer& answer, const DisruptionWorld& world);
  void CountMoves(const MethodAnswer& answer);
  void TellProtected(const DisruptionWorld& world);
  std::map<std::string, report::StayingPoolNode>& StayingNow();
  void TellEligible(Method method, const MethodAnswer& answer);
  bool IsPausing(const Order& order, TimePoint now) const;
  // Of a dry run: shown once for as long as the machines and their pods are the same.
  bool WasShown(const Order& order) const;
  void Show(const Order& order);
  std::string ShownAs(const Order& order) const;
  uint64_t FingerprintOf(const DisruptionWorld& world) const;
  // Why a pool's machines stay for now, by pool: one of its claims is not launched yet, or it has
  // had its disruption for a while.
  std::map<std::string, std::string> WaitingPools(TimePoint now);
  bool HasUnlaunched(const std::vector<ClaimPtr>& claims) const;
  void CountFailed(Method method, size_t candidates);
  // It has failed its validation.
  void Reject(const Order& order, std::string_view kind, std::string why);
  void Abandon(const Order& order, std::string_view kind, std::string why);

  Context& context() const { return parts_.context; }

  const Parts parts_;
  bool running_ = false;
  // In the round under way something was not looked at, or not carried out: by a budget, a pause, a
  // world that moved on. Then "nothing to do" is not to be remembered.
  bool held_back_ = false;
  TimePoint next_ = TimePoint::min();
  TimePoint last_round_ = TimePoint::min();
  std::map<std::string, report::StayingPoolNode> staying_now_;  // of the round under way, by node
  std::vector<report::StayingPoolNode> staying_;
  bool staying_holds_ = false;  // of the last round, as long as this one has nothing to add
  std::map<std::string, std::map<std::string, int64_t>> budgets_;
  std::map<uint64_t, report::DisruptionCommand> validating_;
  uint64_t next_validation_ = 0;
  size_t consolidating_ = 0;  // commands of consolidation that wait to be checked again
  bool again_ = false;        // one has begun while a round was under way: the next follows at once
  // Nothing to consolidate in a world like this.
  uint64_t consolidated_ = 0;
  TimePoint consolidated_at_ = TimePoint::min();
  std::map<std::string, TimePoint> last_disruption_;  // by pool
  std::set<std::string> shown_;
};

}  // namespace coppice::provision
