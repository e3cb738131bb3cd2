#include "app/guarded_groups.h"

#include <utility>

#include "base/strings.h"

namespace coppice::app {
namespace {

class GuardedGroups final : public cloud::NodeGroups {
 public:
  GuardedGroups(cloud::NodeGroups& groups, Gate gate, const Log& log)
      : groups_(groups), gate_(std::move(gate)), log_(log) {}

  uint64_t Version() const override { return groups_.Version(); }
  std::vector<cloud::GroupInfo> Groups() override { return groups_.Groups(); }
  Result<std::optional<std::string>> GroupOf(const cloud::NodeRef& node) override {
    return groups_.GroupOf(node);
  }
  Result<bool> HasInstance(const cloud::NodeRef& node) override {
    return groups_.HasInstance(node);
  }
  Result<int> TargetSize(std::string_view group) override { return groups_.TargetSize(group); }
  Result<std::vector<cloud::Instance>> Instances(std::string_view group) override {
    return groups_.Instances(group);
  }
  Result<std::shared_ptr<const model::Node>> Template(std::string_view group) override {
    return groups_.Template(group);
  }
  Result<std::optional<cloud::ScalingOptions>> Options(
      std::string_view group, const cloud::ScalingOptions& defaults) override {
    return groups_.Options(group, defaults);
  }
  Status Refresh(Deadline deadline) override { return groups_.Refresh(deadline); }
  std::string GpuLabel() override { return groups_.GpuLabel(); }
  std::vector<std::string> GpuTypes() override { return groups_.GpuTypes(); }
  Result<double> NodePrice(const cloud::NodeRef& node,
                           const std::map<std::string, std::string>& labels, TimePoint start,
                           TimePoint end) override {
    return groups_.NodePrice(node, labels, start, end);
  }
  Result<double> PodPrice(const model::Pod& pod, TimePoint start, TimePoint end) override {
    return groups_.PodPrice(pod, start, end);
  }

  bool OrdersMayOverlap(std::string_view group) override { return groups_.OrdersMayOverlap(group); }
  Status Increase(std::string_view group, int delta, Deadline deadline) override {
    return Change("increase", group, delta, "", deadline,
                  [&](Deadline by) { return groups_.Increase(group, delta, by); });
  }
  Status IncreaseAtomically(std::string_view group, int delta, Deadline deadline) override {
    return Change("increase all or nothing", group, delta, "", deadline,
                  [&](Deadline by) { return groups_.IncreaseAtomically(group, delta, by); });
  }
  Status Delete(std::string_view group, const std::vector<cloud::NodeRef>& nodes,
                Deadline deadline) override {
    std::vector<std::string> names;
    for (const cloud::NodeRef& node : nodes) names.push_back(node.name);
    return Change("delete", group, -static_cast<int>(nodes.size()), Join(names, ","), deadline,
                  [&](Deadline by) { return groups_.Delete(group, nodes, by); });
  }
  Status DecreaseTarget(std::string_view group, int delta, Deadline deadline) override {
    return Change("decrease the target of", group, delta, "", deadline,
                  [&](Deadline by) { return groups_.DecreaseTarget(group, delta, by); });
  }
  Status Cleanup() override { return gate_.dry_run ? Status::Ok() : groups_.Cleanup(); }

 private:
  template <class Call>
  Status Change(std::string_view what, std::string_view group, int delta, std::string_view nodes,
                Deadline deadline, Call call) {
    if (gate_.dry_run) {
      log_.Info("dry run: the cloud would have been changed",
                {{"what", what}, {"group", group}, {"delta", delta}, {"nodes", nodes}});
      return Status::Ok();
    }
    if (gate_.may_change) TRY(gate_.may_change());
    return call(gate_.within ? gate_.within(deadline) : deadline);
  }

  cloud::NodeGroups& groups_;
  Gate gate_;
  const Log& log_;
};

}  // namespace

std::unique_ptr<cloud::NodeGroups> GuardGroups(cloud::NodeGroups& groups, Gate gate,
                                               const Log& log) {
  return std::make_unique<GuardedGroups>(groups, std::move(gate), log);
}

}  // namespace coppice::app
