// Search: a node for a pod, in the order in which the peers look for one.
//
// "Any node" is round-robin and not first fit: the search starts behind the node that was found
// last, and that place is shared by all who search. It survives passes, forks and reverts, as
// upstream's does: answers of peers depend on it.
//
// Exact, and yet no node is asked twice in vain: per spec shape the search remembers the nodes that
// refused for reasons of their own (room, ports, taints, labels), until something is taken off such
// a node (Snapshot::eased). Refusals that depend on other nodes (spread, affinity) or on the single
// pod (volumes) are never remembered. So 50,000 equal pods against 1,000 full nodes cost 1,000
// questions and then a look at 16 words each.

#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "cluster/snapshot.h"
#include "fit/chain.h"
#include "fit/node_set.h"
#include "model/verdict.h"

namespace coppice::fit {

// Which nodes the caller accepts; others keep their place in the order but are passed over.
struct Accept {
  size_t from_position = 0;  // in the visiting order: this one and all behind it
  const std::vector<uint8_t>* allowed = nullptr;  // by node index, 1 = yes; null: all
  cluster::NodeIndex except = cluster::kNone;
  // Cordoned ones too, for pods that tolerate it: kube-scheduler takes them, upstream's simulator
  // passes over them.
  bool cordoned = false;
};
bool Accepts(const Accept& accept, cluster::NodeIndex node);  // wherever it stands in the order

class Search {
 public:
  Search(cluster::Snapshot& snapshot, const Chain& chain) : snapshot_(snapshot), chain_(chain) {}

  // One given node; neither reads nor moves the starting place.
  model::Verdict Check(cluster::PodIndex pod, cluster::NodeIndex node);
  // Check without the reason.
  bool Fits(cluster::PodIndex pod, cluster::NodeIndex node);
  // The next node that is accepted and takes the pod, kNone if there is none.
  cluster::NodeIndex Find(cluster::PodIndex pod, const Accept& accept = {});
  // Every node that is accepted and takes it; neither reads nor moves the starting place.
  NodeSet FindAll(cluster::PodIndex pod, const Accept& accept = {});

  // The pod's question, prepared anew or as remembered for its kind; good until the next call or
  // change of the snapshot.
  const Question& Ask(cluster::PodIndex pod);

  // The position of the node that was found last. For whoever works out a search by arithmetic.
  size_t last() const { return last_; }
  void MoveTo(size_t position) { last_ = position; }

  cluster::Snapshot& snapshot() { return snapshot_; }

 private:
  // What is known about one spec shape.
  struct Known {
    // Nodes that refused on their own account, by slot, a bit each. Void if another set of filters
    // asks, or the slots are of another epoch.
    std::vector<uint64_t> refused;
    uint64_t own_links = 0;
    uint64_t epoch = 0;
    uint64_t seen = 0;  // of the snapshot's log of eased nodes
    // The question of the last plain pod, while it is good for all of its kind.
    std::optional<Question> question;
    cluster::LabelSetId labels = 0;
    uint64_t facts_version = 0;
    uint64_t terms_version = 0;
    cluster::NodeShapeId node_shapes = 0;
  };

  void ForgetOldIds();  // if all have other ids now
  Known& KnownOf(cluster::SpecId spec);
  void CatchUp(Known& known, uint64_t own_links) const;
  cluster::NodeIndex FindNamed(const Question& question, const Accept& accept, size_t start);
  // Asks the nodes in slots [begin, end) that are accepted and have not refused, first few and then
  // up to 64 together, and hands those that take the pod to `take` in order until it says stop.
  template <class Take>
  void Scan(const Question& question, Known& known, const Accept& accept, size_t begin, size_t end,
            Take take) const;
  bool PassedOver(const Accept& accept, cluster::NodeIndex node) const {
    return !accept.cordoned && snapshot_.node_shape(node).unschedulable;
  }

  cluster::Snapshot& snapshot_;
  const Chain& chain_;
  size_t last_ = 0;        // position of the node found last, in the list of that moment
  uint64_t id_epoch_ = 0;  // of the ids and questions below
  std::vector<std::unique_ptr<Known>> known_;  // by spec; null: never searched for
  std::optional<Question> single_;             // of a pod that is not like others
};

}  // namespace coppice::fit
