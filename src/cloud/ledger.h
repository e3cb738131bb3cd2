// Ledger: what we know of the machines of all groups between two lists of the cloud: which exist,
// which are going, which have been ordered. Also what a new list means for all that.
//
// A list is the truth about the past: it may have been taken before a create or a delete that we
// already know the answer of, and clouds serve lists that lag. So a machine that was just created
// is not given up because a list lacks it, and one that was just deleted does not come back because
// a list has it.
//
// No thread, no clock, no cloud: OrderBook guards it and tells it the time.

#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "cloud/order.h"
#include "cloud/types.h"

namespace coppice::cloud {

enum class Going { kNo, kAsked, kAgreed };  // kAsked: the cloud has not answered the delete

struct MachineRecord {
  Machine machine;
  TimePoint known_at;  // when its create was answered, or the list asked for that first showed it
  Going going = Going::kNo;
  TimePoint going_at;        // when `going` became what it is
  bool was_running = false;  // then a later failure is not a create error, and pods may be on it
  uint64_t seen = 0;         // the merge that last found it listed

  // Deleted by us, or on its way out without us.
  bool leaving() const { return going != Going::kNo || machine.state == MachineState::kDeleting; }
  bool IsCreateError() const { return machine.state == MachineState::kFailed && !was_running; }
};

struct GroupCounts {
  int existing = 0;  // and not going
  int asked = 0;     // deletes that may still fail
  int ordered = 0;
  int doomed = 0;  // orders that are to be deleted if they come

  int target() const { return existing + ordered; }
  // The most that can exist if everything turns out so: what the maximum is held against.
  int committed() const { return existing + ordered + asked + doomed; }
};

struct Book {
  std::map<std::string, MachineRecord, std::less<>> machines;  // by id
  std::map<std::string, Order, std::less<>> orders;            // by name

  GroupCounts Count() const;
  const MachineRecord* FindByName(std::string_view name) const;  // null: none
  bool empty() const { return machines.empty() && orders.empty(); }
};

struct LedgerLimits {
  // How long a list may be behind what the cloud has answered to a create or a delete. A machine is
  // not given up, and an order whose answer was lost is not repeated, before a list older than this
  // is in.
  Duration list_lag = std::chrono::seconds(60);
  // A machine that the cloud agreed to delete and still lists as alive after this is ours again: it
  // bills.
  Duration delete_patience = std::chrono::minutes(10);
  // How long a failed order stays if nobody asks for it.
  Duration failed_order_ttl = std::chrono::minutes(30);
  int max_attempts = 3;  // of one order whose answers are lost
};

class Ledger {
 public:
  explicit Ledger(LedgerLimits limits) : limits_(limits) {}

  using Where = std::pair<std::string, std::string>;  // group, and name or id

  // What a merge found that somebody has to act on or tell about.
  struct Merged {
    std::vector<Where> repeat;    // orders by name: no machine came of them, send them again
    std::vector<Where> remove;    // machines of doomed orders: delete them
    std::vector<Where> adopted;   // machines that we neither ordered nor knew
    std::vector<Where> vanished;  // machines that are gone without our doing
    std::vector<Where>
        undead;  // the cloud agreed to delete them long ago, and they are still there
  };
  // `group_of` says which group a listed machine belongs to; nullopt: not ours.
  Merged Merge(std::vector<Machine> listed, TimePoint asked_at, TimePoint now,
               const std::function<std::optional<std::string>(const Machine&)>& group_of);

  Book& At(std::string_view group);                // made if need be
  const Book* Find(std::string_view group) const;  // null: nothing known
  const std::map<std::string, Book, std::less<>>& books() const { return books_; }

  // The group whose machine this is; null if none knows it.
  const std::string* OwnerOf(std::string_view id) const;
  // The group that had this machine before it went; null if we do not remember one.
  const std::string* FormerOwnerOf(std::string_view id) const;

  // The cloud's answer to a create. Fulfils the order of that name, if it still stands. Returns the
  // record, or null if the machine has come and gone while the answer was under way.
  MachineRecord* Created(std::string_view group, Machine machine, TimePoint now);

 private:
  struct Departed {
    std::string group;
    TimePoint at;
  };
  void Depart(const std::string& group, const std::string& id, TimePoint now) {
    departed_[id] = {group, now};
  }
  void MergeListed(Book& book, const std::string& group, Machine machine, TimePoint asked_at,
                   TimePoint now, Merged& merged);
  void MergeOrders(Book& book, const std::string& group, TimePoint asked_at, TimePoint now,
                   Merged& merged);

  LedgerLimits limits_;
  uint64_t merges_ = 0;
  std::map<std::string, Book, std::less<>> books_;
  std::map<std::string, Departed, std::less<>> departed_;
};

}  // namespace coppice::cloud
