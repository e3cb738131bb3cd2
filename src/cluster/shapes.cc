#include "cluster/shapes.h"

#include <algorithm>
#include <array>

namespace coppice::cluster {

bool IsPerNodeLabel(std::string_view key) {
  static constexpr std::array<std::string_view, 6> kKeys = {
      "kubernetes.io/hostname",   "alpha.eksctl.io/instance-id",
      "openebs.io/nodename",      "topology.hostpath.csi/node",
      "topology.topolvm.io/node", "topology.topolvm.cybozu.com/node",
  };
  return std::ranges::find(kKeys, key) != kKeys.end();
}

}  // namespace coppice::cluster
