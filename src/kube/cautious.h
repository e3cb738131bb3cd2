// What is made of an object that could not be read, beyond keeping what could be: for a few kinds
// the fields that are left would be understood as a permission.

#pragma once

#include <optional>

#include "model/objects.h"
#include "model/selector.h"

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

// Why an object that could be read says nothing that anybody understands; absent for nearly all
// kinds. Its fields stay as they were sent: whether to be cautious or to fail, as a peer does, is
// up to who decides.
template <class T>
std::optional<model::Unreadable> WhyNotUnderstood(const T&) {
  return std::nullopt;
}

inline std::optional<model::Unreadable> WhyNotUnderstood(const model::PodDisruptionBudget& budget) {
  const auto selector = model::Selector::From(budget.spec.selector);
  if (selector.ok()) return std::nullopt;
  return model::Unreadable{.what = "spec.selector: " + selector.status().message(),
                           .reason = "selector"};
}

}  // namespace coppice::kube
