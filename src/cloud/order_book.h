// OrderBook: machines that are ordered from a Cloud under names of ours, from the intent to the
// list that shows them. Written once for every contract above Cloud: node groups order many at a
// time under names that are drawn here, node claims one at a time under a name that is the claim's.
//
// It holds the ledger (what exists, what is going, what was ordered), hands calls to a bounded
// fan-out, books the answers whenever they come, repeats an order whose answer was lost once a list
// shows that nothing came of it, deletes what comes although nobody wants it any more, and finds
// orphans. Whose a machine is and what is shown of it is the Owner's business.
//
// Machines are kept in groups: those that are counted together, be it a node group or a node pool.
//
// One lock, mutex(), for this and for its owner's own state, so that what is shown always fits what
// is booked. It is held for look-ups and book-keeping only: never while one of the cloud's verbs is
// called, and never while work is handed to the fan-out. Any thread.

#pragma once

#include <condition_variable>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/log.h"
#include "base/mutex.h"
#include "base/pool.h"
#include "base/rng.h"
#include "cloud/cloud.h"
#include "cloud/fan_out.h"
#include "cloud/ledger.h"

namespace coppice::cloud {

struct OrderBookOptions {
  Tags tags;                 // what all machines of the book carry: the cloud is asked for these
  std::string orphan_text;   // what is logged once of a machine of a group that nobody serves
  size_t max_parallel = 10;  // calls to the cloud at a time, over all groups and requests
  LedgerLimits limits;
  Duration create_timeout = std::chrono::minutes(2);  // of one call, whatever the client's deadline
  Duration delete_timeout = std::chrono::minutes(1);
  // How long before the client's deadline we answer; half the time left if that is shorter.
  Duration answer_margin = std::chrono::milliseconds(500);
};

struct OrderBookContext {
  Cloud& cloud;
  Workers& workers;
  Clock& clock;
  Rng& rng;  // drawn from in the constructor only
  const Log& log;
};

class OrderBook {
 public:
  using Lock = UniqueMutexLock;

  class Owner {
   public:
    virtual ~Owner() = default;
    // All but BeforeMerge with the lock held.

    // The group of a listed machine; nullopt: not ours.
    virtual std::optional<std::string> GroupOf(const Machine& machine) const = 0;
    // Whether the group is wanted now. Orders of one that is not are dropped before they are sent,
    // and its machines are orphans.
    virtual bool Serves(std::string_view group) const = 0;
    // The books of a group have changed. `show`: at once, for nobody waits for an answer who would.
    virtual void Changed(std::string_view group, bool show) = 0;
    // A list was taken in: all groups may have changed.
    virtual void ListTaken() = 0;
    // A list was read and will be taken in: whatever else is to be asked now and shown with it.
    virtual void BeforeMerge(Deadline) {}
  };

  // `owner` has this book as a member.
  OrderBook(const OrderBookContext& context, OrderBookOptions options, Owner& owner);

  // Before the first order. Work in the background begins only while `owner` lives, and keeps it
  // alive meanwhile; what waits when it goes is dropped.
  void set_owner_life(std::weak_ptr<const void> owner);

  Mutex& mutex() const COPPICE_RETURNS(mutex_) { return mutex_; }

  // Many pieces at a time: note them with the lock held, send them without, wait for them.

  // Names that nobody has in the group, "GROUP-1a2b3c4d".
  std::vector<std::string> NewNames(const std::string& group, int count) COPPICE_REQUIRES(mutex_);
  // Opens an order per name; `what` is the order but for its name.
  void Note(const std::string& group, const std::vector<std::string>& names,
            const std::shared_ptr<const MachineSpec>& what, const std::shared_ptr<Request>& request)
      COPPICE_REQUIRES(mutex_);
  // Without the lock, as all that follows unless it says otherwise.
  void SendOrders(const std::string& group, const std::vector<std::string>& names);
  // Asks the cloud to end machines that are marked Going::kAsked. `request`: null if nobody waits.
  void SendDeletes(const std::string& group, const std::vector<std::string>& ids,
                   const std::shared_ptr<Request>& request);
  // Until every piece is answered, the client's deadline nears, or `most` is over (zero: never).
  void WaitFor(Lock& lock, Request& request, Deadline deadline, Duration most = Duration::zero())
      COPPICE_REQUIRES(mutex_);

