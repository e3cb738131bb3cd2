// CloudNodeGroups: Cluster Autoscaler's node group contract over the four verbs of any Cloud.
//
// The target of a group is never a number of its own: it is what exists and is not going, plus what
// has been ordered and not yet come. So it cannot drift, a restart works it out again from the
// cloud's list, and an order that fails takes its share of the target with it.
//
// Reads are look-ups in an immutable picture. Mutations note their intent in the ledger (and
// thereby in the picture) before the first call to the cloud, hand the calls to a bounded fan-out,
// and wait until the client's deadline nears, or not even that long (answer_increase_after); what
// is unanswered then goes on in the background. The cloud is never called with a lock held.
//
// What has not gone to the cloud when the object is destroyed is dropped; a call under way holds
// what it needs. The Cloud, Workers, Clock, Log and Metrics must outlive such calls: Drain() first,
// destroy the object, then the Workers, then the Cloud.

#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/log.h"
#include "base/metrics.h"
#include "base/pool.h"
#include "base/rng.h"
#include "cloud/audit.h"
#include "cloud/cloud.h"
#include "cloud/groups_picture.h"
#include "cloud/node_groups.h"

namespace coppice::cloud {

struct CloudNodeGroupsOptions {
  std::string cluster;  // value of the k8s-cluster tag; "": machines without that tag are ours
  std::string metrics_prefix;  // "": the cloud's own
  size_t max_parallel = 10;    // calls to the cloud at a time, over all groups and requests

  // How long a list may be behind what the cloud has answered to a create or a delete. A machine is
  // not given up, and an order whose answer was lost is not repeated, before a list older than this
  // is in.
  Duration list_lag = std::chrono::seconds(60);
  // A machine that the cloud agreed to delete and still lists as alive after this is ours again: it
  // bills.
  Duration delete_patience = std::chrono::minutes(10);
  // How long a failed order stays listed if the autoscaler does not delete its placeholder, which
  // it does in its next loop.
  Duration failed_order_ttl = std::chrono::minutes(30);
  int max_attempts = 3;  // of one order whose answers are lost

  Duration create_timeout = std::chrono::minutes(2);  // of one call, whatever the client's deadline
  Duration delete_timeout = std::chrono::minutes(1);
  Duration flavor_ttl = std::chrono::hours(1);
  // How long before the client's deadline we answer; half the time left if that is shorter.
  Duration answer_margin = std::chrono::milliseconds(500);
  // How long an increase waits for the cloud's answers before it answers itself; what is open then
  // goes on in the background and is told by the instances. Zero: until all of them are in.
  Duration answer_increase_after = Duration::zero();

  AuditSink audit;  // unset: a log line
};

struct CloudNodeGroupsContext {
  Cloud& cloud;
  Workers& workers;  // its threads call the cloud; give it at least max_parallel of them
  Clock& clock;
  Rng& rng;  // drawn from in the constructor only
  const Log& log;
  Metrics& metrics;
};

// Checks what needs no cloud: names unique and usable as host names, sizes, amounts, tags. All
// complaints in one InvalidArgument, one sentence each.
Status CheckGroups(const std::vector<GroupConfig>& groups, const std::string& cluster);

class CloudNodeGroups final : public NodeGroups {
 public:
  static Result<std::unique_ptr<CloudNodeGroups>> Create(const CloudNodeGroupsContext& context,
                                                         CloudNodeGroupsOptions options,
                                                         std::vector<GroupConfig> groups);
  ~CloudNodeGroups() override;

  // The picture that all reads are answered from. Lock-free.
  std::shared_ptr<const GroupsPicture> picture() const;

  // Replaces the groups. A bad list changes nothing. Machines of a group that is no longer
  // configured become orphans, reported until it is configured again or they are gone.
  Status Reconfigure(std::vector<GroupConfig> groups);

  // Refuses further mutations, drops what was not yet sent, and waits for the calls under way. What
  // is unanswered at the deadline is found again by its tags after the next start.
  Status Drain(Deadline deadline);

  uint64_t Version() const override;
  std::vector<GroupInfo> Groups() override;
  Result<std::optional<std::string>> GroupOf(const NodeRef& node) override;
  Result<bool> HasInstance(const NodeRef& node) override;
  Result<int> TargetSize(std::string_view group) override;
  Result<std::vector<Instance>> Instances(std::string_view group) override;
  Result<std::shared_ptr<const model::Node>> Template(std::string_view group) override;
  Result<std::optional<ScalingOptions>> Options(std::string_view group,
                                                const ScalingOptions& defaults) override;
  bool OrdersMayOverlap(std::string_view) override { return true; }  // the ledger counts them
  Status Increase(std::string_view group, int delta, Deadline deadline) override;
  Status IncreaseAtomically(std::string_view group, int delta, Deadline deadline) override;
  Status Delete(std::string_view group, const std::vector<NodeRef>& nodes,
                Deadline deadline) override;
  Status DecreaseTarget(std::string_view group, int delta, Deadline deadline) override;
  Status Refresh(Deadline deadline) override;
  Status Cleanup() override;
  std::string GpuLabel() override;
  std::vector<std::string> GpuTypes() override;
  Result<double> NodePrice(const NodeRef& node, const std::map<std::string, std::string>& labels,
                           TimePoint start, TimePoint end) override;
  Result<double> PodPrice(const model::Pod& pod, TimePoint start, TimePoint end) override;

 private:
  class Core;
  explicit CloudNodeGroups(std::shared_ptr<Core> core);

  std::shared_ptr<Core> core_;
};

}  // namespace coppice::cloud
