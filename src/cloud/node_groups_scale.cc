// How CloudNodeGroups orders machines: note the intent, ask the cloud, book the answers.

#include <algorithm>
#include <unordered_set>

#include "base/strings.h"
#include "cloud/node_groups_core.h"
#include "cloud/request_summary.h"

namespace coppice::cloud {

namespace {

constexpr int64_t kVolumeUnit = 1LL << 30;

MachineSpec SpecFor(const GroupConfig& group, const std::string& cluster,
                    std::map<std::string, std::string> extra, std::string name) {
  MachineSpec spec{.name = std::move(name),
                   .flavor = group.flavor,
                   .zone = group.zone,
                   .image = group.image,
                   .disk_bytes = group.volume_size_gb * kVolumeUnit,
                   .tags = group.tags,
                   .user_data = group.user_data,
                   .extra = std::move(extra)};
  spec.tags[kGroupTag] = group.name;
  if (!cluster.empty()) spec.tags[kClusterTag] = cluster;
  return spec;
}

}  // namespace

Result<const CloudNodeGroups::Core::Configured*> CloudNodeGroups::Core::MutableGroup(
    std::string_view group) const {
  if (draining_) return Unavailable("the provider is stopping and takes no more orders");
  const auto it = group_index_.find(group);
  if (it == group_index_.end()) {
    std::vector<std::string> names;
    for (const auto& [name, index] : group_index_) names.push_back(name);
    return NotFound("no node group '" + std::string(group) +
                    "' is configured; there are: " + Join(names, ", "));
  }
  return &groups_[it->second];
}

// Before the first list nobody knows how many machines there are, so none can be added or taken
// away.
Status CloudNodeGroups::Core::EnsureListed(Deadline deadline) {
  if (published_.Load()->refreshed) return Status::Ok();
  return Refresh(deadline).Context("reading what exists before changing it");
}

void CloudNodeGroups::Core::Audit(AuditEntry entry) const { audit_(entry); }

// Waits until every piece is answered, the client's deadline nears, or `most` is over (zero:
// never).
void CloudNodeGroups::Core::WaitFor(Lock& lock, Request& request, Deadline deadline,
                                    Duration most) {
  TimePoint until = deadline.at;
  if (until != TimePoint::max()) {
    until -= std::min(options_.answer_margin, deadline.Left(clock_) / 2);
  }
  if (most > Duration::zero()) until = std::min(until, Later(clock_.Now(), most));
  clock_.WaitUntil(lock, request.answered, until, [&] { return request.open == 0; });
  request.left = true;
}

// 32 random bits meet one of a thousand names once in four million orders: look, and draw again.
std::string CloudNodeGroups::Core::NewName(const std::string& group,
                                           std::unordered_set<std::string>& taken) {
  static constexpr char kDigits[] = "0123456789abcdef";
  for (;;) {
    std::string name = group + "-";
    uint64_t bits = names_.Next();
    for (int i = 0; i < 8; ++i, bits >>= 4) name += kDigits[bits & 15];
    if (taken.insert(name).second) return name;
  }
}

std::vector<std::string> CloudNodeGroups::Core::NoteOrders(
    const Configured& group, int count, const std::shared_ptr<Request>& request) {
  Book& book = ledger_.At(group.config->name);
  std::unordered_set<std::string> taken;
  for (const auto& [id, record] : book.machines) taken.insert(record.machine.name);
  for (const auto& [name, order] : book.orders) taken.insert(name);
  std::vector<std::string> names;
  for (int i = 0; i < count; ++i) {
    const std::string name = NewName(group.config->name, taken);
    book.orders.emplace(name, Order{.name = name,
                                    .config = group.config,
                                    .cluster = group.cluster,
                                    .changed_at = clock_.Now(),
                                    .request = request});
    names.push_back(name);
  }
  request->open = names.size();
  Touch(group.config->name);
  return names;
}

Status CloudNodeGroups::Core::Increase(std::string_view group_name, int delta, Deadline deadline) {
  const std::string group(group_name);
  AuditEntry audit{.at = clock_.Now(),
                   .caller = std::string(CallerScope::Current()),
                   .action = "increase",
                   .group = group,
                   .asked = delta};
  const auto request = std::make_shared<Request>();
  bool known = false;  // the group: others would be labels that a client makes up
  const auto note = [&]() -> Status {
    if (delta <= 0) {
      return InvalidArgument("group '" + group + "': cannot grow by " + std::to_string(delta) +
                             "; the number must be positive");
    }
    TRY(EnsureListed(deadline));
    const Lock lock(mutex_);
    const Configured* configured = TRY(MutableGroup(group));
    known = true;
    const Book* book = ledger_.Find(group);
    const GroupCounts counts = book == nullptr ? GroupCounts{} : book->Count();
    const int64_t room = int64_t{configured->config->max_size} - counts.committed();
    if (delta > room) {
      std::string text = "group '" + group + "': cannot grow by " + std::to_string(delta) +
                         ": the target is " + std::to_string(counts.target()) +
                         " and the maximum " + std::to_string(configured->config->max_size);
      if (counts.asked + counts.doomed > 0) {
        text += ", and " + std::to_string(counts.asked + counts.doomed) +
                " deletions are not confirmed";
      }
      return FailedPrecondition(text + "; ask for at most " +
                                std::to_string(std::max<int64_t>(0, room)) + " or raise maxSize");
    }
    audit.names = NoteOrders(*configured, delta, request);
    PublishTouched();
    return Status::Ok();
  };
  audit.status = note();
  if (audit.status.ok()) {
    const auto weak = weak_from_this();
    for (const std::string& name : audit.names) {
      fan_out_.Run([weak, group, name] {
        if (const auto self = weak.lock()) self->Send(group, name);
      });
    }
    Lock lock(mutex_);
    WaitFor(lock, *request, deadline, options_.answer_increase_after);
    audit.status = Summary(group, delta, "ordered", *request);
    audit.done = request->done;
    audit.pending = static_cast<int64_t>(request->open) + request->unanswered;
    Touch(group);
    PublishTouched();
  }
  if (known) {
    metrics_.Count(GroupMetrics::Direction::kUp, group,
                   static_cast<int64_t>(request->failures.size()), audit.status);
  }
  Audit(audit);
  return audit.status;
}

// On a thread of the fan-out: one order to the cloud.
void CloudNodeGroups::Core::Send(const std::string& group, const std::string& name) {
  Lock lock(mutex_);
  Book& book = ledger_.At(group);
  const auto it = book.orders.find(name);
  if (it == book.orders.end() || it->second.state != OrderState::kQueued) return;  // cancelled
  if (draining_ || !group_index_.contains(group)) {
    Cancel(book, name);
    return;
  }
  Order& order = it->second;
  order.state = OrderState::kSent;
  order.changed_at = clock_.Now();
  ++order.attempts;
  const auto request = std::exchange(order.request, nullptr);
  const auto config = order.config;
  const std::string cluster = order.cluster;
  lock.unlock();

  const MachineSpec spec = SpecFor(*config, cluster, cloud_.Extra(*config), name);

  auto result = cloud_.Create(spec, Deadline::In(clock_, options_.create_timeout));

  lock.lock();
  Answered(group, name, spec, request.get(), std::move(result), lock);
}

void CloudNodeGroups::Core::Answered(const std::string& group, const std::string& name,
                                     const MachineSpec& spec, Request* request,
                                     Result<Machine> result, Lock& lock) {
  std::string remove;  // the id of a machine that came although nobody wants it any more
  Book& book = ledger_.At(group);
  const auto it = book.orders.find(name);
  const bool doomed = it != book.orders.end() && it->second.doomed;
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
      NoteFailure(group, name, request, result.status());
    }
  } else if (request != nullptr) {
    ++request->done;
  }
  Touch(group);
  if (request == nullptr || request->left) PublishTouched();
  if (request != nullptr) request->Close();
  if (remove.empty()) return;
  lock.unlock();
  StartRemoving(group, remove);
}

