// PoolLedger: what pools have, will have and are about to have, against their limits.
//
// A plan is made from what there is when it begins, and then it waits: for a worker, or to be looked
// at once more. Others are made meanwhile, for pods, for moves, for gangs, for static pools, and each
// sees the same room. So whoever buys asks here first, for all that it wants, in the moment before
// the claims are created; what was granted counts from then on.
//
// Counted are machines that stand and stay, the most that claims on their way may turn out to be,
// and what was granted and is no claim yet. A machine that leaves by our hand counts no more; of a
// static pool, which is only limited in nodes, it counts until it is gone.
//
// Decision thread.

#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "provision/claim_store.h"
#include "provision/marks.h"
#include "provision/pool_keeper.h"

namespace coppice::provision {

class PoolLedger {
 public:
  struct Parts {
    Context& context;
    ClaimStore& store;
    const PoolKeeper& pools;
    const Marks& marks;
    // The most that the machine of a claim which is not launched may have; null: nobody knows what
    // it was made for.
    std::function<const model::ResourceList*(const model::NodeClaim&)> most_of;
  };
  explicit PoolLedger(Parts parts) : parts_(std::move(parts)) {}

  // A machine that somebody is about to ask for.
  struct Entry {
    std::string pool;
    model::ResourceList most;  // that it may turn out to have; with "nodes"
  };
  // It counts for as long as somebody keeps this: until its claim counts by itself.
  using Grant = std::shared_ptr<const Entry>;
  struct Answer {
    Grant grant;          // null: there is no room
    std::string why_not;  // then
  };
  // Each for itself, those before others.
  std::vector<Answer> TakeEach(std::vector<Entry> wanted);
  // All or none. `instead_of`: claims that go when these are up; of them the room is counted.
  Result<std::vector<Grant>> TakeAll(std::vector<Entry> wanted,
                                     const std::vector<ClaimPtr>& instead_of = {});

  // Nobody has answered whether the claim is there: counts until that is known.
  void KeepWhileUnsure(const std::string& claim, Grant grant);

  // Takes what is on its way and not shown in a world off the limits that are planned with.
  void HoldBack(DisruptionWorld& world);

  // Why the pool may buy nothing at all, as it stands; "" if it may.
  static std::string WhyFull(const model::NodePool& pool);

 private:
  // What is left of the limits, by pool; only of pools that have any.
  using Rooms = std::map<std::string, model::ResourceList, std::less<>>;
  Rooms RoomsFor(const std::vector<Entry>& wanted, const std::vector<ClaimPtr>& instead_of);
  // Takes it out of the room; or why that cannot be.
  std::string Take(const Entry& entry, Rooms& rooms) const;
  void Count(const std::vector<ClaimPtr>& claims, const std::vector<ClaimPtr>& instead_of,
             Rooms& rooms);
  // Absent: anything.
  std::optional<model::ResourceList> MostOf(const model::NodeClaim& claim,
                                            const std::string& pool) const;
  std::vector<Grant> Granted();

  Context& context() const { return parts_.context; }

  const Parts parts_;
  std::vector<std::weak_ptr<const Entry>> granted_;
  std::map<std::string, Grant> unsure_;  // by claim
};

// The most that a machine of any of these types has; with "nodes".
model::ResourceList MostOf(const cloud::TypeList& types);

}  // namespace coppice::provision
