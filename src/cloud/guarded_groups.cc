#include "cloud/guarded_groups.h"

#include <utility>

#include "base/strings.h"
#include "cloud/node_groups_wrapper.h"

namespace coppice::cloud {
namespace {

class GuardedGroups final : public NodeGroupsWrapper {
 public:
  GuardedGroups(NodeGroups& groups, Gate gate, const Log& log)
      : NodeGroupsWrapper(groups), gate_(std::move(gate)), log_(log) {}

  Status Increase(std::string_view group, int delta, Deadline deadline) override {
    return Change("increase", group, delta, "", deadline,
                  [&](Deadline by) { return inner().Increase(group, delta, by); });
  }
  Status IncreaseAtomically(std::string_view group, int delta, Deadline deadline) override {
    return Change("increase all or nothing", group, delta, "", deadline,
                  [&](Deadline by) { return inner().IncreaseAtomically(group, delta, by); });
  }
  Status Delete(std::string_view group, const std::vector<NodeRef>& nodes,
                Deadline deadline) override {
    std::vector<std::string> names;
    for (const NodeRef& node : nodes) names.push_back(node.name);
    return Change("delete", group, -static_cast<int>(nodes.size()), Join(names, ","), deadline,
                  [&](Deadline by) { return inner().Delete(group, nodes, by); });
  }
  Status DecreaseTarget(std::string_view group, int delta, Deadline deadline) override {
    return Change("decrease the target of", group, delta, "", deadline,
                  [&](Deadline by) { return inner().DecreaseTarget(group, delta, by); });
  }
  Status Cleanup() override { return gate_.dry_run ? Status::Ok() : inner().Cleanup(); }

 private:
  template <class Call>
  Status Change(std::string_view what, std::string_view group, int delta, std::string_view nodes,
                Deadline deadline, Call call) {
    if (gate_.dry_run) {
      log_.Info("dry run: the cloud would have been changed",
                {{"what", what}, {"group", group}, {"delta", delta}, {"nodes", nodes}});
      return Status::Ok();
    }
    const Deadline by = gate_.within ? gate_.within(deadline) : deadline;
    if (gate_.changes == nullptr) return Gated(call, by);
    TRY(gate_.changes->Begin(by));  // first: from here on the lease is not given away
    const Status status = Gated(call, by);
    gate_.changes->End(by);
    return status;
  }
  template <class Call>
  Status Gated(Call call, Deadline by) {
    if (gate_.may_change) TRY(gate_.may_change());
    return call(by);
  }

  Gate gate_;
  const Log& log_;
};

}  // namespace

std::unique_ptr<NodeGroups> GuardGroups(NodeGroups& groups, Gate gate, const Log& log) {
  return std::make_unique<GuardedGroups>(groups, std::move(gate), log);
}

}  // namespace coppice::cloud
