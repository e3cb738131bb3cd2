// DisruptionQueue: commands that are being carried out. The machines are tainted, replacements are
// created, and only when all of them are up are the claims deleted; from there termination takes
// over. A replacement that comes to nothing, or takes too long, takes everything back; so do claims
// that cannot be deleted for too long, but for those that are.
//
// What is under way is in memory alone. A process that dies leaves tainted nodes and perhaps a
// machine too many: the next one takes the taints off (Recover), and the machine is found empty.
//
// Decision thread.

#pragma once

#include <deque>
#include <map>
#include <string>
#include <vector>

#include "provision/disruption/methods.h"
#include "provision/provisioner.h"

namespace coppice::provision {

// A command with everything that carrying it out needs, by value.
struct Order {
  Method method = Method::kEmptiness;
  Decision decision = Decision::kDelete;
  std::vector<ClaimPtr> claims;  // that go
  std::vector<NodePtr> nodes;    // theirs
  std::vector<std::string> pools;
  std::vector<size_t> pods;    // that have to move, by claim
  std::vector<double> prices;  // by claim
  // Of repair, by claim: the condition, and how long its pods may take; empty otherwise.
  std::vector<RepairDecision> repairs;
  std::vector<Provisioner::Wish> replacements;
  std::vector<std::string> types;      // of replacements, for the report
  std::vector<std::string> nominated;  // provider ids
  double savings = 0;
  double price = 0;
};

class DisruptionQueue {
 public:
  struct Parts {
    Context& context;
    ClaimStore& store;
    ClaimLife& life;
    Provisioner& provisioner;
    Marks& marks;
  };
  explicit DisruptionQueue(Parts parts) : parts_(parts) {}

  // Begins to carry it out. Not OK: nothing stays of it.
  Task<Status> Start(Order order);
  // Goes on with what is under way.
  void Look(TimePoint now);
  // Nodes that bear our taint without being in a command or on their way out: it is taken off.
  void Recover(const std::vector<ClaimPtr>& claims, const Context::NodeIndexById& nodes);

  size_t size() const { return active_.size(); }
  // Under way first, then those that ended last.
  std::vector<report::DisruptionCommand> Commands() const;
  // Of a command that was given up before it began.
  void Note(const Order& order, std::string stage, std::string text, TimePoint now);
  // Of one that waits to be checked again.
  static report::DisruptionCommand Described(const Order& order, std::string stage, TimePoint now);

 private:
  struct Active {
    Order order;
    std::vector<ClaimPtr> replacements;
    TimePoint since;
    bool busy = false;
    bool refused = false;  // one of its claims could not be deleted
    report::DisruptionCommand told;
  };
  Task<Status> Mark(Order& order);
  Task<Result<std::vector<ClaimPtr>>> BuyAll(Order& order, std::vector<PoolLedger::Grant> grants);
  Task<Status> MarkOne(ClaimPtr claim, NodePtr node, std::string reason);
  // Its end has begun, by whoever.
  bool IsEnding(const model::NodeClaim& claim);
  Task<void> Unmark(ClaimPtr claim, std::string node);
  Task<void> UnmarkAll(Order order);
  Task<void> RollBack(std::string id, std::string why);
  Task<void> DeleteAll(std::string id);
  // Its drain ends then at the latest; an earlier end stays.
  Task<Status> Bound(ClaimPtr claim, TimePoint end);
  void CountRepair(const model::NodeClaim& claim, const RepairDecision& decision);
  void Close(const std::string& id, std::string stage, std::string text);
  void CountDecision(const Order& order);

  Context& context() const { return parts_.context; }

  const Parts parts_;
  uint64_t next_id_ = 1;
  std::map<std::string, Active> active_;  // by id
  std::deque<report::DisruptionCommand> ended_;
  std::map<std::string, bool> recovering_;  // by node
};

}  // namespace coppice::provision
