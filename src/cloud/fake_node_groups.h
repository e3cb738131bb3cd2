// FakeNodeGroups: node groups that a test scripts. It keeps the books as a provider would (targets
// move, deleted instances go), records every call, and fails where it is told to.

#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "cloud/node_groups.h"

namespace coppice::cloud {

class FakeNodeGroups final : public NodeGroups {
 public:
  struct Group {
    GroupInfo info;
    int target = 0;
    std::vector<Instance> instances;
    std::shared_ptr<const model::Node> node_template;  // null: kUnimplemented
    std::function<std::optional<ScalingOptions>(const ScalingOptions& defaults)>
        options;  // unset: none
  };
  struct Call {
    std::string method;  // "Increase", "Delete", ...
    std::string group;
    int delta = 0;
    std::vector<std::string> ids;
    friend bool operator==(const Call&, const Call&) = default;
  };

  std::function<void(const EachNode&)> on_tell_nodes;  // unset: it need not know

  // Scripting. Groups answer in the order in which they were added.
  void Add(Group group) {
    const MutexLock lock(mutex_);
    groups_.push_back(std::move(group));
    ++version_;
  }
  // Changes a group under the lock; false if there is none of that id.
  bool Change(std::string_view id, const std::function<void(Group&)>& change) {
    const MutexLock lock(mutex_);
    Group* group = Find(id);
    if (group == nullptr) return false;
    change(*group);
    ++version_;
    return true;
  }
  // Machines come up until every group has as many as its target says.
  void Fulfil() {
    const MutexLock lock(mutex_);
    for (Group& group : groups_) {
      for (Instance& instance : group.instances) instance.state = InstanceState::kRunning;
      while (static_cast<int>(group.instances.size()) < group.target) {
        group.instances.push_back({.id = "fake://" + group.info.id + "/" + std::to_string(++made_),
                                   .state = InstanceState::kRunning});
      }
    }
    ++version_;
  }
  // Nodes that are members without being listed as instances, by provider id or by name.
  void Map(std::string id_or_name, std::string group) {
    const MutexLock lock(mutex_);
    members_[std::move(id_or_name)] = std::move(group);
    ++version_;
  }
  // Whose the node of that name is cannot be said yet.
  void SetUnknown(const std::string& name, bool unknown) {
    const MutexLock lock(mutex_);
    if (unknown) {
      unknown_.insert(name);
    } else {
      unknown_.erase(name);
    }
    ++version_;
  }
  // Every call of `method` fails so from now on; an OK status ends that.
  void Fail(std::string method, Status status) {
    const MutexLock lock(mutex_);
    failures_[std::move(method)] = std::move(status);
    ++version_;
  }
  void SetGpu(std::string label, std::vector<std::string> types) {
    const MutexLock lock(mutex_);
    gpu_label_ = std::move(label);
    gpu_types_ = std::move(types);
    ++version_;
  }
  void SetPrices(std::optional<double> node, std::optional<double> pod) {  // per hour
    const MutexLock lock(mutex_);
    node_price_ = node;
    pod_price_ = pod;
  }
  std::vector<Call> calls() const {
    const MutexLock lock(mutex_);
    return calls_;
  }

  // Called before Refresh, Increase and Delete on their thread: a slow cloud. Set before use.
  std::function<void(std::string_view method, Deadline deadline)> before;

  uint64_t Version() const override {
    const MutexLock lock(mutex_);
    return version_;
  }
  std::vector<GroupInfo> Groups() override {
    const MutexLock lock(mutex_);
    (void)Note("Groups");
    std::vector<GroupInfo> all;
    for (const Group& group : groups_) all.push_back(group.info);
    return all;
  }
  Result<std::optional<std::string>> GroupOf(const NodeRef& node) override {
    const MutexLock lock(mutex_);
    TRY(Note("GroupOf", "", 0, {node.provider_id}));
    if (unknown_.contains(node.name)) return Unavailable("nobody has asked about " + node.name);
    for (const std::string& key : {node.provider_id, node.name}) {
      const auto it = members_.find(key);
      if (!key.empty() && it != members_.end()) return std::optional<std::string>(it->second);
    }
    for (const Group& group : groups_) {
      if (Position(group, node.provider_id) != group.instances.end()) {
        return std::optional<std::string>(group.info.id);
      }
    }
    return std::optional<std::string>();
  }
  Result<bool> HasInstance(const NodeRef& node) override {
    const MutexLock lock(mutex_);
    TRY(Note("HasInstance", "", 0, {node.provider_id}));
    for (const Group& group : groups_) {
      if (Position(group, node.provider_id) != group.instances.end()) return true;
    }
    return false;
  }
  Result<int> TargetSize(std::string_view id) override {
    const MutexLock lock(mutex_);
    const Group* group = TRY(Called("TargetSize", id));
    return group->target;
  }
  Result<std::vector<Instance>> Instances(std::string_view id) override {
    const MutexLock lock(mutex_);
    const Group* group = TRY(Called("Instances", id));
    return group->instances;
  }
  Result<std::shared_ptr<const model::Node>> Template(std::string_view id) override {
    const MutexLock lock(mutex_);
    const Group* group = TRY(Called("Template", id));
    if (group->node_template == nullptr) return Unimplemented("no template for " + std::string(id));
    return group->node_template;
  }
  Result<std::optional<ScalingOptions>> Options(std::string_view id,
                                                const ScalingOptions& defaults) override {
    const MutexLock lock(mutex_);
    const Group* group = TRY(Called("Options", id));
    if (!group->options) return std::optional<ScalingOptions>();
    return group->options(defaults);
  }

