// The state behind CloudNodeClaims, shared with the work that it has in the background. Private to
// cloud_node_claims.cc and the node_claims_*.cc files.
//
// Machines and orders are the OrderBook's; here are the classes, what is for sale, what was sold out
// and which claims there are. The book's lock guards all of it but the published picture (GpuLabel,
// Extra and Grid of the cloud are asked with it held: they only look at what they are given).

#pragma once

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "base/mutex.h"
#include "cloud/claim_class.h"
#include "cloud/cloud_node_claims.h"
#include "cloud/order_book.h"
#include "cloud/published.h"

namespace coppice::cloud {

class CloudNodeClaims::Core final : public OrderBook::Owner {
 public:
  static std::shared_ptr<Core> Make(const CloudNodeClaimsContext& context,
                                    CloudNodeClaimsOptions options);
  Core(const CloudNodeClaimsContext& context, CloudNodeClaimsOptions options);

  const CloudNodeClaimsOptions& options() const { return options_; }
  const NodeClaimsTraits& traits() const { return traits_; }
  Status Drain(Deadline deadline) { return book_.Drain(deadline); }

  // node_claims_launch.cc
  Result<model::NodeClaim> Launch(const model::NodeClaim& claim, Deadline deadline);
  Status End(const model::NodeClaim& claim, Deadline deadline);

  // node_claims_reads.cc
  Result<model::NodeClaim> Get(const ProviderId& id, Deadline deadline);
  Result<std::vector<model::NodeClaim>> List(Deadline deadline);
  Result<std::shared_ptr<const InstanceTypes>> TypesFor(const model::NodePool& pool,
                                                        const WaitingShapes& waiting);
  Result<std::string> IsDrifted(const model::NodeClaim& claim);
  std::optional<NodeToRegister> NodeFor(const model::NodeClaim& claim);
  std::vector<NodeClassState> ClassStates() const;
  std::vector<Leak> Leaks();

  // node_claims_refresh.cc
  Status Refresh(Deadline deadline);
  void SetClasses(std::vector<NodeClassInput> classes);
  void SetClaims(std::vector<ClaimRef> claims);

 private:
  using Lock = OrderBook::Lock;

  // A class, what was found out about it, and what it can buy. Never changed once published.
  struct ClassView {
    NodeClassInput input;
    std::string hash;
    GroupConfig group;  // but for flavor and zone
    NodeClassState state;
    TimePoint judged_at;
    std::vector<Flavor> flavors;  // those that are sold to it, as `types`
    std::shared_ptr<const InstanceTypes> types;
  };
  struct Picture {
    bool classes_known = false;
    uint64_t version = 0;  // of what is for sale
    std::map<std::string, std::shared_ptr<const ClassView>, std::less<>> classes;  // by name
    std::shared_ptr<const std::vector<Flavor>> flavors;  // null: not told yet
    std::optional<FlavorGrid> grid;
    std::set<OfferingKey> sold_out;
  };
  // One way to launch a claim.
  struct Choice {
    Flavor flavor;
    FlavorOffering offering;
    double price = 0;
    uint64_t tie = 0;
  };

  // OrderBook::Owner, with the lock held.
  std::optional<std::string> GroupOf(const Machine& machine) const override;
  bool Serves(std::string_view) const override { return true; }
  void Changed(std::string_view, bool) override {}
  void ListTaken() override COPPICE_REQUIRES(book_.mutex());
  void BeforeMerge(Deadline deadline) override;

  // node_claims_launch.cc
  Result<Machine> BuyAs(const std::string& pool, const std::string& name,
                        const std::shared_ptr<const MachineSpec>& what, Deadline deadline);
  Result<model::NodeClaim> Finish(const std::string& pool, const Machine& machine,
                                  const ClassView* view, Deadline deadline);
  Result<std::shared_ptr<const ClassView>> ReadyClass(
      const std::optional<model::NodeClassReference>& reference) const;
  std::vector<Choice> Choices(const model::NodeClaim& claim, const ClassView& view,
                              const Picture& picture) const;
  std::shared_ptr<const MachineSpec> SpecFor(const model::NodeClaim& claim, const std::string& pool,
                                             const ClassView& view, const Choice& choice) const;
  void MarkSoldOut(const OfferingKey& key, const Status& said);
  Status EndUnlaunched(const model::NodeClaim& claim, Deadline deadline);

