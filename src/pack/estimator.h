// Estimator: how many nodes of one template would these pods need?
//
// Upstream's variant of first-fit-decreasing, to the pod: kinds of pods by decreasing size; each
// kind first on the nodes added so far (round-robin search), then pod by pod on the newest node,
// then on one more. It tries on the snapshot inside a fork and leaves no trace but the search's
// starting place.

#pragma once

#include <vector>

#include "base/clock.h"
#include "fit/equivalence.h"
#include "fit/search.h"
#include "pack/limiter.h"
#include "pack/node_template.h"

namespace coppice::pack {

// Pods that are the same for scheduling.
using PodKind = std::vector<fit::PendingPod>;

struct Estimate {
  int nodes = 0;                             // that got at least one pod
  std::vector<const fit::PendingPod*> pods;  // placed, in the order in which they were
  std::vector<int> pods_per_node;  // of the counted nodes, in all, but for what the template brings
};

struct EstimatorOptions {
  bool fast_path = false;  // approximate: the last kind is packed on one node and multiplied
  bool counting = true;    // where that is exact; off: everything is tried pod by pod
};

class Estimator {
 public:
  Estimator(fit::Search& search, const Clock& clock, EstimatorOptions options = {})
      : search_(search), clock_(clock), options_(options) {}

  // `kinds` in the order of their numbers; pointers in the answer point into it.
  Estimate Run(const std::vector<const PodKind*>& kinds, const NodeTemplate& node_template,
               const EstimateLimits& limits);

 private:
  struct State;
  void PlaceOnAdded(State& state, const PodKind& kind, size_t& next);
  bool PlaceOnNew(State& state, const PodKind& kind, size_t next);
  bool Multiply(State& state, const PodKind& kind, size_t next);
  bool AddNode(State& state);

  fit::Search& search_;
  const Clock& clock_;
  EstimatorOptions options_;
};

}  // namespace coppice::pack
