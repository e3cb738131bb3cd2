// Source: what a session is opened on, from the World.
//
// Pods that have ended are not in the World (nobody else wants them); those that belong to a group
// are kept as EndedPod, for a gang counts those that are done.

#pragma once

#include <functional>
#include <string>

#include "batch/session.h"
#include "cluster/world.h"

namespace coppice::batch {

// A pod with phase Succeeded or Failed.
struct EndedPod : model::Pod {};

struct SourceOptions {
  std::vector<std::string> scheduler_names;
  // Pods that are not to be seen now.
  std::function<bool(const model::Pod& pod)> hidden = nullptr;
};

// In the World's list order.
SessionInput InputFrom(const cluster::World& world, const SourceOptions& options, std::string uid,
                       TimePoint now);

}  // namespace coppice::batch
