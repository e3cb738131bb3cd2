// Placer: finds places for many pods at once and leaves them placed: pending pods on existing
// nodes, the pods of a node that is to go on the others.
//
// As upstream's simulator does it, because its answers depend on the way: priority by priority,
// first every pod that has a hint on the hinted node, then the rest by search. A pod equal to one
// that failed in the same run is not searched for again; ten kinds are remembered per controller.

#pragma once

#include <functional>
#include <string>
#include <vector>

#include "cluster/id_table.h"
#include "pack/equivalence.h"
#include "pack/search.h"

namespace coppice::pack {

// Where a pod went last. An entry lives through the run in which it was set or used with success
// and the next.
class Hints {
 public:
  const std::string* Find(const PendingPod& pod);
  void Set(const PendingPod& pod, std::string node);
  void NextRun();

 private:
  struct Entry {
    cluster::PodPtr pod;
    std::string node;
  };
  // What this run knows of a pod, by its index: no text is hashed, and the object is not even
  // looked at. In one run a pod has one index.
  struct Seen {
    const model::Pod* pod = nullptr;
    uint64_t run = 0;
    uint32_t entry = cluster::kNone;  // of current_; kNone: no hint
  };

  // From one run to the next a pod is known by its uid, or by its name if it has none.
  static uint64_t HashOf(const model::Pod& pod);
  const Entry* FindPrevious(const model::Pod& pod);

  std::vector<Seen> seen_;  // by pod index
  uint64_t run_ = 1;
  std::vector<Entry> current_;
  std::vector<Entry> previous_;
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
  void NextRun() { hints_.NextRun(); }

 private:
  class Failures;
  bool PlaceByHint(const PendingPod& pod, const PlaceOptions& options);
  bool PlaceBySearch(const PendingPod& pod, const PlaceOptions& options, Failures& failures);

  Search& search_;
  Hints hints_;
};

}  // namespace coppice::pack
