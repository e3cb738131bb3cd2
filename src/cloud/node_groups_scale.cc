// How CloudNodeGroups orders machines: judge the request, note the intent, hand it to the order
// book.

#include <algorithm>

#include "base/strings.h"
#include "cloud/node_groups_core.h"
#include "cloud/request_summary.h"

namespace coppice::cloud {

namespace {

constexpr int64_t kVolumeUnit = 1LL << 30;

}  // namespace

std::shared_ptr<const MachineSpec> CloudNodeGroups::Core::SpecFor(const Configured& group,
                                                                  Cloud& cloud) {
  const GroupConfig& config = *group.config;
  MachineSpec spec{.flavor = config.flavor,
                   .zone = config.zone,
                   .image = config.image,
                   .disk_bytes = config.volume_size_gb * kVolumeUnit,
                   .tags = config.tags,
                   .user_data = config.user_data,
                   .extra = cloud.Extra(config)};
  spec.tags[kGroupTag] = config.name;
  if (!group.cluster.empty()) spec.tags[kClusterTag] = group.cluster;
  return std::make_shared<const MachineSpec>(std::move(spec));
}

Result<const CloudNodeGroups::Core::Configured*> CloudNodeGroups::Core::MutableGroup(
    std::string_view group) const {
  if (book_.draining()) return Unavailable("the provider is stopping and takes no more orders");
  const auto it = group_index_.find(group);
  if (it == group_index_.end()) {
    std::vector<std::string> names;
    for (const auto& [name, index] : group_index_) names.push_back(name);
    return NotFound("no node group '" + std::string(group) +
                    "' is configured; there are: " + Join(names, ", "));
  }
  return &groups_[it->second];
}

void CloudNodeGroups::Core::Audit(AuditEntry entry) const { audit_(entry); }

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
    TRY(book_.EnsureListed(deadline));
    const Lock lock(book_.mutex());
    const Configured* configured = TRY(MutableGroup(group));
    known = true;
    const GroupCounts counts = book_.Count(group);
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
    audit.names = book_.NewNames(group, delta);
    book_.Note(group, audit.names, configured->what, request);
    PublishTouched();
    return Status::Ok();
  };
  audit.status = note();
  if (audit.status.ok()) {
    book_.SendOrders(group, audit.names);
    Lock lock(book_.mutex());
    book_.WaitFor(lock, *request, deadline, options_.answer_increase_after);
    audit.status = Summary(group, delta, "ordered", *request);
    audit.done = request->done;
    audit.pending = static_cast<int64_t>(request->open) + request->unanswered;
    Changed(group, true);
  }
  if (known) {
    metrics_.Count(GroupMetrics::Direction::kUp, group,
                   static_cast<int64_t>(request->failures.size()), audit.status);
  }
  Audit(audit);
  return audit.status;
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
    const Lock lock(book_.mutex());
    (void)TRY(MutableGroup(group));
    Book& book = book_.ledger().At(group);
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
    for (const std::string& name : names) book_.Cancel(group, name);
    audit.names = std::move(names);
    audit.done = wanted;
    Changed(group, true);
    return Status::Ok();
  };
  audit.status = cancel();
  Audit(audit);
  return audit.status;
}

}  // namespace coppice::cloud
