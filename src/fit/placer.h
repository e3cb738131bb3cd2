// Placer: finds places for many pods at once and leaves them placed: pending pods on existing
// nodes, the pods of a node that is to go on the others.
//
// As upstream's simulator does it, because its answers depend on the way: priority by priority,
// first every pod that has a hint on the hinted node, then the rest by search. A pod equal to one
// that failed in the same run is not searched for again; ten kinds are remembered per controller.

#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "cluster/id_table.h"
#include "fit/equivalence.h"
#include "fit/search.h"

namespace coppice::fit {

// Where a pod went last. An entry lives through the run in which it was set or used with success
// and the next. From one run to the next a pod is known by the hash of its identity
// (Snapshot::identity_hash) and a node by its name. What two pods of one hash would get wrong is a
// hint, and hints are checked.
class Hints {
 public:
  // kNone: no hint, or its node is gone.
  cluster::NodeIndex Find(const cluster::Snapshot& snapshot, cluster::PodIndex pod);
  void Set(const cluster::Snapshot& snapshot, cluster::PodIndex pod, cluster::NodeIndex node);
  void NextRun();
  // Brings close what Find() and Set() look at, for pods that are asked about soon.
  void Prefetch(std::span<const cluster::PodIndex> pods) const;

 private:
  struct Entry {
    uint64_t pod;             // hash of its identity
    cluster::NodeIndex node;  // in the run that set it; while pods are placed, no index is reused
    uint32_t name;            // of the node, in the run's names
  };
  struct Run {
    std::vector<Entry> entries;
    std::vector<std::string> names;
  };
  // What this run knows of a pod or node, by index: no text is touched.
  struct Seen {
    uint64_t pod = 0;
    uint32_t run = 0;
    uint32_t entry = 0;  // of current_
  };
  struct Named {
    uint32_t run = 0;
    uint32_t name = 0;
  };

  const Seen* SeenNow(const cluster::Snapshot& snapshot, cluster::PodIndex pod) const;
  uint32_t NameOf(const cluster::Snapshot& snapshot, cluster::NodeIndex node);

  std::vector<Seen> seen_;    // by pod index
  std::vector<Named> named_;  // by node index
  uint32_t run_ = 1;
  Run current_;
  Run previous_;
  cluster::IdTable previous_table_;  // to previous_; built when it is first asked
};

struct PlaceOptions {
  Accept accept;
  bool stop_at_first_failure = false;  // of each priority; lower priorities are still tried
  std::function<bool()> out_of_time;   // null: never
};

struct Placement {
  std::vector<uint8_t> placed;         // per pod, in the order given
  std::vector<uint8_t> unprocessed;    // not reached in time: neither placed nor refused
  size_t overflowing_controllers = 0;  // of more kinds of pods without a place than are remembered
  bool all() const;
};

class Placer {
 public:
  explicit Placer(Search& search) : search_(search) {}

  // Places what it can in the snapshot, and does not fork: that is the caller's business.
  Placement Place(const std::vector<PendingPod>& pods, const PlaceOptions& options);
  // The same for pods whose objects are elsewhere: `object_of` is given a place in the list, and
  // asked only about pods that fit nowhere and those behind them.
  using ObjectOf = std::function<const model::Pod&(size_t)>;
  Placement Place(std::span<const cluster::PodIndex> pods, const ObjectOf& object_of,
                  const PlaceOptions& options);
  // True: Place() would stop at the first pod, leave all of them unplaced and remember nothing. Can
  // be said while they are still on the node that is excepted: the first fits on none of the others
  // for reasons of those nodes' own, and nobody has a hint to follow. False: try.
  bool WouldStopAtOnce(std::span<const cluster::PodIndex> pods, const Accept& accept);
  void NextRun() { hints_.NextRun(); }

 private:
  class Failures;
  bool PlaceByHint(cluster::PodIndex pod, const PlaceOptions& options);
  bool PlaceBySearch(cluster::PodIndex pod, const PlaceOptions& options);

  Search& search_;
  Hints hints_;
};

}  // namespace coppice::fit
