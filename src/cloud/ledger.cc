#include "cloud/ledger.h"

#include <unordered_set>

namespace coppice::cloud {

namespace {

// How long an id that is gone still counts as done when somebody wants it deleted. Far longer than
// any autoscaler remembers a node whose machine is gone.
constexpr Duration kRememberDeparted = std::chrono::hours(6);

}  // namespace

GroupCounts Book::Count() const {
  GroupCounts counts;
  for (const auto& [id, record] : machines) {
    if (record.going == Going::kAsked) {
      ++counts.asked;
    } else if (record.going == Going::kNo && record.machine.state != MachineState::kDeleting) {
      ++counts.existing;
    }
  }
  for (const auto& [name, order] : orders) ++(order.doomed ? counts.doomed : counts.ordered);
  return counts;
}

const MachineRecord* Book::FindByName(std::string_view name) const {
  for (const auto& [id, record] : machines) {
    if (record.machine.name == name) return &record;
  }
  return nullptr;
}

Book& Ledger::At(std::string_view group) {
  const auto it = books_.find(group);
  return it != books_.end() ? it->second : books_[std::string(group)];
}

const Book* Ledger::Find(std::string_view group) const {
  const auto it = books_.find(group);
  return it == books_.end() ? nullptr : &it->second;
}

const std::string* Ledger::OwnerOf(std::string_view id) const {
  for (const auto& [group, book] : books_) {
    if (book.machines.find(id) != book.machines.end()) return &group;
  }
  return nullptr;
}

const std::string* Ledger::FormerOwnerOf(std::string_view id) const {
  const auto it = departed_.find(id);
  return it == departed_.end() ? nullptr : &it->second.group;
}

MachineRecord* Ledger::Created(std::string_view group, Machine machine, TimePoint now) {
  Book& book = At(group);
  book.orders.erase(machine.name);
  const auto known = book.machines.find(machine.id);
  if (known != book.machines.end()) return &known->second;  // a list was faster than the answer
  if (departed_.contains(machine.id)) return nullptr;
  const std::string id = machine.id;
  return &book.machines.emplace(id, MachineRecord{.machine = std::move(machine), .known_at = now})
              .first->second;
}

void Ledger::MergeListed(Book& book, const std::string& group, Machine machine, TimePoint asked_at,
                         TimePoint now, Merged& merged) {
  const auto [it, fresh] = book.machines.try_emplace(machine.id);
  MachineRecord& record = it->second;
  record.seen = merges_;
  if (fresh) {
    record.known_at = asked_at;
    departed_.erase(machine.id);
    const auto order = book.orders.find(machine.name);
    if (order == book.orders.end()) {
      merged.adopted.emplace_back(group, machine.id);
    } else {
      if (order->second.doomed) {
        record.going = Going::kAsked;
        record.going_at = now;
        merged.remove.emplace_back(group, machine.id);
      }
      // Whoever waits for a queued order is told here; one that was sent is closed by its own
      // answer.
      if (order->second.state == OrderState::kQueued && order->second.request) {
        ++order->second.request->done;
        order->second.request->Close();
      }
      book.orders.erase(order);
    }
  }
  if (record.going == Going::kAgreed && machine.state != MachineState::kDeleting &&
      asked_at >= record.going_at + limits_.delete_patience) {
    record.going = Going::kNo;
    merged.undead.emplace_back(group, machine.id);
  }
  record.was_running = record.was_running || machine.state == MachineState::kRunning ||
                       machine.state == MachineState::kStopped;
  record.machine = std::move(machine);
}

void Ledger::MergeOrders(Book& book, const std::string& group, TimePoint asked_at, TimePoint now,
                         Merged& merged) {
  for (auto it = book.orders.begin(); it != book.orders.end();) {
    auto& [name, order] = *it;
    bool drop = false;
    if (order.state == OrderState::kUnanswered && asked_at >= order.changed_at + limits_.list_lag) {
      // This list is late enough to show what the lost answer might have been about, and does not.
      order.changed_at = now;
      if (order.doomed) {
        drop = true;
      } else if (order.attempts < limits_.max_attempts) {
        order.state = OrderState::kQueued;
        merged.repeat.emplace_back(group, name);
      } else {
        order.state = OrderState::kFailed;
        order.failure = Unavailable("the cloud gave no usable answer to " +
                                    std::to_string(order.attempts) + " attempts");
        order.error = MachineError{ErrorClass::kOther, "UNANSWERED", order.failure.message()};
      }
    } else if (order.state == OrderState::kFailed) {
      drop = now >= order.changed_at + limits_.failed_order_ttl;
    }
    it = drop ? book.orders.erase(it) : std::next(it);
  }
}

Ledger::Merged Ledger::Merge(
    std::vector<Machine> listed, TimePoint asked_at, TimePoint now,
    const std::function<std::optional<std::string>(const Machine&)>& group_of) {
  Merged merged;
  ++merges_;
  std::vector<std::string> foreign;
  for (Machine& machine : listed) {
    if (machine.id.empty()) continue;
    const auto group = group_of(machine);
    if (group) {
      MergeListed(At(*group), *group, std::move(machine), asked_at, now, merged);
    } else {
      foreign.push_back(std::move(machine.id));
    }
  }
  auto listed_elsewhere = [&, ids = std::optional<std::unordered_set<std::string_view>>()](
                              const std::string& id) mutable {
    if (!ids) {  // made only if a list lacks something that we know
      ids.emplace(foreign.begin(), foreign.end());
      for (const auto& [group, book] : books_) {
        for (const auto& [known, record] : book.machines) {
          if (record.seen == merges_) ids->insert(known);
        }
      }
    }
    return ids->contains(id);
  };
  for (auto it = books_.begin(); it != books_.end();) {
    const std::string& group = it->first;
    Book& book = it->second;
    std::erase_if(book.machines, [&, this](const auto& entry) {
      const auto& [id, record] = entry;
      if (record.seen == merges_) return false;
      if (listed_elsewhere(id)) return true;  // its tags say another group now, or none of ours
      switch (record.going) {
        case Going::kAsked:
          return false;  // the answer decides
        case Going::kAgreed:
          if (asked_at < record.going_at + limits_.list_lag) return false;
          break;
        case Going::kNo:
          if (asked_at < record.known_at + limits_.list_lag) return false;
          merged.vanished.emplace_back(group, id);
      }
      Depart(group, id, now);
      return true;
    });
    MergeOrders(book, group, asked_at, now, merged);
    it = book.empty() ? books_.erase(it) : std::next(it);
  }
  std::erase_if(departed_,
                [&](const auto& entry) { return now >= entry.second.at + kRememberDeparted; });
  return merged;
}

}  // namespace coppice::cloud
