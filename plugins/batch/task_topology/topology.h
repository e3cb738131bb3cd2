// What a PodGroup wishes about the roles of its tasks: which belong together, which apart, and in
// which order they come.

#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "model/meta.h"

namespace coppice::batch::task_topology {

struct Topology {
  using Groups = std::vector<std::vector<std::string>>;
  Groups affinity;       // one name alone: its tasks belong together
  Groups anti_affinity;  // one name alone: its tasks belong apart
  std::vector<std::string> order;
};

// From the group's annotations; nothing if it has none of them. An error: a role that no task has,
// or one that stands twice in a list; then the group has no wishes at all, as upstream has it.
Result<std::optional<Topology>> ReadTopology(const model::Labels& annotations,
                                             const std::set<std::string_view>& roles);

}  // namespace coppice::batch::task_topology
