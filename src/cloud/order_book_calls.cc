// How an OrderBook asks the cloud and books the answers.

#include <utility>

#include "base/check.h"
#include "cloud/order_book.h"

namespace coppice::cloud {

// On a thread of the fan-out, while the owner lives.
template <class Work>
void OrderBook::Run(Work work) {
  CHECK(life_known_);
  fan_out_.Run([life = life_, work = std::move(work)] {
    if (const auto alive = life.lock()) work();
  });
}

void OrderBook::SendOrders(const std::string& group, const std::vector<std::string>& names) {
  for (const std::string& name : names) Run([this, group, name] { Send(group, name); });
}

void OrderBook::SendDeletes(const std::string& group, const std::vector<std::string>& ids,
                            const std::shared_ptr<Request>& request) {
  for (const std::string& id : ids) {
    Run([this, group, id, request] { Remove(group, id, request); });
  }
}

// One order to the cloud.
void OrderBook::Send(const std::string& group, const std::string& name) {
  Lock lock(mutex_);
  Book& book = ledger_.At(group);
  const auto it = book.orders.find(name);
  if (it == book.orders.end() || it->second.state != OrderState::kQueued) return;  // cancelled
  if (draining_ || !owner_.Serves(group)) {
    Cancel(group, name);
    return;
  }
  Order& order = it->second;
  order.state = OrderState::kSent;
  order.changed_at = clock_.Now();
  ++order.attempts;
  // Kept here as well: a list may find the machine, and forget the order, before the answer comes.
  const auto request = order.request;
  const auto what = order.what;
  lock.unlock();

  MachineSpec spec = *what;
  spec.name = name;
  auto result = cloud_.Create(spec, Deadline::In(clock_, options_.create_timeout));

  lock.lock();
  const std::string remove = Answered(group, name, spec, request.get(), std::move(result));
  lock.unlock();
  if (!remove.empty()) SendDeletes(group, {remove}, nullptr);
}

std::string OrderBook::Answered(const std::string& group, const std::string& name,
                                const MachineSpec& spec, Request* request, Result<Machine> result) {
  std::string remove;
  Book& book = ledger_.At(group);
  const auto it = book.orders.find(name);
  const bool doomed = it != book.orders.end() && it->second.doomed;
  if (it != book.orders.end()) it->second.request = nullptr;
  if (result.ok()) {
    Machine machine = *std::move(result);
    machine.name = name;  // a cloud that answers with another spelling must not cost us the order
    for (const auto& [key, value] : spec.tags) machine.tags.insert_or_assign(key, value);
    const std::string id = machine.id;
    MachineRecord* record = ledger_.Created(group, std::move(machine), clock_.Now());
    if (request != nullptr) ++request->done;
    if (doomed && record != nullptr && record->going == Going::kNo) {
      record->going = Going::kAsked;
      record->going_at = clock_.Now();
      remove = id;
    }
  } else if (it != book.orders.end()) {  // else a list has found the machine meanwhile
    if (MayHaveHappened(result.code())) {
      it->second.state = OrderState::kUnanswered;
      it->second.changed_at = clock_.Now();
      if (request != nullptr) ++request->unanswered;
      log_.Warning("the answer to an order was lost; a list will tell what came of it",
                   {{"group", group}, {"name", name}, {"error", result.status()}});
    } else {
      NoteFailure(book, group, name, request, result.status());
    }
  } else if (request != nullptr) {
    ++request->done;
  }
  owner_.Changed(group, request == nullptr || request->left);
  if (request != nullptr) request->Close();
  return remove;
}

// The client hears of a failure in its answer, or else sees it in the list: never both, or it would
// back off twice.
void OrderBook::NoteFailure(Book& book, const std::string& group, const std::string& name,
                            Request* request, const Status& status) {
  const auto it = book.orders.find(name);
  if (it->second.doomed) {
    book.orders.erase(it);
    return;
  }
  if (request != nullptr && !request->left) {
    request->failures.push_back(status);
    book.orders.erase(it);
    return;
  }
  it->second.state = OrderState::kFailed;
  it->second.changed_at = clock_.Now();
  it->second.failure = status;
  it->second.error = AsMachineError(status);
  log_.Warning("an order failed after the request was answered; it is listed with its error",
               {{"group", group}, {"name", name}, {"error", status}});
}

// One machine goes. `request` is null for what nobody waits for.
void OrderBook::Remove(const std::string& group, const std::string& id,
                       const std::shared_ptr<Request>& request) {
  const Status status = cloud_.Delete(id, Deadline::In(clock_, options_.delete_timeout));
  const bool gone = status.ok() || status.code() == Code::kNotFound;

  const Lock lock(mutex_);
  Book& book = ledger_.At(group);
  const auto it = book.machines.find(id);
  if (it != book.machines.end() && it->second.going == Going::kAsked) {
    // After a failure the machine counts again, even if only the answer was lost: the next list
    // knows.
    it->second.going = gone ? Going::kAgreed : Going::kNo;
    it->second.going_at = clock_.Now();
  }
  if (gone) {
    if (request != nullptr) ++request->done;
  } else if (request != nullptr && !request->left) {
    request->failures.push_back(status.Context(id));
  } else {
    log_.Warning("a machine could not be deleted after the request was answered; it counts again",
                 {{"group", group}, {"id", id}, {"error", status}});
  }
  owner_.Changed(group, request == nullptr || request->left);
  if (request != nullptr) request->Close();
}

// What is known of a name: its machine, or why there is none. Absent: it can be ordered, or an
// order is under way.
std::optional<Result<Machine>> OrderBook::Bought(const std::string& group,
                                                 const std::string& name) {
  Book& book = ledger_.At(group);
  if (const MachineRecord* record = book.FindByName(name)) {
    if (record->leaving()) {
      return FailedPrecondition("machine '" + name + "' (" + record->machine.id +
                                ") is being deleted");
    }
    return record->machine;
  }
  const auto it = book.orders.find(name);
  if (it == book.orders.end()) return std::nullopt;
  const Order& order = it->second;
  if (order.doomed) return FailedPrecondition("the order '" + name + "' is being given up");
  if (order.state == OrderState::kUnanswered) {
    return Unavailable("the answer to the order '" + name +
                       "' was lost; a later list will tell what came of it");
  }
  if (order.state != OrderState::kFailed) return std::nullopt;
  // Nobody has been told. It is told once: the next attempt is a new order.
  const Status failure = order.failure;
  book.orders.erase(it);
  owner_.Changed(group, true);
  return failure;
}

// Null: the order is on its way, and nobody can be told any more when it is answered.
std::shared_ptr<Request> OrderBook::Join(Order& order) {
  if (order.request == nullptr && order.state == OrderState::kQueued) {  // it is repeated
    order.request = std::make_shared<Request>();
    order.request->open = 1;
  }
  return order.request;
}

Result<Machine> OrderBook::Buy(const std::string& group, const std::string& name,
                               const std::shared_ptr<const MachineSpec>& what, Deadline deadline) {
  TRY(EnsureListed(deadline));
  const Status under_way = Unavailable("the order '" + name + "' is under way; ask again");
  std::shared_ptr<Request> request;
  bool fresh = false;
  {
    const Lock lock(mutex_);
    if (auto known = Bought(group, name)) return *std::move(known);
    Book& book = ledger_.At(group);
    const auto it = book.orders.find(name);
    fresh = it == book.orders.end();
    if (fresh) {
      if (what == nullptr) return NotFound("nothing was ordered as '" + name + "'");
      if (draining_) return Unavailable("the process is stopping and orders no more machines");
      if (!owner_.Serves(group)) return NotFound("nothing is ordered for '" + group + "'");
      request = std::make_shared<Request>();
      Note(group, {name}, what, request);
      owner_.Changed(group, true);
    } else {
      request = Join(it->second);
      if (request == nullptr) return under_way;
    }
  }
  if (fresh) SendOrders(group, {name});
  Lock lock(mutex_);
  WaitFor(lock, *request, deadline);
  owner_.Changed(group, true);
  if (!request->failures.empty()) return request->failures.front();
  if (auto known = Bought(group, name)) return *std::move(known);
  if (request->cancelled > 0) return Unavailable("the order '" + name + "' was given up");
  return under_way;
}

Status OrderBook::End(const std::string& group, const std::string& id, Deadline deadline) {
  TRY(EnsureListed(deadline));
  const auto request = std::make_shared<Request>();
  {
    const Lock lock(mutex_);
    Book& book = ledger_.At(group);
    const auto it = book.machines.find(id);
    if (it == book.machines.end()) {
      return NotFound("'" + id + "' is no machine of '" + group + "' that we know");
    }
    if (it->second.leaving()) return Status::Ok();
    if (draining_) return Unavailable("the process is stopping and deletes no more machines");
    it->second.going = Going::kAsked;
    it->second.going_at = clock_.Now();
    request->open = 1;
    owner_.Changed(group, true);
  }
  SendDeletes(group, {id}, request);
  Lock lock(mutex_);
  WaitFor(lock, *request, deadline);
  owner_.Changed(group, true);
  if (!request->failures.empty()) return request->failures.front();
  if (request->open == 0) return Status::Ok();
  return DeadlineExceeded("the cloud has not answered the deletion of '" + id + "' yet");
}

}  // namespace coppice::cloud
