// VolumeRestrictions: disks that only one pod may write to, and claims that only one pod may use.
//
// Its PreFilter looks up every claim that the pod names, to learn its access modes, and is
// therefore the filter that reports a missing claim.

#include <algorithm>

#include "fit/filter.h"
#include "fit/volume_claims.h"

namespace coppice::filters::volume_restrictions {
namespace {

using model::Verdict;
using model::VerdictCode;

constexpr std::string_view kName = "VolumeRestrictions";

bool IsExclusive(const model::Volume& volume) {
  return volume.gce_persistent_disk || volume.aws_elastic_block_store || volume.rbd || volume.iscsi;
}

bool ShareAMonitor(const model::RbdVolume& a, const model::RbdVolume& b) {
  return std::ranges::find_first_of(a.monitors, b.monitors) != a.monitors.end();
}

// The same disk twice is fine only if both merely read it; an EBS disk never is.
bool Clash(const model::Volume& a, const model::Volume& b) {
  const auto both_read = [](const auto& x, const auto& y) { return x.read_only && y.read_only; };
  if (const auto &x = a.gce_persistent_disk, &y = b.gce_persistent_disk; x && y) {
    if (x->pd_name == y->pd_name && !both_read(*x, *y)) return true;
  }
  if (const auto &x = a.aws_elastic_block_store, &y = b.aws_elastic_block_store; x && y) {
    if (x->volume_id == y->volume_id) return true;
  }
  if (const auto &x = a.iscsi, &y = b.iscsi; x && y) {  // portal and lun do not matter
    if (x->iqn == y->iqn && !both_read(*x, *y)) return true;
  }
  if (const auto &x = a.rbd, &y = b.rbd; x && y) {
    if (ShareAMonitor(*x, *y) && x->pool == y->pool && x->image == y->image && !both_read(*x, *y)) {
      return true;
    }
  }
  return false;
}

class VolumeCheck final : public fit::NodeCheck {
 public:
  VolumeCheck(const cluster::VolumeSet& volumes, bool claim_in_use,
              const cluster::Snapshot& snapshot)
      : volumes_(volumes), claim_in_use_(claim_in_use), snapshot_(snapshot) {}

  Verdict Check(cluster::NodeIndex node) const override {
    static const Verdict disk_taken =
        Verdict::No(kName, VerdictCode::kUnschedulable, "node(s) had no available disk");
    static const Verdict claim_taken =
        Verdict::No(kName, VerdictCode::kUnschedulable,
                    "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access "
                    "mode already "
                    "in-use by another pod");
    if (ClashesOn(node)) return disk_taken;
    return claim_in_use_ ? claim_taken : Verdict::Yes();
  }

 private:
  bool ClashesOn(cluster::NodeIndex node) const {
    for (const cluster::PodIndex pod : snapshot_.pods_with_volumes_on(node)) {
      for (const model::Volume& theirs : snapshot_.pod(pod).volumes.volumes) {
        for (const model::Volume& ours : volumes_.volumes) {
          if (Clash(ours, theirs)) return true;
        }
      }
    }
    return false;
  }

  const cluster::VolumeSet& volumes_;
  bool claim_in_use_;
  const cluster::Snapshot& snapshot_;
};

class VolumeRestrictions final : public fit::StateFilter {
 public:
  fit::Preparation Prepare(const cluster::PodView& pod,
                           const cluster::Snapshot& snapshot) const override {
    bool claim_in_use = false;
    for (const model::Volume& volume : pod.volumes.volumes) {
      if (!volume.claim_name) continue;
      const model::PersistentVolumeClaim* claim =
          snapshot.facts().claims.Find(pod.namespace_, *volume.claim_name);
      if (claim == nullptr) {
        return fit::Preparation::Reject(Verdict::No(kName,
                                                    VerdictCode::kUnschedulableAndUnresolvable,
                                                    fit::ClaimNotFound(*volume.claim_name)));
      }
      const auto& modes = claim->spec.access_modes;
      if (std::ranges::find(modes, "ReadWriteOncePod") == modes.end()) continue;
      claim_in_use |= snapshot.ClaimUsers(pod.namespace_, *volume.claim_name) > 0;
    }
    if (!claim_in_use && std::ranges::none_of(pod.volumes.volumes, IsExclusive)) {
      return fit::Preparation::Skip().ForSpec();
    }
    return fit::Preparation::Ask(
        std::make_unique<VolumeCheck>(pod.volumes, claim_in_use, snapshot));
  }
};

}  // namespace

void Register(fit::FilterRegistry& registry) {
  registry.Add(kName, [](const fit::SchedulerConfig&) -> Result<std::unique_ptr<fit::Filter>> {
    return std::make_unique<VolumeRestrictions>();
  });
}

}  // namespace coppice::filters::volume_restrictions