  // node_claims_reads.cc
  Status FreshList(Deadline deadline);
  model::NodeClaim Shown(const Machine& machine, const ClassView* view) const;
  std::optional<InstanceType> TypeNamed(const std::string& flavor, const ClassView& view) const;
  std::shared_ptr<const ClassView> ClassOf(const Machine& machine) const;
  // Made to measure, and sold: those that the claim names, or, if it names none, for what it asks
  // for.
  std::vector<Flavor> MadeFor(const model::NodeClaim& claim, const model::NodeRequirement& named,
                              const ClassView& view, const FlavorGrid& grid) const;
  std::optional<Flavor> FlavorNamed(const std::string& name, const ClassView& view,
                                    const Picture& picture) const;

  // node_claims_refresh.cc
  void ReadFlavors(Deadline deadline);
  void JudgeClasses(Deadline deadline);
  NodeClassState Judge(const ClassView& view, Deadline deadline) const;
  void FillTypes(ClassView& view) const COPPICE_REQUIRES(book_.mutex());
  void Publish() COPPICE_REQUIRES(book_.mutex());
  // Forgets what is over.
  std::set<OfferingKey> SoldOutNow() COPPICE_REQUIRES(book_.mutex());
  void NoteLeaks() COPPICE_REQUIRES(book_.mutex());
  void EndLeaks(Deadline deadline);
  bool IsClaimed(const std::string& name, const ProviderId& id) const
      COPPICE_REQUIRES(book_.mutex());

  Cloud& cloud_;
  Clock& clock_;
  const Log& log_;
  const CloudNodeClaimsOptions options_;
  NodeClaimsTraits traits_;
  Gauge& leaked_;
  Gauge& machines_;
  Counter& leaks_ended_;
  Counter& stock_outs_;

  Published<Picture> published_;
  OrderBook book_;

  bool classes_known_ COPPICE_GUARDED_BY(book_.mutex()) = false;
  std::map<std::string, std::shared_ptr<const ClassView>, std::less<>> classes_
      COPPICE_GUARDED_BY(book_.mutex());
  std::shared_ptr<const std::vector<Flavor>> flavors_ COPPICE_GUARDED_BY(book_.mutex());
  std::optional<FlavorGrid> grid_ COPPICE_GUARDED_BY(book_.mutex());
  TimePoint flavors_at_ COPPICE_GUARDED_BY(book_.mutex());
  // Until when.
  std::map<OfferingKey, TimePoint> sold_out_ COPPICE_GUARDED_BY(book_.mutex());
  // Claims: the digits at the end of their machines' names, and the machines that they say.
  std::optional<TimePoint> claims_at_ COPPICE_GUARDED_BY(book_.mutex());
  std::unordered_set<std::string> claim_digits_ COPPICE_GUARDED_BY(book_.mutex());
  std::unordered_set<std::string> claim_ids_ COPPICE_GUARDED_BY(book_.mutex());
  // Since when.
  std::map<ProviderId, TimePoint> unclaimed_ COPPICE_GUARDED_BY(book_.mutex());

  // Types made to measure, by pool: the last question and its answer.
  struct Made {
    std::shared_ptr<const ClassView> view;
    uint64_t version = 0;
    std::vector<Measure> wanted, live;
    std::shared_ptr<const InstanceTypes> types;
  };
  Mutex made_mutex_;
  // By pool, the one asked for last first: whoever buys, consolidates or judges drift asks for
  // shapes of its own, and each knows by the list whether anything has changed.
  std::map<std::string, std::deque<Made>> made_ COPPICE_GUARDED_BY(made_mutex_);
};

// The digits of a claim's machine, from its uid: the end of MachineNameOf.
std::string ClaimDigits(std::string_view uid);
// The pool that a claim's tag names.
std::string PoolTagOf(const model::NodeClaim& claim);

}  // namespace coppice::cloud
