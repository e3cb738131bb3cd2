// What is made of an object that could not be read, beyond keeping what could be: for a few kinds
// the fields that are left would be understood as a permission.

#pragma once

#include "model/objects.h"

namespace coppice::kube {

// Nearly all kinds: what is left is as good as it gets.
template <class T>
void MakeCautious(T&) {}

// Nobody knows what it has to offer, so it takes no pod in any plan. (It is not removed, either:
// the planner asks for metadata.unreadable.)
inline void MakeCautious(model::Node& node) { node.status.allocatable.clear(); }

// It may be about any pod of its namespace and allow none to go.
inline void MakeCautious(model::PodDisruptionBudget& budget) {
  budget.spec.selector.emplace();
  budget.status.disruptions_allowed = 0;
}

}  // namespace coppice::kube
