// The provider of a recorded autoscaler case: groups, targets and instances as the case lists them,
// with the rules that the recordings' README gives. Every mutation is recorded with the virtual
// time.

#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cloud/node_groups.h"
#include "test/replay/replay.h"

namespace coppice::replay {

class CaseGroups final : public cloud::NodeGroups {
 public:
  struct Group {
    cloud::GroupInfo info;
    int target = 0;
    std::shared_ptr<const model::Node> node_template;
    std::optional<Json> options;  // flag names and values
    std::vector<cloud::Instance> instances;
    std::string increase_error;
    std::string delete_error;
  };

  // `groups` is the case's list; `record` is told of every mutation.
  CaseGroups(const Json& groups, std::function<void(Json)> record);

  // Changes of the case.
  void AddInstance(const std::string& group, const Json& instance);
  void SetInstance(const std::string& group, const Json& instance);
  void RemoveInstance(const std::string& group, const std::string& id);
  void NodeRemoved(const std::string& provider_id);  // its membership ends with the Node object
  Group& at(const std::string& id);

  // Prices, for the price expander.
  Json pricing;

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
                Deadline) override;
  Status DecreaseTarget(std::string_view group, int delta, Deadline deadline) override;
  Status Refresh(Deadline) override { return Status::Ok(); }
  Status Cleanup() override { return Status::Ok(); }
  std::string GpuLabel() override { return "test/gpu"; }
  std::vector<std::string> GpuTypes() override { return {}; }
  Result<double> NodePrice(const cloud::NodeRef& node, const std::map<std::string, std::string>&,
                           TimePoint, TimePoint) override;
  Result<double> PodPrice(const model::Pod& pod, TimePoint, TimePoint) override;

 private:
  Group* Find(std::string_view id);

  std::vector<Group> groups_;
  std::map<std::string, std::string> member_;  // provider id, present or past, to group
  std::function<void(Json)> record_;
};

}  // namespace coppice::replay
