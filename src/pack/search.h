// Search: a node for a pod, in the order in which the peers look for one.
//
// "Any node" is round-robin and not first fit: the search starts behind the node that was found
// last, and that place is shared by all who search. It survives passes, forks and reverts, as
// upstream's does: answers of peers depend on it.

#pragma once

#include <cstdint>
#include <vector>

#include "cluster/snapshot.h"
#include "fit/chain.h"
#include "model/verdict.h"

namespace coppice::pack {

// Which nodes the caller accepts; others keep their place in the order but are passed over.
struct Accept {
  size_t from_position = 0;  // in the visiting order: this one and all behind it
  const std::vector<uint8_t>* allowed = nullptr;  // by node index, 1 = yes; null: all
  cluster::NodeIndex except = cluster::kNone;
};

class Search {
 public:
  Search(cluster::Snapshot& snapshot, const fit::Chain& chain)
      : snapshot_(snapshot), chain_(chain) {}

  // One given node; neither reads nor moves the starting place.
  model::Verdict Check(cluster::PodIndex pod, cluster::NodeIndex node);
  // The next node that is accepted and takes the pod, kNone if there is none. Cordoned nodes are
  // passed over even for pods that tolerate it.
  cluster::NodeIndex Find(cluster::PodIndex pod, const Accept& accept = {});

  cluster::Snapshot& snapshot() { return snapshot_; }

 private:
  size_t Scan(const fit::Question& question, const Accept& accept, size_t begin, size_t end) const;

  cluster::Snapshot& snapshot_;
  const fit::Chain& chain_;
  size_t last_ = 0;  // position of the node found last, in the list of that moment
};

}  // namespace coppice::pack
