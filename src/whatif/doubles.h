// What of a dump does not count as it stands there: objects that it holds twice, objects that others
// are added over, kinds that nobody looks at. Of one name the last counts, as with kubectl apply, and a note says so: two dumps of one cluster are easily
// given at once, and then every node would count twice.

#pragma once

#include <string>
#include <vector>

#include "whatif/dump_reader.h"

namespace coppice::whatif {

// Leaves the last of each name.
void DropDoubles(ClusterObjects& objects, std::vector<std::string>& notes);

// What of `added` stands in for an object of `cluster`.
void NoteReplaced(const ClusterObjects& cluster, const ClusterObjects& added,
                  std::vector<std::string>& notes);

// Kinds that no decision looks at, with how many of each were left out.
void NoteIgnored(const ClusterObjects& cluster, std::vector<std::string>& notes);

}  // namespace coppice::whatif
