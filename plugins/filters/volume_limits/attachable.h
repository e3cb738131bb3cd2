// Which CSI volumes a pod makes its node attach.

#pragma once

#include <string_view>
#include <vector>

#include "cluster/snapshot.h"
#include "fit/csi_migration.h"
#include "model/verdict.h"

namespace coppice::filters::volume_limits {

inline constexpr std::string_view kName = "NodeVolumeLimits";

// A node without a CSINode object has not migrated anything: in-tree volumes do not count there.
enum class CsiOnNode { kNo, kYes };

// The asking pod cannot run without its claims; one that already runs may have lost them.
enum class Asking { kNo, kYes };

struct AttachableVolumes {
  std::vector<fit::CsiVolume> volumes;             // sorted, each once
  model::Verdict problem = model::Verdict::Yes();  // kube-scheduler gives up on the node over this
};

AttachableVolumes Attachable(const cluster::PodView& pod, const cluster::Facts& facts,
                             CsiOnNode csi, Asking asking);

}  // namespace coppice::filters::volume_limits
