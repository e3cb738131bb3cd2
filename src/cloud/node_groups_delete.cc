// How CloudNodeGroups lets machines go: judge the request whole, note it, ask the cloud, book the
// answers.

#include "cloud/delete_plan.h"
#include "cloud/node_groups_core.h"
#include "cloud/request_summary.h"

namespace coppice::cloud {

void CloudNodeGroups::Core::Note(const DeletePlan& plan, const std::string& group,
                                 const std::shared_ptr<Request>& request) {
  for (const std::string& name : plan.drop) book_.Cancel(group, name);
  Book& book = book_.ledger().At(group);
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
    TRY(book_.EnsureListed(deadline));
    const Lock lock(book_.mutex());
    const Configured* configured = TRY(MutableGroup(group));
    known = true;
    plan = TRY(PlanDelete(book_.ledger(), *configured->config, nodes,
                          [this](const ProviderId& id) { return cloud_.OwnsId(id); }));
    Note(plan, group, request);
    Changed(group, true);
    return Status::Ok();
  };
  audit.status = note();
  if (audit.status.ok()) {
    book_.SendDeletes(group, plan.machines, request);
    Lock lock(book_.mutex());
    book_.WaitFor(lock, *request, deadline);
    audit.status = Summary(group, audit.asked, "deleted", *request);
    audit.done = request->done;
    audit.pending = static_cast<int64_t>(request->open) + request->unanswered;
    Changed(group, true);
  }
  if (known) {
    metrics_.Count(GroupMetrics::Direction::kDown, group,
                   static_cast<int64_t>(request->failures.size()), audit.status);
  }
  Audit(audit);
  return audit.status;
}

}  // namespace coppice::cloud
