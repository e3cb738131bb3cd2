// Pod changes: what would have to be different about a pod for a node to take it, and the pod as it
// would then be. Proposals are guesses from the refusal; whoever makes one tries it (nearest_miss).
//
// Pure functions.

#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "model/node.h"
#include "model/pod.h"
#include "model/verdict.h"
#include "report/pass_report.h"

namespace coppice::autoscale {

// Changes that belong together.
using ChangeSet = std::vector<report::Change>;

// Ways around `refusal` of `node`, the least intrusive first. Empty: none is known.
std::vector<ChangeSet> WaysAround(const model::Refusal& refusal, const model::Pod& pod,
                                  const model::Node& node);

// Makes the change; false if it is none of a pod, or if there is nothing to change.
bool Apply(const report::Change& change, model::Pod& pod);

// What the pod asks for of a resource, in the unit of its column.
int64_t AskedOf(const model::Pod& pod, std::string_view resource);

// An amount of a resource as people write it. Amounts of memory and storage that are not round are
// rounded up to whole Mi, so that "so much smaller" stays true.
std::string AmountText(std::string_view resource, int64_t amount);

}  // namespace coppice::autoscale
