// Pod changes: the pod as it would be if what a filter proposes (fit::Filter::WaysAround) were so.
// Proposals are guesses from the refusal; whoever makes one tries it (nearest_miss).
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

using model::ChangeSet;

// Makes the change; false if it is none of a pod, or if there is nothing to change.
bool Apply(const report::Change& change, model::Pod& pod);

// What the pod asks for of a resource, in the unit of its column.
int64_t AskedOf(const model::Pod& pod, std::string_view resource);

}  // namespace coppice::autoscale
