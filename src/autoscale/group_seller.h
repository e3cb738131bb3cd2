// GroupSeller: the node groups as who sells machines to gangs (market/seller.h). Plans as a
// scale-up does (group_quote), buys as one does (buyer: the same events, books and back-off), and
// gives back what nobody uses.
//
// Decision thread. As good as the last pass's look at groups, templates and machines.

#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "autoscale/buyer.h"
#include "autoscale/group_quote.h"
#include "autoscale/owners.h"
#include "market/seller.h"

namespace coppice::autoscale {

class GroupSeller final : public market::Seller {
 public:
  struct Parts {
    const StageParts& shared;
    const Owners& owners;
    const NodeList& nodes;
    GroupStates& state;
    const Templates& templates;
    fit::Search& search;
    expand::Chain& expanders;
    OneAtATime& choosing;
    Buyer& buyer;
    Cooldowns& cooldowns;
    StandStill& still;
    TpuRequests& tpus;
    Reservations& reserved;
    bool first_of_tie;
  };
  explicit GroupSeller(Parts parts) : parts_(parts), shared_(parts.shared) {}

  static constexpr std::string_view kName = "node groups";
  std::string_view name() const override { return kName; }
  bool Ready() const override { return parts_.state.last_update() != TimePoint(); }
  Task<market::Quotes> Quote(market::Want want, market::View view) override;
  Task<market::Outcome> Order(market::Offer offer) override;
  Task<Status> Cancel(market::Outcome outcome) override;
  void Keep(const std::vector<market::Reserved>& reserved) override {
    parts_.reserved.Replace(reserved, kName);
  }
  bool WasOrdered(const market::Outcome& outcome, const market::Lot& lot) const override;
  market::Delivery Look(const market::Outcome& outcome,
                        const std::vector<std::string>& taken) const override;
  model::ResourceList Stock(TimePoint now) const override;

 private:
  std::vector<std::string> DomainsOf(const market::TopologyWish& wish) const;
  Task<Status> GiveBack(market::Lot lot, std::string gang);
  // Machines of the group that exist, were bought for the gang and that nobody uses.
  std::vector<cloud::NodeRef> UnusedOf(const market::Lot& lot, const std::string& gang,
                                       size_t most) const;

  const Parts parts_;
  const StageParts& shared_;
  // By gang and group: the machines that were there before its order, as far as this process knows.
  std::map<std::pair<std::string, std::string>, std::set<std::string>> there_before_;
};

}  // namespace coppice::autoscale