// The client hears of a failure in its answer, or else sees it in the list: never both, or it would
// back off twice.
void CloudNodeGroups::Core::NoteFailure(const std::string& group, const std::string& name,
                                        Request* request, const Status& status) {
  Book& book = ledger_.At(group);
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
  it->second.error = AsMachineError(status);
  log_.Warning("an order failed after the request was answered; it is listed with its error",
               {{"group", group}, {"name", name}, {"error", status}});
}

// Forgets an order that the cloud has not heard of or has refused.
void CloudNodeGroups::Core::Cancel(Book& book, const std::string& name) {
  const auto it = book.orders.find(name);
  if (const auto request = it->second.request) {
    ++request->cancelled;
    request->Close();
  }
  book.orders.erase(it);
}

Status CloudNodeGroups::Core::DecreaseTarget(std::string_view group_name, int delta) {
  const std::string group(group_name);
  AuditEntry audit{.at = clock_.Now(),
                   .caller = std::string(CallerScope::Current()),
                   .action = "decrease_target",
                   .group = group,
                   .asked = delta};
  const auto cancel = [&]() -> Status {
    if (delta >= 0) {
      return InvalidArgument("group '" + group + "': cannot lower the target by " +
                             std::to_string(delta) + "; the number must be negative");
    }
    const Lock lock(mutex_);
    (void)TRY(MutableGroup(group));
    Book& book = ledger_.At(group);
    std::vector<std::string> names;  // the refused before the merely waiting
    for (const OrderState state : {OrderState::kFailed, OrderState::kQueued}) {
      for (const auto& [name, order] : book.orders) {
        if (order.state == state) names.push_back(name);
      }
    }
    const int64_t wanted = -int64_t{delta};
    if (wanted > static_cast<int64_t>(names.size())) {
      const GroupCounts counts = book.Count();
      return FailedPrecondition(
          "group '" + group + "': cannot lower the target of " + std::to_string(counts.target()) +
          " by " + std::to_string(wanted) + ": " + std::to_string(counts.existing) +
          " machines exist and only " + std::to_string(names.size()) + " of " +
          std::to_string(counts.ordered) +
          " orders have not gone to the cloud; delete the others by their ids");
    }
    names.resize(static_cast<size_t>(wanted));
    for (const std::string& name : names) Cancel(book, name);
    audit.names = std::move(names);
    audit.done = wanted;
    Touch(group);
    PublishTouched();
    return Status::Ok();
  };
  audit.status = cancel();
  Audit(audit);
  return audit.status;
}

}  // namespace coppice::cloud
