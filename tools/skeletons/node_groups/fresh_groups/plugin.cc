// fresh-groups: node groups that somebody else keeps. src/cloud/node_groups.h is the contract; fill
// in the verbs. (A place that rents machines one by one is a cloud, not this:
// docs/extending/cloud.md.)

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cloud/node_groups.h"
#include "cloud/node_groups_context.h"

namespace coppice::node_groups::fresh_groups {
namespace {

class FreshGroups final : public cloud::NodeGroups {
 public:
  // Reads are look-ups in what the last Refresh brought: any thread, no network.
  std::vector<cloud::GroupInfo> Groups() override { return {}; }
  Result<std::optional<std::string>> GroupOf(const cloud::NodeRef&) override {
    return std::optional<std::string>();
  }
  Result<bool> HasInstance(const cloud::NodeRef&) override { return Unimplemented("cannot say"); }
  Result<int> TargetSize(std::string_view group) override { return NoSuch(group); }
  Result<std::vector<cloud::Instance>> Instances(std::string_view group) override {
    return NoSuch(group);
  }
  Result<std::shared_ptr<const model::Node>> Template(std::string_view group) override {
    return NoSuch(group);
  }
  Result<std::optional<cloud::ScalingOptions>> Options(std::string_view,
                                                       const cloud::ScalingOptions&) override {
    return std::optional<cloud::ScalingOptions>();
  }

  // Changes may take until their deadline. kResourceExhausted backs the group off as out of stock.
  Status Increase(std::string_view group, int, Deadline) override { return NoSuch(group); }
  Status IncreaseAtomically(std::string_view, int, Deadline) override {
    return Unimplemented("use Increase");
  }
  Status Delete(std::string_view group, const std::vector<cloud::NodeRef>&, Deadline) override {
    return NoSuch(group);
  }
  Status DecreaseTarget(std::string_view group, int, Deadline) override { return NoSuch(group); }
  Status Refresh(Deadline) override { return Status::Ok(); }
  Status Cleanup() override { return Status::Ok(); }

  std::string GpuLabel() override { return ""; }
  std::vector<std::string> GpuTypes() override { return {}; }
  Result<double> NodePrice(const cloud::NodeRef&, const std::map<std::string, std::string>&,
                           TimePoint, TimePoint) override {
    return Unimplemented("no price is known");
  }
  Result<double> PodPrice(const model::Pod&, TimePoint, TimePoint) override {
    return Unimplemented("no price is known");
  }

 private:
  static Status NoSuch(std::string_view group) {
    return NotFound("there is no node group " + std::string(group));
  }
};

// context.cloud_config is the path that --cloud-config gave.
Result<std::unique_ptr<cloud::NodeGroups>> Make(const cloud::NodeGroupsContext&) {
  return std::unique_ptr<cloud::NodeGroups>(std::make_unique<FreshGroups>());
}

}  // namespace

void Register(cloud::NodeGroupsRegistry& registry) { registry.Add("fresh-groups", Make); }

}  // namespace coppice::node_groups::fresh_groups
