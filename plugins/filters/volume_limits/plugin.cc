// NodeVolumeLimits: a node attaches only so many volumes of a CSI driver (CSINode says how many).
//
// A volume counts once however many pods of the node use it. Counted are the volumes of the pods on
// the node and, beside them, what VolumeAttachments say is attached there. A claim that has no
// volume yet counts for the provisioner of its class. Volumes of in-tree drivers count for the CSI
// driver that took over.

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "fit/csi_migration.h"
#include "fit/filter.h"
#include "fit/volume_claims.h"
#include "plugins/filters/volume_limits/attachable.h"

namespace coppice::filters::volume_limits {
namespace {

using fit::CsiVolume;
using model::Verdict;
using model::VerdictCode;

const int64_t* LimitOf(const std::vector<std::pair<std::string_view, int64_t>>& limits,
                       std::string_view driver) {
  const auto it = std::ranges::find(limits, driver, &std::pair<std::string_view, int64_t>::first);
  return it == limits.end() ? nullptr : &it->second;
}

std::vector<std::pair<std::string_view, int64_t>> LimitsOf(const model::CsiNode& node) {
  std::vector<std::pair<std::string_view, int64_t>> limits;
  for (const model::CsiNodeDriver& driver : node.spec.drivers) {
    if (!driver.allocatable || !driver.allocatable->count) continue;
    std::erase_if(limits, [&](const auto& earlier) { return earlier.first == driver.name; });
    limits.emplace_back(driver.name, *driver.allocatable->count);
  }
  return limits;
}

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
      : snapshot_(snapshot),
        without_csi_(Attachable(pod, snapshot.facts(), CsiOnNode::kNo, Asking::kYes)),
        with_csi_(Attachable(pod, snapshot.facts(), CsiOnNode::kYes, Asking::kYes)) {}

  Verdict Check(cluster::NodeIndex node) const override {
    const std::string& name = snapshot_.node(node).name;
    const model::CsiNode* csi_node = snapshot_.facts().csi_nodes.Find(name);
    const AttachableVolumes& asked = csi_node == nullptr ? without_csi_ : with_csi_;
    if (!asked.problem.yes()) return asked.problem;
    if (asked.volumes.empty() || csi_node == nullptr) return Verdict::Yes();
    const auto limits = LimitsOf(*csi_node);
    if (limits.empty()) return Verdict::Yes();

    std::vector<CsiVolume> attached;
    for (const cluster::PodIndex pod : snapshot_.pods_with_volumes_on(node)) {
      AttachableVolumes theirs =
          Attachable(snapshot_.pod(pod), snapshot_.facts(), CsiOnNode::kYes, Asking::kNo);
      if (!theirs.problem.yes()) return theirs.problem;
      attached.insert(attached.end(), std::make_move_iterator(theirs.volumes.begin()),
                      std::make_move_iterator(theirs.volumes.end()));
    }
    MakeSet(attached);
    return Compare(asked.volumes, attached, AttachedBeside(attached, name), limits);
  }

  // Not OnlyTightens: a volume that is attached for nobody counts twice for a pod that wants it,
  // and once as soon as another pod of the node uses it.

 private:
  // What VolumeAttachments know and no pod of the node accounts for.
  std::vector<CsiVolume> AttachedBeside(const std::vector<CsiVolume>& attached,
                                        std::string_view node_name) const {
    std::vector<CsiVolume> beside;
    for (const model::VolumeAttachment* attachment : snapshot_.facts().AttachmentsOf(node_name)) {
      const auto& volume_name = attachment->spec.source.persistent_volume_name;
      if (attachment->spec.attacher.empty() || !volume_name) continue;
      const model::PersistentVolume* volume = snapshot_.facts().volumes.Find(*volume_name);
      if (volume == nullptr || !volume->spec.csi) continue;
      CsiVolume found{attachment->spec.attacher, volume->spec.csi->volume_handle};
      if (!std::ranges::binary_search(attached, found)) beside.push_back(std::move(found));
    }
    MakeSet(beside);
    return beside;
  }

  static Verdict Compare(const std::vector<CsiVolume>& asked,
                         const std::vector<CsiVolume>& attached,
                         const std::vector<CsiVolume>& beside,
                         const std::vector<std::pair<std::string_view, int64_t>>& limits) {
    std::map<std::string_view, int64_t> more;  // by driver
    for (const CsiVolume& volume : asked) {
      if (!std::ranges::binary_search(attached, volume)) ++more[volume.driver];
    }
    for (const auto& [driver, count] : more) {
      const int64_t* limit = LimitOf(limits, driver);
      if (limit == nullptr) continue;
      const int64_t taken = std::ranges::count(attached, driver, &CsiVolume::driver) +
                            std::ranges::count(beside, driver, &CsiVolume::driver);
      if (taken + count > *limit) return TooMany(driver, count, *limit - taken, *limit);
    }
    return Verdict::Yes();
  }

  const cluster::Snapshot& snapshot_;
  AttachableVolumes without_csi_;
  AttachableVolumes with_csi_;
};

class NodeVolumeLimits final : public fit::StateFilter {
 public:
  fit::Preparation Prepare(const cluster::PodView& pod,
                           const cluster::Snapshot& snapshot) const override {
    const bool may_attach = std::ranges::any_of(pod.volumes.volumes, [](const auto& volume) {
      return volume.claim_name || volume.ephemeral || !fit::InTreePlugin(volume).empty();
    });
    if (!may_attach) return fit::Preparation::Skip();
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
