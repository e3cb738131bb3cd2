#include "cloud/order_book.h"

#include <algorithm>
#include <unordered_set>
#include <utility>

namespace coppice::cloud {

namespace {

// A list of everything takes seconds on a slow API; the client's deadline usually ends it sooner.
constexpr Duration kListTimeout = std::chrono::minutes(1);

}  // namespace

OrderBook::OrderBook(const OrderBookContext& context, OrderBookOptions options, Owner& owner)
    : cloud_(context.cloud),
      clock_(context.clock),
      log_(context.log),
      options_(std::move(options)),
      owner_(owner),
      fan_out_(context.workers, options_.max_parallel),
      names_(context.rng.Next()),
      ledger_(options_.limits) {}

void OrderBook::set_owner_life(std::weak_ptr<const void> owner) {
  life_ = std::move(owner);
  life_known_ = true;
}

GroupCounts OrderBook::Count(std::string_view group) const {
  const Book* book = ledger_.Find(group);
  return book == nullptr ? GroupCounts{} : book->Count();
}

// 32 random bits meet one of a thousand names once in four million orders: look, and draw again.
std::vector<std::string> OrderBook::NewNames(const std::string& group, int count) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::unordered_set<std::string> taken;
  if (const Book* book = ledger_.Find(group)) {
    for (const auto& [id, record] : book->machines) taken.insert(record.machine.name);
    for (const auto& [name, order] : book->orders) taken.insert(name);
  }
  std::vector<std::string> names;
  while (std::ssize(names) < count) {
    std::string name = group + "-";
    uint64_t bits = names_.Next();
    for (int i = 0; i < 8; ++i, bits >>= 4) name += kDigits[bits & 15];
    if (taken.insert(name).second) names.push_back(std::move(name));
  }
  return names;
}

void OrderBook::Note(const std::string& group, const std::vector<std::string>& names,
                     const std::shared_ptr<const MachineSpec>& what,
                     const std::shared_ptr<Request>& request) {
  Book& book = ledger_.At(group);
  for (const std::string& name : names) {
    book.orders.emplace(
        name, Order{.name = name, .what = what, .changed_at = clock_.Now(), .request = request});
  }
  request->open = names.size();
  owner_.Changed(group, false);
}

void OrderBook::WaitFor(Lock& lock, Request& request, Deadline deadline, Duration most) {
  TimePoint until = deadline.at;
  if (until != TimePoint::max()) {
    until -= std::min(options_.answer_margin, deadline.Left(clock_) / 2);
  }
  if (most > Duration::zero()) until = std::min(until, Later(clock_.Now(), most));
  clock_.WaitUntil(lock.standard(), request.answered, until, [&] { return request.open == 0; });
  request.left = true;
}

void OrderBook::Cancel(const std::string& group, const std::string& name) {
  Book& book = ledger_.At(group);
  const auto it = book.orders.find(name);
  if (const auto request = it->second.request) {
    ++request->cancelled;
    request->Close();
  }
  book.orders.erase(it);
}

void OrderBook::CancelAll(const std::string& group, const std::set<OrderState>& states) {
  std::vector<std::string> names;
  for (const auto& [name, order] : ledger_.At(group).orders) {
    if (states.contains(order.state)) names.push_back(name);
  }
  for (const std::string& name : names) Cancel(group, name);
}

Status OrderBook::EnsureListed(Deadline deadline) {
  {
    const Lock lock(mutex_);
    if (listed_) return Status::Ok();
  }
  return Refresh(deadline).Context("reading what exists before changing it");
}

Status OrderBook::Refresh(Deadline deadline) {
  Lock lock(mutex_);
  if (refreshing_) {
    const uint64_t mine = refreshes_;
    const auto ended = [&]() COPPICE_REQUIRES(mutex_) { return refreshes_ != mine; };
    if (!clock_.WaitUntil(lock.standard(), refreshed_, deadline.at, ended)) {
      return DeadlineExceeded("another refresh is under way and has not ended in time");
    }
    return refresh_status_;
  }
  refreshing_ = true;
  lock.unlock();
  const Status status = ListAndMerge(deadline);
  lock.lock();
  refreshing_ = false;
  ++refreshes_;
  refresh_status_ = status;
  refreshed_.notify_all();
  return status;
}

Status OrderBook::ListAndMerge(Deadline deadline) {
  const TimePoint asked_at = clock_.Now();
  auto listed = cloud_.List(options_.tags, deadline.Earlier(Deadline::In(clock_, kListTimeout)));
  if (!listed.ok()) return listed.status().Context("listing machines");
  owner_.BeforeMerge(deadline);

  Ledger::Merged merged;
  {
    const Lock lock(mutex_);
    merged = ledger_.Merge(*std::move(listed), asked_at, clock_.Now(),
                           [this](const Machine& machine) { return owner_.GroupOf(machine); });
    listed_ = true;
    listed_at_ = asked_at;
    owner_.ListTaken();
    TellOrphans();
  }
  Tell(merged);
  for (const auto& [group, name] : merged.repeat) SendOrders(group, {name});
  for (const auto& [group, id] : merged.remove) SendDeletes(group, {id}, nullptr);
  return Status::Ok();
}

void OrderBook::Tell(const Ledger::Merged& merged) const {
  for (const auto& [group, id] : merged.vanished) {
    log_.Info("a machine is gone without our doing", {{"group", group}, {"id", id}});
  }
  for (const auto& [group, id] : merged.undead) {
    log_.Warning("the cloud agreed to delete a machine and still lists it; it counts again",
                 {{"group", group}, {"id", id}});
  }
  for (const auto& [group, name] : merged.repeat) {
    log_.Info("no machine came of an order whose answer was lost; ordering it again",
              {{"group", group}, {"name", name}});
  }
}

std::vector<Machine> OrderBook::Orphans() const {
  std::vector<Machine> orphans;
  for (const auto& [group, book] : ledger_.books()) {
    if (owner_.Serves(group)) continue;
    for (const auto& [id, record] : book.machines) orphans.push_back(record.machine);
  }
  return orphans;
}

// Once per machine, and again after it was in a group.
void OrderBook::TellOrphans() {
  std::set<std::string> now;
  for (const auto& [group, book] : ledger_.books()) {
    if (owner_.Serves(group)) continue;
    for (const auto& [id, record] : book.machines) {
      now.insert(id);
      if (told_orphans_.contains(id)) continue;
      log_.Warning(options_.orphan_text,
                   {{"id", id}, {"name", record.machine.name}, {"group", group}});
    }
  }
  told_orphans_ = std::move(now);
}

Status OrderBook::Drain(Deadline deadline) {
  {
    const Lock lock(mutex_);
    draining_ = true;
    std::vector<std::string> groups;
    for (const auto& [group, book] : ledger_.books()) groups.push_back(group);
    for (const std::string& group : groups) {
      CancelAll(group, {OrderState::kQueued});
      owner_.Changed(group, &group == &groups.back());
    }
  }
  if (fan_out_.WaitIdle(clock_, deadline)) return Status::Ok();
  return DeadlineExceeded(
      std::to_string(fan_out_.running()) +
      " calls to the cloud are unanswered; their machines carry their tags and are "
      "found again after the next start");
}

}  // namespace coppice::cloud
