// NodeGroups: Cluster Autoscaler's provider contract, as the engine and the externalgrpc server see
// it.
//
// Implemented over any Cloud by CloudNodeGroups, over somebody else's externalgrpc provider by
// plugins/node_groups/externalgrpc, and by FakeNodeGroups for tests. Reads are look-ups in an
// immutable picture that Refresh replaces: any thread, no network, no waiting, for the thread that
// decides reads here and renews the lease besides. What a read cannot answer yet it says (with
// kUnavailable), and the next Refresh asks it. Refresh, LearnPrices and the changes may take until
// their deadline: they are for workers. test/conformance/node_groups_suite.h holds every
// implementation to that.

#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/registry.h"
#include "base/status.h"
#include "cloud/types.h"
#include "model/objects.h"

namespace coppice::cloud {

struct GroupInfo {
  std::string id;
  int min_size = 0;
  int max_size = 0;
  std::string debug;  // a line for people

  friend bool operator==(const GroupInfo&, const GroupInfo&) = default;
};

enum class InstanceState {
  kUnspecified = 0,
  kRunning = 1,
  kCreating = 2,
  kDeleting = 3
};  // wire numbers

struct Instance {
  ProviderId id;
  InstanceState state = InstanceState::kUnspecified;
  std::optional<MachineError> error;  // only with kCreating

  friend bool operator==(const Instance&, const Instance&) = default;
};

// The largest target that a provider is believed. More than the maximum may be meant (somebody has
// lowered it), and more than is listed (there are providers that list only what stands); beyond
// that, and beyond what any cluster holds, a number is a mistake.
inline int MostCredibleTarget(int max_size, size_t listed) {
  constexpr size_t kFewEnough = 1'000;
  constexpr size_t kMoreThanAnyClusterHolds = 100'000;
  const size_t allowed = std::max({kFewEnough, static_cast<size_t>(std::max(max_size, 0)), listed});
  return static_cast<int>(std::min(allowed, kMoreThanAnyClusterHolds));
}

// What identifies a node to a provider. Stand-ins for machines without a Node carry the id alone.
struct NodeRef {
  ProviderId provider_id;
  std::string name;
  // Of a stand-in: why it is handed in ("unregistered", "create-error"), as upstream writes it into
  // the annotation k8s.io/cluster-autoscaler/fake-node-reason. Empty for a real node.
  std::string stand_in_reason = {};
  // The Node itself where the caller has one, for providers that go by labels or annotations. Valid
  // during the call; whoever wants it later copies what it needs. Null: nothing more is known.
  std::shared_ptr<const model::Node> node = {};
};

// Calls back with every node of the cluster; each is lent for the call.
using EachNode = std::function<void(const std::function<void(const NodeRef&)>& tell)>;

// What is about to be asked for by NodePrice and PodPrice. The pods are lent for the call.
struct PriceQuestions {
  struct OfNode {
    NodeRef node;
    std::map<std::string, std::string> labels;
  };
  std::vector<OfNode> nodes = {};
  std::vector<const model::Pod*> pods = {};
  TimePoint start;
  TimePoint end;
};

// Every option has a value: what the group does not override is a copy of the caller's defaults.
struct ScalingOptions {
  double scale_down_utilization_threshold = 0.5;
  double scale_down_gpu_utilization_threshold = 0.5;
  Duration scale_down_unneeded_time = std::chrono::minutes(10);
  Duration scale_down_unready_time = std::chrono::minutes(20);
  Duration max_node_provision_time = std::chrono::minutes(15);
  Duration max_node_startup_time = std::chrono::minutes(15);
  bool zero_or_max_node_scaling = false;
  bool allow_non_atomic_scale_up_to_max = false;
  bool ignore_daemon_sets_utilization = false;

  friend bool operator==(const ScalingOptions&, const ScalingOptions&) = default;
};

class NodeGroups {
 public:
  virtual ~NodeGroups() = default;

  // Grows, after the change is visible, whenever an answer of a read below may have become another
  // one (Refresh, a create or delete that was answered, a new target): a server then keeps what it
  // has serialised as long as the number stays. 0: cannot say, keep nothing. Cheap; any thread.
  virtual uint64_t Version() const { return 0; }

  // In a stable order; ids are stable across restarts.
  virtual std::vector<GroupInfo> Groups() = 0;
  // nullopt: not managed by us. From the provider id alone. A failure (kUnavailable until the next
  // Refresh) means that nobody knows yet: such a node is neither ours nor foreign.
  virtual Result<std::optional<std::string>> GroupOf(const NodeRef& node) = 0;
  // Whether the machine still exists; kUnimplemented when the provider cannot say, as it cannot of
  // nodes that are in no group and never were.
  virtual Result<bool> HasInstance(const NodeRef& node) = 0;

  virtual Result<int> TargetSize(std::string_view group) = 0;
  virtual Result<std::vector<Instance>> Instances(std::string_view group) = 0;
  // A node as a new machine of this group would register. kUnimplemented: cannot say.
  virtual Result<std::shared_ptr<const model::Node>> Template(std::string_view group) = 0;
  // nullopt: no overrides, use the defaults. kUnavailable: not known yet with these defaults.
  virtual Result<std::optional<ScalingOptions>> Options(std::string_view group,
                                                        const ScalingOptions& defaults) = 0;

  // Whether an order of the group may be placed while another one is not answered: true only for
  // who counts orders as they come. Who reads a size and writes another one would lose one of two.
  virtual bool OrdersMayOverlap(std::string_view) { return false; }
  virtual Status Increase(std::string_view group, int delta, Deadline deadline) = 0;
  // All or nothing; kUnimplemented: use Increase.
  virtual Status IncreaseAtomically(std::string_view group, int delta, Deadline deadline) = 0;
  // Validated whole before any of it is done.
  virtual Status Delete(std::string_view group, const std::vector<NodeRef>& nodes,
                        Deadline deadline) = 0;
  // delta < 0: cancels what does not exist yet, never removes a machine.
  virtual Status DecreaseTarget(std::string_view group, int delta, Deadline deadline) = 0;

  // The nodes that the cluster has, told before a Refresh whenever some are new: a provider that
  // does not list the machines of all its nodes asks about the others there. Does not wait. Most
  // need not know, and do not even look.
  virtual void TellNodes(const EachNode&) {}
  // Asks the cloud what exists and swaps the picture.
  virtual Status Refresh(Deadline deadline) = 0;
  virtual Status Cleanup() = 0;

  virtual std::string GpuLabel() = 0;
  virtual std::vector<std::string> GpuTypes() = 0;
  // Asks for prices that are not known, so that the reads below can answer. Those that cannot be
  // learned fail there, each for itself.
  virtual void LearnPrices(const PriceQuestions&, Deadline) {}
  // kUnimplemented: no price is known.
  virtual Result<double> NodePrice(const NodeRef& node,
                                   const std::map<std::string, std::string>& labels,
                                   TimePoint start, TimePoint end) = 0;
  virtual Result<double> PodPrice(const model::Pod& pod, TimePoint start, TimePoint end) = 0;
};

struct NodeGroupsContext;  // cloud/node_groups_context.h: clock, log, cloud-config path, ...
using NodeGroupsFactory =
    std::function<Result<std::unique_ptr<NodeGroups>>(const NodeGroupsContext&)>;
using NodeGroupsRegistry = Registry<NodeGroupsFactory>;

}  // namespace coppice::cloud