  // Forgets an order that the cloud has not heard of or has refused.
  void Cancel(const std::string& group, const std::string& name) COPPICE_REQUIRES(mutex_);
  // The same for all orders of the group in one of `states`.
  void CancelAll(const std::string& group, const std::set<OrderState>& states)
      COPPICE_REQUIRES(mutex_);

  // One piece at a time.

  // The machine of that name: one that is there, one that an order under way brings, or else one
  // that is ordered now. So asking twice never buys twice. Ordered and not here by the deadline, or
  // its answer lost: kUnavailable, ask again. Refused: what the cloud said, once; asking again then
  // orders again. The machine may have ended in failure: look at its state. `what` is null: nothing
  // is ordered, and kNotFound says that there is nothing of that name.
  Result<Machine> Buy(const std::string& group, const std::string& name,
                      const std::shared_ptr<const MachineSpec>& what, Deadline deadline);
  // Ends one machine. OK: the cloud agreed, now or before. kNotFound: the group has none of that
  // id.
  Status End(const std::string& group, const std::string& id, Deadline deadline);

  // What the cloud has. Whoever asks while a list is under way shares its outcome.
  Status Refresh(Deadline deadline);
  // Before the first list nobody knows how many machines there are, so none can be added or taken
  // away.
  Status EnsureListed(Deadline deadline);

  // Refuses further orders, drops what was not sent, and waits for the calls under way. What is
  // unanswered at the deadline is found again by its tags after the next start.
  Status Drain(Deadline deadline);

  Ledger& ledger() COPPICE_REQUIRES(mutex_) { return ledger_; }
  const Ledger& ledger() const COPPICE_REQUIRES(mutex_) { return ledger_; }
  GroupCounts Count(std::string_view group) const COPPICE_REQUIRES(mutex_);
  bool draining() const COPPICE_REQUIRES(mutex_) { return draining_; }
  bool listed() const COPPICE_REQUIRES(mutex_) { return listed_; }
  // When the newest list was asked for.
  TimePoint listed_at() const COPPICE_REQUIRES(mutex_) { return listed_at_; }
  // Of groups that nobody serves, by group and id.
  std::vector<Machine> Orphans() const COPPICE_REQUIRES(mutex_);

 private:
  Status ListAndMerge(Deadline deadline);
  void Tell(const Ledger::Merged& merged) const;
  void TellOrphans() COPPICE_REQUIRES(mutex_);

  template <class Work>
  void Run(Work work);
  void Send(const std::string& group, const std::string& name);
  // The id of a machine that came although nobody wants it any more, or "".
  std::string Answered(const std::string& group, const std::string& name, const MachineSpec& spec,
                       Request* request, Result<Machine> result) COPPICE_REQUIRES(mutex_);
  void NoteFailure(Book& book, const std::string& group, const std::string& name, Request* request,
                   const Status& status) COPPICE_REQUIRES(mutex_);
  void Remove(const std::string& group, const std::string& id,
              const std::shared_ptr<Request>& request);
  std::optional<Result<Machine>> Bought(const std::string& group, const std::string& name)
      COPPICE_REQUIRES(mutex_);
  static std::shared_ptr<Request> Join(Order& order);

  Cloud& cloud_;
  Clock& clock_;
  const Log& log_;
  const OrderBookOptions options_;
  Owner& owner_;
  std::weak_ptr<const void> life_;
  bool life_known_ = false;
  FanOut fan_out_;

  mutable Mutex mutex_;
  SeededRng names_ COPPICE_GUARDED_BY(mutex_);
  Ledger ledger_ COPPICE_GUARDED_BY(mutex_);
  bool listed_ COPPICE_GUARDED_BY(mutex_) = false;
  TimePoint listed_at_ COPPICE_GUARDED_BY(mutex_);
  std::set<std::string> told_orphans_ COPPICE_GUARDED_BY(mutex_);
  bool draining_ COPPICE_GUARDED_BY(mutex_) = false;

  bool refreshing_ COPPICE_GUARDED_BY(mutex_) = false;
  uint64_t refreshes_ COPPICE_GUARDED_BY(mutex_) = 0;  // finished ones
  Status refresh_status_ COPPICE_GUARDED_BY(mutex_);
  std::condition_variable refreshed_;
};

}  // namespace coppice::cloud
