// PoolKeeper: NodePools as they stand. Which are valid, whose class is ready, what they have bought,
// and what the hash of their template is; written into their status and annotations, and used at
// once, whether that write has gone through or not.
//
// A pool with something wrong is left out, with the sentence in its condition; the others go on. So
// is one that cannot be read, whose limits and budgets may be what is missing, but it is not written.
//
// Decision thread.

#pragma once

#include <array>
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "provision/context.h"
#include "report/provision_report.h"

namespace coppice::provision {

class PoolKeeper {
 public:
  explicit PoolKeeper(Context& context) : context_(context) {}

  // Looks at all pools: what they have is counted from these claims. Begins the writes.
  void Look(const std::vector<ClaimPtr>& claims,
            const std::vector<std::shared_ptr<const ClaimFacts>>& facts,
            const Context::NodeIndexById& nodes, const std::set<std::string>& marked,
            TimePoint now);

  // With the instance types that can be bought for them; by name. Types are asked for the shapes
  // that wait.
  std::vector<PoolView> Views(const cloud::WaitingShapes& waiting);
  const std::vector<NodePoolPtr>& pools() const { return pools_; }
  NodePoolPtr Find(std::string_view name) const;

  // As they were when last asked for; null: they are not known.
  std::shared_ptr<const cloud::InstanceTypes> TypesOf(const std::string& pool) const {
    const auto sold = sold_.find(pool);
    return sold == sold_.end() ? nullptr : sold->second.types;
  }

  // How a launch ended: registered, or given up. Says something of the claim's pool if that is its
  // owner, and not of one that somebody has named in a label, or that came after it under its name.
  void LaunchEnded(const model::NodeClaim& claim, bool well, std::string_view reason,
                   std::string_view message);

  // A launch found that nothing of what the pool wants is for sale; one got a machine. Who buys
  // whoever asks for it (a static pool) waits meanwhile: longer each time.
  void LaunchSoldOut(const std::string& pool, TimePoint now);
  void LaunchedOne(const std::string& pool) { sold_out_.erase(pool); }
  TimePoint SoldOutUntil(const std::string& pool) const;

  // Per hour, by what was for sale when it was last asked; 0 if that is not known.
  double PriceOfClaim(const model::NodeClaim& claim) const;
  uint64_t prices_version() const { return prices_version_; }  // another one for other prices

  std::vector<report::PoolState> States(const std::map<std::string, double>& costs) const;

 private:
  struct Health {
    std::string uid;        // of the pool
    std::deque<bool> ring;  // of the last launches
    int64_t generation = 0;
    int64_t class_generation = 0;
  };
  struct Use {
    model::ResourceList resources;
    int64_t nodes = 0;
  };

  void CountUses(const std::vector<ClaimPtr>& claims,
                 const std::vector<std::shared_ptr<const ClaimFacts>>& facts,
                 const Context::NodeIndexById& nodes, const std::set<std::string>& marked);
  NodePoolPtr Evaluated(const NodePoolPtr& pool, TimePoint now);
  void JudgeClass(model::NodePool& pool, TimePoint now);
  void JudgeHealth(const model::NodePool& before, model::NodePool& pool, TimePoint now);
  void SetMetrics(const model::NodePool& pool);
  Task<void> WritePool(NodePoolPtr before, NodePoolPtr after);

  Context& context_;
  std::vector<NodePoolPtr> pools_;
  std::map<std::string, Use> uses_;
  // Of what they were counted.
  std::vector<ClaimPtr> counted_;
  uint64_t counted_nodes_ = 0;
  std::set<std::string> counted_marked_;
  std::map<std::string, Health> health_;
  std::map<std::string, std::pair<std::string, std::string>> failures_;  // reason, message
  struct SoldOut {
    TimePoint until = TimePoint::min();
    Duration wait = Duration::zero();
  };
  std::map<std::string, SoldOut> sold_out_;
  std::set<std::string> busy_;
  // By name: the version that a write answered; until the World shows it nothing is written again.
  std::map<std::string, std::string> written_;
  struct Sold {
    std::shared_ptr<const cloud::InstanceTypes> types;
    std::map<std::string, const cloud::InstanceType*, std::less<>> by_name;
  };
  std::map<std::string, Sold> sold_;  // by pool
  uint64_t prices_version_ = 0;
  std::map<std::string, size_t> types_;         // by pool: how many are sold
  std::map<std::string, std::string> trouble_;  // by pool: why no types are known
};

}  // namespace coppice::provision