  Status Increase(std::string_view id, int delta, Deadline deadline) override {
    if (before) before("Increase", deadline);
    const MutexLock lock(mutex_);
    Group* group = TRY(Called("Increase", id, delta));
    if (delta <= 0) return InvalidArgument("delta must be positive");
    if (group->target + delta > group->info.max_size) {
      return FailedPrecondition("group '" + std::string(id) +
                                "' cannot grow above its maximum of " +
                                std::to_string(group->info.max_size));
    }
    group->target += delta;
    ++version_;
    return Status::Ok();
  }
  Status IncreaseAtomically(std::string_view id, int delta, Deadline) override {
    const MutexLock lock(mutex_);
    TRY(Called("IncreaseAtomically", id, delta));
    return Unimplemented("use Increase");
  }
  Status Delete(std::string_view id, const std::vector<NodeRef>& nodes,
                Deadline deadline) override {
    if (before) before("Delete", deadline);
    const MutexLock lock(mutex_);
    std::vector<std::string> ids;
    for (const NodeRef& node : nodes) ids.push_back(node.provider_id);
    Group* group = TRY(Called("Delete", id, 0, ids));
    for (const std::string& node : ids) {
      if (Position(*group, node) == group->instances.end()) {
        return NotFound("no machine '" + node + "' in group '" + std::string(id) + "'");
      }
    }
    for (const std::string& node : ids) {
      group->instances.erase(Position(*group, node));
      --group->target;
    }
    ++version_;
    return Status::Ok();
  }
  Status DecreaseTarget(std::string_view id, int delta, Deadline) override {
    const MutexLock lock(mutex_);
    Group* group = TRY(Called("DecreaseTarget", id, delta));
    if (delta >= 0) return InvalidArgument("delta must be negative");
    if (group->target + delta < static_cast<int>(group->instances.size())) {
      return FailedPrecondition("group '" + std::string(id) + "' has " +
                                std::to_string(group->instances.size()) + " machines");
    }
    group->target += delta;
    ++version_;
    return Status::Ok();
  }
  void TellNodes(const EachNode& nodes) override {
    if (on_tell_nodes) on_tell_nodes(nodes);
  }
  Status Refresh(Deadline deadline) override {
    if (before) before("Refresh", deadline);
    const MutexLock lock(mutex_);
    return Note("Refresh");
  }
  Status Cleanup() override {
    const MutexLock lock(mutex_);
    return Note("Cleanup");
  }
  std::string GpuLabel() override {
    const MutexLock lock(mutex_);
    return gpu_label_;
  }
  std::vector<std::string> GpuTypes() override {
    const MutexLock lock(mutex_);
    return gpu_types_;
  }
  Result<double> NodePrice(const NodeRef& node, const std::map<std::string, std::string>&,
                           TimePoint start, TimePoint end) override {
    const MutexLock lock(mutex_);
    TRY(Note("NodePrice", "", 0, {node.provider_id}));
    if (!node_price_) return Unimplemented("no price is known");
    return *node_price_ * std::chrono::duration<double, std::ratio<3600>>(end - start).count();
  }
  Result<double> PodPrice(const model::Pod&, TimePoint start, TimePoint end) override {
    const MutexLock lock(mutex_);
    TRY(Note("PodPrice"));
    if (!pod_price_) return Unimplemented("no price is known");
    return *pod_price_ * std::chrono::duration<double, std::ratio<3600>>(end - start).count();
  }

 private:
  Group* Find(std::string_view id) COPPICE_REQUIRES(mutex_) {
    const auto it = std::ranges::find_if(groups_, [&](const Group& g) { return g.info.id == id; });
    return it == groups_.end() ? nullptr : &*it;
  }
  static std::vector<Instance>::const_iterator Position(const Group& group, std::string_view id) {
    return std::ranges::find_if(group.instances, [&](const Instance& i) { return i.id == id; });
  }
  Status Note(std::string method, std::string_view group = "", int delta = 0,
              std::vector<std::string> ids = {}) COPPICE_REQUIRES(mutex_) {
    const auto failure = failures_.find(method);
    calls_.push_back({std::move(method), std::string(group), delta, std::move(ids)});
    return failure == failures_.end() ? Status::Ok() : failure->second;
  }
  Result<Group*> Called(std::string method, std::string_view id, int delta = 0,
                        std::vector<std::string> ids = {}) COPPICE_REQUIRES(mutex_) {
    TRY(Note(std::move(method), id, delta, std::move(ids)));
    Group* group = Find(id);
    if (group == nullptr) return NotFound("no node group '" + std::string(id) + "'");
    return group;
  }

  mutable Mutex mutex_;
  uint64_t version_ COPPICE_GUARDED_BY(mutex_) = 1;
  uint64_t made_ COPPICE_GUARDED_BY(mutex_) = 0;
  std::vector<Group> groups_ COPPICE_GUARDED_BY(mutex_);
  std::map<std::string, std::string> members_ COPPICE_GUARDED_BY(mutex_);
  std::set<std::string> unknown_ COPPICE_GUARDED_BY(mutex_);
  std::map<std::string, Status> failures_ COPPICE_GUARDED_BY(mutex_);
  std::vector<Call> calls_ COPPICE_GUARDED_BY(mutex_);
  std::string gpu_label_ COPPICE_GUARDED_BY(mutex_);
  std::vector<std::string> gpu_types_ COPPICE_GUARDED_BY(mutex_);
  std::optional<double> node_price_ COPPICE_GUARDED_BY(mutex_);
  std::optional<double> pod_price_ COPPICE_GUARDED_BY(mutex_);
};

}  // namespace coppice::cloud
