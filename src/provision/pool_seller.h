// PoolSeller: the node pools as who sells machines to gangs (market/seller.h). Plans as provisioning
// does (pool_quote), buys as it does (provisioner: claims of their own names, metrics, limits), and
// gives back what nobody uses.
//
// A claim that is bought for a gang says so in an annotation, so that the process after this one
// finds it; and carries the mark of the hold as a start-up taint: from its first moment nobody else
// starts there, and as long as it is held it is not initialised, hence no candidate of disruption.
//
// Decision thread. As good as the last pass's look at pools.

#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "market/seller.h"
#include "provision/pool_quote.h"
#include "provision/provisioner.h"

namespace coppice::provision {

// Of a claim: the gang that it was bought for, "namespace/name".
inline constexpr std::string_view kGangAnnotation = "coppice.dev/gang";

class PoolSeller final : public market::Seller {
 public:
  struct Parts {
    Context& context;
    ClaimStore& store;
    PoolKeeper& pools;
    ClaimLife& life;
    Provisioner& provisioner;
    Marks& marks;
    std::function<bool()> ready;  // what can be bought has been seen
  };
  explicit PoolSeller(Parts parts) : parts_(std::move(parts)) {}

  static constexpr std::string_view kName = "node pools";
  std::string_view name() const override { return kName; }
  bool Ready() const override { return parts_.ready(); }
  Task<market::Quotes> Quote(market::Want want, market::View view) override;
  Task<market::Outcome> Order(market::Offer offer) override;
  Task<Status> Cancel(market::Outcome outcome) override;
  // What is on its way for a gang carries its mark: nobody counts on it anyway.
  void Keep(const std::vector<market::Reserved>&) override {}
  bool WasOrdered(const market::Outcome& outcome, const market::Lot& lot) const override;
  market::Delivery Look(const market::Outcome& outcome,
                        const std::vector<std::string>& taken) const override;
  model::ResourceList Stock(TimePoint now) const override;

 private:
  using Reasons = std::vector<market::Refusal::Reason>;

  std::shared_ptr<DisruptionWorld> WorldFor(const market::Want& want, const market::View& view,
                                            Reasons& reasons) const;
  Status WhyNotTried(const market::Want& want, const DisruptionWorld& world) const;
  // Takes out what kube-scheduler would not use, and says why.
  void DropMisfits(const DisruptionWorld& world, PoolQuote& quote) const;
  Task<market::Refusal> RefusalOf(std::shared_ptr<const DisruptionWorld> world, PoolQuote nearest,
                                  Reasons reasons) const;
  market::Offer Remember(const PoolQuote& quote, const market::Want& want,
                         const DisruptionWorld& world);
  void ForgetQuotes(std::string_view gang);
  // That stand, are of this gang and pool, and were bought no earlier.
  std::vector<ClaimPtr> ClaimsOf(const market::Outcome& outcome, std::string_view pool) const;
  // Nobody uses it, and nobody could have begun to since we looked.
  bool IsUnused(const model::NodeClaim& claim, std::string_view gang) const;
  const model::ResourceList& MostOfOne(const std::string& pool) const;

  Context& context() const { return parts_.context; }

  const Parts parts_;
  struct Quoted {
    std::string gang;
    Provisioner::Wish wish;
  };
  std::map<std::string, Quoted, std::less<>> quoted_;  // by machine of an offer
  size_t next_quote_ = 1;
  struct Largest {
    std::shared_ptr<const cloud::InstanceTypes> types;  // that it was found among
    model::ResourceList most;
  };
  mutable std::map<std::string, Largest> largest_;  // by pool
};

}  // namespace coppice::provision
