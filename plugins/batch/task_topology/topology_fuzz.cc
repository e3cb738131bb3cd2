// Annotations are anybody's texts: read, or refused with a reason.

#include <string>
#include <string_view>

#include "plugins/batch/task_topology/topology.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  const size_t half = text.find('\n');
  coppice::model::Labels annotations;
  annotations["volcano.sh/task-topology-affinity"] = text.substr(0, half);
  annotations["volcano.sh/task-topology-anti-affinity"] =
      half == std::string::npos ? "" : text.substr(half + 1);
  annotations["volcano.sh/task-topology-task-order"] = text;
  const auto read = coppice::batch::task_topology::ReadTopology(annotations, {"ps", "worker", "a"});
  if (!read.ok() && read.status().message().empty()) __builtin_trap();
  return 0;
}
