// GroupStates: what became of the machines that were ordered. It matches nodes, machines and
// orders in flight, says which groups are healthy and how many nodes are still to come, and
// remembers failures.
//
// Pure bookkeeping on the decision thread: it reads NodeGroups' picture and never calls the cloud.
// What has to be done about a finding (an order that timed out) is returned as a value; the pass
// does it.
//
//   Update()  once per pass, in this order: unregistered machines, nodes whose machine is gone,
//             readiness, acceptable ranges, orders in flight, failed creations, ranges again,
//             wrong sizes.

#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "autoscale/group_backoff.h"
#include "autoscale/listed_node.h"
#include "autoscale/options.h"
#include "autoscale/readiness.h"
#include "autoscale/wakeups.h"
#include "cloud/node_groups.h"
#include "model/node.h"

namespace coppice::autoscale {

// Names of nodes (or ids of machines) by what they are, in node-list order. The texts are those of
// the objects, and good until the next Update.
struct ReadinessClasses {
  std::vector<std::string_view> registered;  // all that have a Node; the next five are its parts
  std::vector<std::string_view> ready;
  std::vector<std::string_view> unready;
  std::vector<std::string_view> not_started;  // not ready, but young
  std::vector<std::string_view> suspended;
  std::vector<std::string_view> deleted;           // the Node is there, its machine is not
  std::vector<std::string_view> resource_unready;  // those of `unready` that miss a device
  std::vector<std::string_view> unregistered;      // a machine without a Node
  std::vector<std::string_view> long_unregistered;
};

struct AcceptableRange {
  int min_nodes = 0;
  int max_nodes = 0;
  int target = 0;
};

struct ScaleUpRequest {
  int increase = 0;
  TimePoint time;
  TimePoint deadline;
};

struct WrongSize {
  int expected = 0;
  int current = 0;
  TimePoint first_observed;
};

struct UnregisteredMachine {
  cloud::ProviderId id;
  TimePoint since;
};

// An order that did not become nodes in time; its increase is to be taken back.
struct TimedOutRequest {
  std::string group;
  int increase = 0;
  Duration waited{};
};

// Machines that newly failed to come up while their group was growing.
struct FailedCreations {
  std::string group;
  int count = 0;
  cloud::MachineError error;  // message: the distinct messages, joined
};

struct StateFindings {
  std::vector<TimedOutRequest> timed_out;
  std::vector<FailedCreations> failed_creations;
};

class GroupStates {
 public:
  using OptionsOf = std::function<cloud::ScalingOptions(std::string_view group)>;
  using GroupOf = std::function<std::string(const model::Node&)>;  // "": none
  using HasTemplate = std::function<bool(std::string_view group)>;

  // `options_of` gives a group's options with the defaults filled in.
  GroupStates(const GroupStateOptions& options, const Deviations& deviations,
              cloud::NodeGroups& groups, OptionsOf options_of, HasTemplate has_template);

  // `nodes` after readiness overrides, with the group of each. An error leaves everything as it
  // was.
  Result<StateFindings> Update(const std::vector<ListedNode>& nodes, TimePoint now);

  // Ranges again, from the targets as they are now. Keeps the rest.
  void RecalculateRanges();

  // Orders and failures.
  void RegisterScaleUp(std::string_view group, int delta, TimePoint now);
  void RegisterScaleDown(std::string_view group, TimePoint expected_gone);
  // Needs a template of the group, as upstream: without one it could not be scaled up anyway.
  void RegisterFailure(std::string_view group, cloud::MachineError why, TimePoint now);
  void InvalidateInstances(std::string_view group) { instances_cache_.erase(std::string(group)); }
  void RefreshInstances();  // upstream's background refresh, every two minutes

  // Questions.
  bool ClusterHealthy() const;
  bool GroupHealthy(std::string_view group) const;
  bool GroupScalingUp(std::string_view group) const;  // nodes to come and a request for them
  std::optional<cloud::MachineError> BackedOff(std::string_view group, TimePoint now) const;
  std::optional<TimePoint> BackoffEnds(std::string_view group) const {
    return backoff_.Until(group);
  }
  GroupBackoff& backoffs() { return backoff_; }
  bool SafeToScaleUp(std::string_view group, TimePoint now) const {
    return GroupHealthy(group) && !BackedOff(group, now);
  }

  struct Upcoming {
    std::string group;
    int count = 0;
    std::vector<std::string> replaced;  // registered, not started: the stand-ins take their place
  };
  std::vector<Upcoming> UpcomingNodes(TimePoint now) const;  // in provider order

  std::vector<UnregisteredMachine> LongUnregistered(std::string_view group, TimePoint now) const;
  std::vector<cloud::Instance> FailedInstances(std::string_view group) const;
  std::optional<WrongSize> WrongSizeOf(std::string_view group) const;

  // When orders, machines and nodes have taken as long as they may.
  void NoteDue(Wakeups& wake) const;
  // When groups that are left alone may be asked again.
  void NoteBackoffs(Wakeups& wake) const;

  const ReadinessClasses& total() const { return total_; }
  const ReadinessClasses& of(std::string_view group) const;
  AcceptableRange range(std::string_view group) const;
  size_t node_count() const { return node_count_; }
  TimePoint last_update() const { return last_update_; }
  const std::map<std::string, ScaleUpRequest, std::less<>>& requests() const { return requests_; }

 private:
  using Instances = std::shared_ptr<const std::vector<cloud::Instance>>;  // never null

  void FindUnregistered(const std::vector<ListedNode>& nodes, TimePoint now);
  void Classify(const std::vector<ListedNode>& nodes, TimePoint now);
  void UpdateRanges(const std::map<std::string, int>& targets);
  void UpdateRequests(TimePoint now, StateFindings& findings);
  void FindFailedCreations(TimePoint now, StateFindings& findings);
  void UpdateWrongSizes(TimePoint now);
  std::optional<int> UpcomingIn(std::string_view group) const;
  bool MachineExists(const model::Node& node) const;
  static bool FailedToCreate(const cloud::Instance& instance);

  const GroupStateOptions& options_;
  const Deviations& deviations_;
  cloud::NodeGroups& groups_;
  OptionsOf options_of_;
  HasTemplate has_template_;
  GroupBackoff backoff_;

  std::vector<std::string> group_ids_;  // provider order
  std::map<std::string, ScaleUpRequest, std::less<>> requests_;
  struct ScaleDownRequest {
    std::string group;
    TimePoint expected_gone;
  };
  std::vector<ScaleDownRequest> scale_down_requests_;
  std::map<std::string, ReadinessClasses, std::less<>> classes_;
  ReadinessClasses total_;
  std::map<std::string, AcceptableRange, std::less<>> ranges_;
  std::map<std::string, WrongSize, std::less<>> wrong_sizes_;
  std::map<std::string, std::vector<UnregisteredMachine>, std::less<>> unregistered_;  // by group
  // What was read off a node's object, and what the provider said of its machine for
  // `asked_version_` of its answers.
  struct NodeFacts {
    Readiness readiness;
    bool suspended = false;
    TimePoint created;
    bool machine_exists = true;
  };
  PerNode<NodeFacts> facts_;
  uint64_t asked_version_ = 0;
  std::map<std::string, Instances, std::less<>> instances_;
  std::map<std::string, Instances, std::less<>> previous_instances_;
  std::map<std::string, Instances, std::less<>> instances_cache_;
  size_t node_count_ = 0;
  TimePoint next_unready_ = TimePoint::max();  // when the next young node counts as unready
  TimePoint last_update_;
};

}  // namespace coppice::autoscale
