// The state behind CloudNodeGroups, shared with the work that it has in the background. Private to
// cloud_node_groups.cc and the node_groups_*.cc files.
//
// One mutex guards everything but the published snapshot. It is held for look-ups and book-keeping
// only: never while one of the cloud's verbs is called (Extra, OwnsId and GpuLabel only look at
// what they are given), and never while work is handed to the fan-out.

#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "cloud/cloud_node_groups.h"
#include "cloud/fan_out.h"
#include "cloud/group_metrics.h"
#include "cloud/ledger.h"
#include "cloud/published.h"

namespace coppice::cloud {

struct DeletePlan;

class CloudNodeGroups::Core : public std::enable_shared_from_this<CloudNodeGroups::Core> {
 public:
  Core(const CloudNodeGroupsContext& context, CloudNodeGroupsOptions options);

  std::shared_ptr<const Snapshot> snapshot() const { return published_.Load(); }
  uint64_t version() const { return version_.load(std::memory_order_acquire); }
  std::string GpuLabel() const { return cloud_.GpuLabel(); }

  // node_groups_refresh.cc
  Status Configure(std::vector<GroupConfig> groups);
  Status Refresh(Deadline deadline);
  Status Drain(Deadline deadline);

  // node_groups_scale.cc, node_groups_delete.cc
  Status Increase(std::string_view group, int delta, Deadline deadline);
  Status Delete(std::string_view group, const std::vector<NodeRef>& nodes, Deadline deadline);
  Status DecreaseTarget(std::string_view group, int delta);

 private:
  using Lock = std::unique_lock<std::mutex>;

  struct Configured {
    std::shared_ptr<const GroupConfig> config;
    std::string cluster;  // the k8s-cluster tag that its machines carry; "" none
    GroupInfo info;
    // Worked out when configuration or flavors change.
    std::shared_ptr<const model::Node> node_template;
    Status template_status;
    std::optional<double> price_per_hour;
  };

  // Refresh.
  Status ListAndMerge(Deadline deadline);
  void ReadFlavors(Deadline deadline);
  std::optional<std::string> GroupOfMachine(const Machine& machine) const;
  void Tell(const Ledger::Merged& merged) const;
  void TellOrphans();
  void MakeTemplate(Configured& group) const;

  // Publishing: all with the lock held.
  void Touch(std::string_view group) { touched_.insert(std::string(group)); }
  std::shared_ptr<const GroupView> View(const Configured& group, const GroupView* before,
                                        uint64_t version) const;
  static void Compare(const GroupView* before, const GroupView& after, uint32_t group,
                      std::vector<IdIndex::Change>& changes);
  void PublishTouched();
  void PublishAll();
  void Publish(std::shared_ptr<Snapshot> next, bool changed);

  // Scaling.
  Result<const Configured*> MutableGroup(std::string_view group) const;  // lock held
  Status EnsureListed(Deadline deadline);
  std::vector<std::string> NoteOrders(const Configured& group, int count,
                                      const std::shared_ptr<Request>& request);
  std::string NewName(const std::string& group, std::unordered_set<std::string>& taken);
  void Send(const std::string& group, const std::string& name);
  void Answered(const std::string& group, const std::string& name, const MachineSpec& spec,
                Request* request, Result<Machine> result, Lock& lock);
  void NoteFailure(const std::string& group, const std::string& name, Request* request,
                   const Status& status);
  void Remove(const std::string& group, const std::string& id,
              const std::shared_ptr<Request>& request);
  void StartRemoving(const std::string& group, const std::string& id);
  void Cancel(Book& book, const std::string& name);
  void Note(const DeletePlan& plan, Book& book, const std::shared_ptr<Request>& request);
  void WaitFor(Lock& lock, Request& request, Deadline deadline, Duration most = Duration::zero());
  void Audit(AuditEntry entry) const;

  Cloud& cloud_;
  Clock& clock_;
  const Log& log_;
  const CloudNodeGroupsOptions options_;
  const AuditSink audit_;
  FanOut fan_out_;
  GroupMetrics metrics_;

  Published<Snapshot> published_;
  std::atomic<uint64_t> version_{0};

  std::mutex mutex_;
  SeededRng names_;
  std::vector<Configured> groups_;  // as configured
  std::map<std::string, size_t, std::less<>> group_index_;
  Ledger ledger_;
  std::set<std::string> touched_;  // groups whose view is out of date
  std::shared_ptr<const std::map<std::string, Flavor>> flavors_;
  TimePoint flavors_at_;
  bool listed_ = false;
  TimePoint listed_at_;
  std::set<std::string> told_orphans_;
  bool draining_ = false;

  bool refreshing_ = false;
  uint64_t refreshes_ = 0;  // finished ones
  Status refresh_status_;
  std::condition_variable refreshed_;
};

}  // namespace coppice::cloud
