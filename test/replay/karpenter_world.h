// The cluster of a recorded case of node pools, as the solver's input.

#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "provision/pod_selection.h"
#include "provision/solver.h"
#include "test/replay/replay.h"

namespace coppice::replay {

struct RecordedWorld {
  provision::SolverInput input;
  std::vector<provision::PodPtr> pods;  // all, as listed
  provision::Budgets budgets;
};

// When a recorded case is asked: its own `now`, or without one that of all recordings.
TimePoint NowOf(const Json& c);

RecordedWorld ReadWorld(const Json& c);
provision::SolverOptions ReadSolverOptions(const Json& c);

// The pods of nodes that are leaving.
std::vector<provision::PodPtr> LeavingPods(const RecordedWorld& world, TimePoint now);

// The part of a pod's name before its number.
std::string ClassName(const std::string& pod);

// A claim in the form of the recordings, with requests in canonical form.
Json Claim(const RecordedWorld& world, const provision::SolveRequest& request,
           const provision::PlannedClaim& claim);
// The same for a recorded one.
Json CanonicalClaim(Json recorded);

}  // namespace coppice::replay
