// The state behind CloudNodeGroups, shared with the work that it has in the background. Private to
// cloud_node_groups.cc and the node_groups_*.cc files.
//
// Machines and orders are the OrderBook's; here are the groups, and the picture that is shown. The
// book's lock guards everything but the published picture (Extra, OwnsId and GpuLabel of the cloud
// are asked with it held: they only look at what they are given).

#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "cloud/cloud_node_groups.h"
#include "cloud/group_metrics.h"
#include "cloud/order_book.h"
#include "cloud/published.h"

namespace coppice::cloud {

struct DeletePlan;

class CloudNodeGroups::Core final : public OrderBook::Owner {
 public:
  static std::shared_ptr<Core> Make(const CloudNodeGroupsContext& context,
                                    CloudNodeGroupsOptions options);
  Core(const CloudNodeGroupsContext& context, CloudNodeGroupsOptions options);

  std::shared_ptr<const GroupsPicture> picture() const { return published_.Load(); }
  uint64_t version() const { return version_.load(std::memory_order_acquire); }
  std::string GpuLabel() const { return cloud_.GpuLabel(); }
  bool HadMachine(std::string_view id);  // a group of ours, and it is gone

  // node_groups_refresh.cc
  Status Configure(std::vector<GroupConfig> groups);
  Status Refresh(Deadline deadline) { return book_.Refresh(deadline); }
  Status Drain(Deadline deadline) { return book_.Drain(deadline); }

  // node_groups_scale.cc, node_groups_delete.cc
  Status Increase(std::string_view group, int delta, Deadline deadline);
  Status Delete(std::string_view group, const std::vector<NodeRef>& nodes, Deadline deadline);
  Status DecreaseTarget(std::string_view group, int delta);

 private:
  using Lock = OrderBook::Lock;

  // node_groups_refresh.cc
  std::optional<std::string> GroupOf(const Machine& machine) const override
      COPPICE_REQUIRES(book_.mutex());
  bool Serves(std::string_view group) const override COPPICE_REQUIRES(book_.mutex()) {
    return group_index_.contains(group);
  }
  void Changed(std::string_view group, bool show) override COPPICE_REQUIRES(book_.mutex());
  void ListTaken() override COPPICE_REQUIRES(book_.mutex()) { PublishAll(); }
  void BeforeMerge(Deadline deadline) override;

  struct Configured {
    std::shared_ptr<const GroupConfig> config;
    std::string cluster;  // the k8s-cluster tag that its machines carry; "" none
    std::shared_ptr<const MachineSpec> what;  // an order of this group, but for its name
    GroupInfo info;
    // Worked out when configuration or flavors change.
    std::shared_ptr<const model::Node> node_template;
    Status template_status;
    std::optional<double> price_per_hour;
  };

  void MakeTemplate(Configured& group) const COPPICE_REQUIRES(book_.mutex());

  // Publishing.
  void Touch(std::string_view group) COPPICE_REQUIRES(book_.mutex()) {
    touched_.insert(std::string(group));
  }
  std::shared_ptr<const GroupView> View(const Configured& group, const GroupView* before,
                                        uint64_t version) const COPPICE_REQUIRES(book_.mutex());
  static void Compare(const GroupView* before, const GroupView& after, uint32_t group,
                      std::vector<IdIndex::Change>& changes);
  void PublishTouched() COPPICE_REQUIRES(book_.mutex());
  void PublishAll() COPPICE_REQUIRES(book_.mutex());
  void Publish(std::shared_ptr<GroupsPicture> next, bool changed) COPPICE_REQUIRES(book_.mutex());

  // Scaling.
  Result<const Configured*> MutableGroup(std::string_view group) const
      COPPICE_REQUIRES(book_.mutex());
  static std::shared_ptr<const MachineSpec> SpecFor(const Configured& group, Cloud& cloud);
  void Note(const DeletePlan& plan, const std::string& group,
            const std::shared_ptr<Request>& request) COPPICE_REQUIRES(book_.mutex());
  void Audit(AuditEntry entry) const;

  Cloud& cloud_;
  Clock& clock_;
  const Log& log_;
  const CloudNodeGroupsOptions options_;
  const AuditSink audit_;
  GroupMetrics metrics_;

  Published<GroupsPicture> published_;
  std::atomic<uint64_t> version_{0};

  OrderBook book_;
  std::vector<Configured> groups_ COPPICE_GUARDED_BY(book_.mutex());  // as configured
  std::map<std::string, size_t, std::less<>> group_index_ COPPICE_GUARDED_BY(book_.mutex());
  // Groups whose view is out of date.
  std::set<std::string> touched_ COPPICE_GUARDED_BY(book_.mutex());
  std::shared_ptr<const std::map<std::string, Flavor>> flavors_ COPPICE_GUARDED_BY(book_.mutex());
  TimePoint flavors_at_ COPPICE_GUARDED_BY(book_.mutex());
};

}  // namespace coppice::cloud
