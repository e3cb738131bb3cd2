// Any bytes as the Node that a server sent: edited, or refused. What comes out is edited to the
// same thing once more: a second pass finds nothing left to do.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "kube/node_edit.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  coppice::cluster::NodeChange change;
  change.add_taints.push_back({.key = "k", .value = "v", .effect = "NoSchedule"});
  change.unschedulable = true;
  const auto edited = coppice::kube::EditNode(text, change);
  if (!edited.ok() || !edited->has_value()) return 0;
  const auto again = coppice::kube::EditNode(**edited, change);
  if (!again.ok() || again->has_value()) std::abort();
  return 0;
}
