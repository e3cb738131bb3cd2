// NodeVolumeLimits: a node attaches only so many volumes of a CSI driver (CSINode says how many).
//
// A volume counts once however many pods of the node use it. Counted are the volumes of the pods on
// the node and, beside them, what VolumeAttachments say is attached there. A claim that has no
// volume yet counts for the provisioner of its class. Volumes of in-tree drivers count for the CSI
// driver that took over.

#include <algorithm>
#include <string>
#include <vector>

#include "fit/csi_migration.h"
#include "fit/filter.h"
#include "plugins/filters/volume_limits/attach_memory.h"
#include "plugins/filters/volume_limits/attachable.h"

namespace coppice::filters::volume_limits {
namespace {

using model::Verdict;
using model::VerdictCode;

Verdict TooMany(std::string_view driver, int64_t asked, int64_t free, int64_t limit) {
  return Verdict::No({.plugin = kName,
                      .code = VerdictCode::kUnschedulable,
                      .reasons = {"node(s) exceed max volume count"},
                      .shortfalls = {{.what = "volumes of " + std::string(driver),
                                      .asked = asked,
                                      .free = free,
                                      .capacity = limit}}});
}

class LimitCheck final : public fit::NodeCheck {
 public:
  LimitCheck(const cluster::PodView& pod, const cluster::Snapshot& snapshot)
      : snapshot_(snapshot), memory_(AttachMemory::Of(snapshot)) {
    // Without a CSINode there is no limit either: only what goes wrong matters there.
    const cluster::Facts& facts = snapshot.facts();
    problem_without_csi_ = Attachable(pod, facts, CsiOnNode::kNo, Asking::kYes).problem;
    const AttachableVolumes asked = Attachable(pod, facts, CsiOnNode::kYes, Asking::kYes);
    problem_ = asked.problem;
    asked_ = memory_.Intern(asked.volumes);
  }

  Verdict Check(cluster::NodeIndex node) const override {
    const NodeLimits* limits = memory_.OfNode(snapshot_.node(node).name);
    if (limits == nullptr) return problem_without_csi_;
    if (!problem_.yes() || asked_.empty() || limits->limits.empty()) return problem_;

    attached_.clear();
    for (const cluster::PodIndex pod : snapshot_.pods_with_volumes_on(node)) {
      const PodVolumes& theirs = memory_.OfPod(snapshot_.pod(pod), snapshot_.facts());
      if (!theirs.problem.yes()) return theirs.problem;
      attached_.insert(attached_.end(), theirs.volumes.begin(), theirs.volumes.end());
    }
    std::ranges::sort(attached_);
    attached_.erase(std::unique(attached_.begin(), attached_.end()), attached_.end());
    return Compare(*limits);
  }

  // Not OwnNodeOnly: a volume that is attached for nobody counts twice for a pod that wants it,
  // and once as soon as another pod of the node uses it.

 private:
  bool IsAttached(VolumeId volume) const { return std::ranges::binary_search(attached_, volume); }

  Verdict Compare(const NodeLimits& node) const {
    for (const auto& [driver, limit] : node.limits) {
      const auto of_driver = [&, id = driver](VolumeId volume) {
        return memory_.driver(volume) == id;
      };
      const auto beside = [&](VolumeId volume) { return of_driver(volume) && !IsAttached(volume); };
      const int64_t more = std::ranges::count_if(asked_, beside);
      if (more == 0) continue;
      // What VolumeAttachments know and no pod of the node accounts for is counted, too.
      const int64_t taken = std::ranges::count_if(attached_, of_driver) +
                            std::ranges::count_if(node.attached, beside);
      if (taken + more > limit) {
        return TooMany(memory_.driver_name(driver), more, limit - taken, limit);
      }
    }
    return Verdict::Yes();
  }

  const cluster::Snapshot& snapshot_;
  AttachMemory& memory_;
  Verdict problem_without_csi_ = Verdict::Yes();
  Verdict problem_ = Verdict::Yes();
  std::vector<VolumeId> asked_;
  mutable std::vector<VolumeId>
      attached_;  // of the node that is looked at: saves an allocation per node
};

class NodeVolumeLimits final : public fit::StateFilter {
 public:
  fit::Preparation Prepare(const cluster::PodView& pod,
                           const cluster::Snapshot& snapshot) const override {
    const bool may_attach = std::ranges::any_of(pod.volumes.volumes, [](const auto& volume) {
      return volume.claim_name || volume.ephemeral || !fit::InTreePlugin(volume).empty();
    });
    if (!may_attach) return fit::Preparation::Skip().ForSpec();
    return fit::Preparation::Ask(std::make_unique<LimitCheck>(pod, snapshot));
  }
};

}  // namespace

void Register(fit::FilterRegistry& registry) {
  registry.Add(kName, [](const fit::SchedulerConfig&) -> Result<std::unique_ptr<fit::Filter>> {
    return std::make_unique<NodeVolumeLimits>();
  });
}

}  // namespace coppice::filters::volume_limits
