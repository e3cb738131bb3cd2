// DumpGroups: the node groups of a dump. They keep the books as a provider does (targets move,
// machines come and go) and order nothing anywhere.
//
// One thread only.

#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cloud/group_config.h"
#include "cloud/node_groups.h"

namespace coppice::whatif {

class DumpGroups final : public cloud::NodeGroups {
 public:
  struct Group {
    std::string name;
    int min = 0;
    int max = 0;
    int target = 0;
    std::vector<cloud::ProviderId> machines;           // of nodes that are there
    std::shared_ptr<const model::Node> node_template;  // null: any node of the group will do
    cloud::GroupScalingOptions options;
    std::optional<double> price_per_hour;
    int64_t cpu_millis = 0;  // of one node, for what a pod's share of the price is
    int64_t memory_bytes = 0;
    std::string origin;  // how it was found, for people
  };
  // A machine that was asked for and has no node yet.
  struct Ordered {
    cloud::ProviderId id;
    std::string group;
  };

  void Add(Group group);
  const std::vector<Group>& groups() const { return groups_; }
  const Group* Find(std::string_view name) const;

  // What was asked for since the last call; they count as running from now on.
  std::vector<Ordered> TakeOrdered();
  // What was deleted since the last call.
  std::vector<cloud::ProviderId> TakeDeleted() { return std::move(deleted_); }
  // The machine is gone by somebody else's hand: the target goes down with it.
  void Forget(const cloud::ProviderId& id);
  void set_gpu_label(std::string label) { gpu_label_ = std::move(label); }

  std::vector<cloud::GroupInfo> Groups() override;
  Result<std::optional<std::string>> GroupOf(const cloud::NodeRef& node) override;
  Result<bool> HasInstance(const cloud::NodeRef& node) override;
  Result<int> TargetSize(std::string_view group) override;
  Result<std::vector<cloud::Instance>> Instances(std::string_view group) override;
  Result<std::shared_ptr<const model::Node>> Template(std::string_view group) override;
  Result<std::optional<cloud::ScalingOptions>> Options(
      std::string_view group, const cloud::ScalingOptions& defaults) override;
  Status Increase(std::string_view group, int delta, Deadline deadline) override;
  Status IncreaseAtomically(std::string_view group, int delta, Deadline deadline) override;
  Status Delete(std::string_view group, const std::vector<cloud::NodeRef>& nodes,
                Deadline deadline) override;
  Status DecreaseTarget(std::string_view group, int delta, Deadline deadline) override;
  Status Refresh(Deadline) override { return Status::Ok(); }
  Status Cleanup() override { return Status::Ok(); }
  std::string GpuLabel() override { return gpu_label_; }
  std::vector<std::string> GpuTypes() override { return {}; }
  Result<double> NodePrice(const cloud::NodeRef& node,
                           const std::map<std::string, std::string>& labels, TimePoint start,
                           TimePoint end) override;
  Result<double> PodPrice(const model::Pod& pod, TimePoint start, TimePoint end) override;

 private:
  Group* FindMutable(std::string_view name);

  std::vector<Group> groups_;
  std::map<cloud::ProviderId, std::string> group_of_;
  std::vector<Ordered> ordered_;
  std::vector<cloud::ProviderId> deleted_;
  std::string gpu_label_;
  int made_ = 0;
};

}  // namespace coppice::whatif
