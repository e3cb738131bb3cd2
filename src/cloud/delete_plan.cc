#include "cloud/delete_plan.h"

#include <optional>
#include <set>

#include "base/strings.h"
#include "cloud/group_instances.h"

namespace coppice::cloud {

namespace {

constexpr size_t kMaxComplaints = 10;

class Planner {
 public:
  Planner(const Ledger& ledger, const GroupConfig& group,
          const std::function<bool(const ProviderId&)>& well_formed)
      : ledger_(ledger), group_(group), well_formed_(well_formed), book_(ledger.Find(group.name)) {}

  Status Add(const NodeRef& node) {
    const std::string& id = node.provider_id;
    if (id.empty()) {
      return InvalidArgument("node '" + node.name +
                             "' has no provider id; the cloud-controller-manager sets it");
    }
    if (!ids_.insert(id).second) return InvalidArgument("'" + id + "' is named twice");
    if (const auto placeholder = ParsePlaceholder(id)) return AddOrder(id, *placeholder);
    if (!well_formed_(id)) {
      return InvalidArgument("'" + id + "' does not have the form of an id of this cloud");
    }
    return AddMachine(node);
  }

  Status CheckMinimum() const {
    const GroupCounts counts = book_ == nullptr ? GroupCounts{} : book_->Count();
    const int going =
        static_cast<int>(plan_.machines.size() + plan_.drop.size() + plan_.doom.size());
    if (registered_ == 0 || counts.target() - going >= group_.min_size) return Status::Ok();
    return FailedPrecondition("deleting " + std::to_string(going) + " would leave " +
                              std::to_string(counts.target() - going) + " of a target of " +
                              std::to_string(counts.target()) + ", below the minimum of " +
                              std::to_string(group_.min_size) +
                              "; delete fewer or lower the group's minSize");
  }

  DeletePlan Take() { return std::move(plan_); }

 private:
  Status AddOrder(const std::string& id, const Placeholder& placeholder) {
    if (placeholder.group != group_.name) {
      return FailedPrecondition("'" + id + "' belongs to group '" + std::string(placeholder.group) +
                                "'");
    }
    const Order* order = FindOrder(placeholder.name);
    if (order == nullptr) {
      ++plan_.done;  // it became a machine, which has an id of its own, or it was given up
      return Status::Ok();
    }
    if (order->doomed) return FailedPrecondition("'" + id + "' is being deleted already");
    const bool with_cloud =
        order->state == OrderState::kSent || order->state == OrderState::kUnanswered;
    (with_cloud ? plan_.doom : plan_.drop).push_back(order->name);
    return Status::Ok();
  }

  Status AddMachine(const NodeRef& node) {
    const std::string& id = node.provider_id;
    const auto* record = FindRecord(id);
    if (record == nullptr) {
      if (const std::string* owner = ledger_.OwnerOf(id)) {
        return FailedPrecondition("'" + id + "' belongs to group '" + *owner + "'");
      }
      const std::string* former = ledger_.FormerOwnerOf(id);
      if (former != nullptr && *former == group_.name) {
        ++plan_.done;
        return Status::Ok();
      }
      if (former != nullptr) {
        return FailedPrecondition("'" + id + "' belonged to group '" + *former + "' and is gone");
      }
      return NotFound("'" + id + "' is no machine of this cluster's groups that we know");
    }
    if (record->going == Going::kAgreed) {
      ++plan_.done;  // we deleted it, lists still show it
      return Status::Ok();
    }
    if (record->going == Going::kAsked || record->machine.state == MachineState::kDeleting) {
      return FailedPrecondition("'" + id + "' is being deleted already");
    }
    if (!IsUnregistered(node) && !record->IsCreateError()) ++registered_;
    plan_.machines.push_back(id);
    return Status::Ok();
  }

  const Order* FindOrder(std::string_view name) const {
    if (book_ == nullptr) return nullptr;
    const auto it = book_->orders.find(name);
    return it == book_->orders.end() ? nullptr : &it->second;
  }

  const MachineRecord* FindRecord(const std::string& id) const {
    if (book_ == nullptr) return nullptr;
    const auto it = book_->machines.find(id);
    return it == book_->machines.end() ? nullptr : &it->second;
  }

  const Ledger& ledger_;
  const GroupConfig& group_;
  const std::function<bool(const ProviderId&)>& well_formed_;
  const Book* book_;
  std::set<std::string> ids_;
  DeletePlan plan_;
  int registered_ = 0;
};

}  // namespace

bool IsUnregistered(const NodeRef& node) {
  return node.name.empty() || node.name == node.provider_id;
}

Result<DeletePlan> PlanDelete(const Ledger& ledger, const GroupConfig& group,
                              const std::vector<NodeRef>& nodes,
                              const std::function<bool(const ProviderId&)>& well_formed) {
  Planner planner(ledger, group, well_formed);
  std::vector<std::string> complaints;
  size_t bad = 0;
  Code code = Code::kOk;
  for (const NodeRef& node : nodes) {
    const Status status = planner.Add(node);
    if (status.ok()) continue;
    if (code == Code::kOk) code = status.code();
    if (++bad <= kMaxComplaints) complaints.push_back(status.message());
  }
  const std::string where = "group '" + group.name + "': nothing was deleted: ";
  if (bad > 0) {
    if (bad > kMaxComplaints) {
      complaints.push_back("and " + std::to_string(bad - kMaxComplaints) + " more");
    }
    return Status(code, where + Join(complaints, "; "));
  }
  const Status minimum = planner.CheckMinimum();
  if (!minimum.ok()) return Status(minimum.code(), where + minimum.message());
  return planner.Take();
}

}  // namespace coppice::cloud
