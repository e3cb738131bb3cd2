// GangBuyer: buys what waiting gangs lack, whole or not at all, and keeps it for them.
//
// After every session: what was bought before is looked after (nodes that came are tainted for their
// gang; a gang that has started, or a hold that has run out, sets them free), then each gang that
// may be bought for is quoted and ordered, one after the other, so that each sees what the one
// before it has taken. What is about to be ordered is written on the PodGroup first: the process
// after this one buys nothing twice.
//
// Decision thread; one round at a time, and sessions go on meanwhile.

#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/executor.h"
#include "base/log.h"
#include "batch/buying/options.h"
#include "batch/waiting_jobs.h"
#include "cluster/world.h"
#include "cluster/writer.h"
#include "market/intent.h"
#include "market/market.h"
#include "market/want.h"
#include "report/batch_report.h"

namespace coppice::batch {

class GangBuyer final : public WaitingJobs {
 public:
  struct Parts {
    BuyingOptions options;
    market::Market& market;
    cluster::World& world;
    cluster::Writer& writer;
    Executor& executor;
    const Log& log;
    // The World with what sessions have decided in it; null: what is decided is not known.
    std::function<const cluster::World*()> assumed = nullptr;
    std::function<void()> wake = nullptr;  // a session may find more to do
  };
  explicit GangBuyer(Parts parts) : parts_(std::move(parts)) {}
  GangBuyer(const GangBuyer&) = delete;
  GangBuyer& operator=(const GangBuyer&) = delete;

  // ---- WaitingJobs.
  void Prepare(SessionInput& input) override;
  size_t MostTried() const override { return static_cast<size_t>(parts_.options.most_at_once); }
  void SessionEnded(const std::vector<WaitingJob>& jobs, TimePoint now) override;

  // Every gang that waits, and why.
  std::vector<report::WaitingGang> Report() const;
  bool busy() const { return busy_; }
  size_t holds() const;

  static constexpr std::string_view kHolder = "batch";

 private:
  struct Gang {
    std::optional<market::Intent> held;
    std::vector<std::string> nodes;  // that carry the taint
    int coming = 0;
    int lost = 0;
    int attempts = 0;
    TimePoint ask_again;
    Duration wait{};
    bool refused = false;                 // nobody sells to it: others may be evicted for it
    bool sold = false;                    // somebody would, if its queue let it in
    std::optional<TimePoint> dear_since;  // that others are evicted for it first
    std::string said;                     // the last refusal that an event told of
    report::WaitingGang told;
  };

  coppice::Task<void> Work();
  coppice::Task<void> Recover();
  coppice::Task<void> Settle(TimePoint now);
  coppice::Task<void> FreeStrays();
  coppice::Task<void> ClearAgain();
  coppice::Task<void> LookAfter(std::string id, TimePoint now);
  coppice::Task<void> HoldNode(std::string id, std::string node);
  // `give_back`: what nobody uses goes; else it is anybody's.
  coppice::Task<void> LetGo(std::string id, bool give_back, std::string why);
  bool IsSettled(Gang& gang, const WaitingJob& job, const market::Want& want, TimePoint now);
  coppice::Task<void> Consider(WaitingJob job, TimePoint now);
  // Of the places in the network that it may be in the first that somebody sells to.
  coppice::Task<market::Market::Answer> Quote(const WaitingJob& job, market::Want want,
                                              TimePoint now);
  coppice::Task<void> Buy(std::string id, market::Offer offer, TimePoint now);
  coppice::Task<Status> WriteIntent(std::string id, const market::Intent* intent);
  void Refuse(Gang& gang, std::string why, TimePoint now);
  // Empty: it is not. Else why not, and until when that counts.
  std::string TooDear(Gang& gang, const market::Offer& offer, TimePoint now) const;
  market::View ViewNow(TimePoint now) const;
  std::vector<std::string> NodesOfOthers(const std::string& id) const;
  // What has come of all that was bought for it.
  market::Delivery Delivered(const std::string& id) const;
  // Takes out what will not come any more: the next purchase is in its place.
  void WriteOffLost(const std::string& id, std::vector<market::Outcome>& bought) const;
  void TellSellers();
  const model::PodGroup* GroupOf(const std::string& id) const;
  void Tell(const std::string& id, std::string_view type, std::string_view reason,
            std::string text);

  const Parts parts_;
  std::vector<WaitingJob> latest_;
  std::map<std::string, Gang> gangs_;
  std::set<std::string> uncleared_;         // groups that still say what is held for them no more
  std::optional<TimePoint> unready_since_;  // some seller
  bool busy_ = false;
  bool recovered_ = false;
};

}  // namespace coppice::batch
