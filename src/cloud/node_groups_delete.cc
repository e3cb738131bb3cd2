// How CloudNodeGroups lets machines go: judge the request whole, note it, ask the cloud, book the
// answers.

#include "cloud/delete_plan.h"
#include "cloud/node_groups_core.h"
#include "cloud/request_summary.h"

namespace coppice::cloud {

void CloudNodeGroups::Core::Note(const DeletePlan& plan, Book& book,
                                 const std::shared_ptr<Request>& request) {
  for (const std::string& name : plan.drop) Cancel(book, name);
  for (const std::string& name : plan.doom) book.orders.at(name).doomed = true;
  for (const std::string& id : plan.machines) {
    MachineRecord& record = book.machines.at(id);
    record.going = Going::kAsked;
    record.going_at = clock_.Now();
  }
  request->open = plan.machines.size();
  request->done = plan.done + static_cast<int64_t>(plan.drop.size());
  request->unanswered = static_cast<int64_t>(plan.doom.size());
}

Status CloudNodeGroups::Core::Delete(std::string_view group_name, const std::vector<NodeRef>& nodes,
                                     Deadline deadline) {
  const std::string group(group_name);
  AuditEntry audit{.at = clock_.Now(),
                   .caller = std::string(CallerScope::Current()),
                   .action = "delete",
                   .group = group,
                   .asked = static_cast<int64_t>(nodes.size())};
  for (const NodeRef& node : nodes) audit.names.push_back(node.provider_id);
  const auto request = std::make_shared<Request>();
  DeletePlan plan;
  bool known = false;
  const auto note = [&]() -> Status {
    TRY(EnsureListed(deadline));
    const Lock lock(mutex_);
    const Configured* configured = TRY(MutableGroup(group));
    known = true;
    plan = TRY(PlanDelete(ledger_, *configured->config, nodes,
                          [this](const ProviderId& id) { return cloud_.OwnsId(id); }));
    Note(plan, ledger_.At(group), request);
    Touch(group);
    PublishTouched();
    return Status::Ok();
  };
  audit.status = note();
  if (audit.status.ok()) {
    const auto weak = weak_from_this();
    for (const std::string& id : plan.machines) {
      fan_out_.Run([weak, group, id, request] {
        if (const auto self = weak.lock()) self->Remove(group, id, request);
      });
    }
    Lock lock(mutex_);
    WaitFor(lock, *request, deadline);
    audit.status = Summary(group, audit.asked, "deleted", *request);
    audit.done = request->done;
    audit.pending = static_cast<int64_t>(request->open) + request->unanswered;
    Touch(group);
    PublishTouched();
  }
  if (known) {
    metrics_.Count(GroupMetrics::Direction::kDown, group,
                   static_cast<int64_t>(request->failures.size()), audit.status);
  }
  Audit(audit);
  return audit.status;
}

// On a thread of the fan-out: one machine goes. `request` is null for what nobody waits for.
void CloudNodeGroups::Core::Remove(const std::string& group, const std::string& id,
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
  Touch(group);
  if (request == nullptr || request->left) PublishTouched();
  if (request != nullptr) request->Close();
}

void CloudNodeGroups::Core::StartRemoving(const std::string& group, const std::string& id) {
  fan_out_.Run([weak = weak_from_this(), group, id] {
    if (const auto self = weak.lock()) self->Remove(group, id, nullptr);
  });
}

}  // namespace coppice::cloud
