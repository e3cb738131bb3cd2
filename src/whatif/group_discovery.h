// Which node groups a dump has: from a file, or from the nodes themselves. A dump does not say
// which groups there are, so whatever is assumed is said.

#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "whatif/dump_groups.h"
#include "whatif/dump_reader.h"

namespace coppice::whatif {

struct DiscoveredGroups {
  std::vector<DumpGroups::Group> groups;
  std::string how;                 // a sentence
  std::vector<std::string> notes;  // what the user should know
};

// Groups by the label that the cluster's platform gives the nodes of a pool, else by instance type
// and zone. `bounds` are --nodes, min:max:name each; a group that is not named gets 0 and
// kDefaultMax. Control-plane nodes belong to none.
inline constexpr int kDefaultMax = 1000;
Result<DiscoveredGroups> GroupsFromNodes(const Listed<model::Node>& nodes,
                                         const std::vector<std::string>& bounds);

// Groups as `coppice simulate --groups` takes them (docs/simulate.md), with their nodes found in
// the dump.
Result<DiscoveredGroups> GroupsFromFile(const std::string& path, const Listed<model::Node>& nodes);
// The same from a text; `path` is for complaints.
Result<DiscoveredGroups> ParseGroups(std::string_view text, const std::string& path,
                                     const Listed<model::Node>& nodes);

// The label that marks GPU nodes of this cluster; "" if no node has one that is known.
std::string GuessGpuLabel(const Listed<model::Node>& nodes);

}  // namespace coppice::whatif
