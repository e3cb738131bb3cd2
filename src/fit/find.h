// Finding a node: any that takes a pod, all that do, how many of a kind fit on one.
//
// Exact: the same node as asking the chain node by node in visiting order, only that 64 nodes are
// asked at a time. A search that ends early costs only the nodes it has passed.

#pragma once

#include <cstdint>
#include <vector>

#include "cluster/snapshot.h"
#include "fit/chain.h"

namespace coppice::fit {

// A set of nodes, by index.
class NodeSet {
 public:
  NodeSet() = default;
  explicit NodeSet(cluster::NodeIndex bound) : words_((bound + 63) / 64) {}

  bool Has(cluster::NodeIndex node) const {
    return node / 64 < words_.size() && (words_[node / 64] >> (node % 64) & 1) != 0;
  }
  void Add(cluster::NodeIndex node) {
    if (node / 64 >= words_.size()) words_.resize(node / 64 + 1);
    words_[node / 64] |= uint64_t{1} << (node % 64);
  }
  void Remove(cluster::NodeIndex node) {
    if (node / 64 < words_.size()) words_[node / 64] &= ~(uint64_t{1} << (node % 64));
  }
  size_t size() const;

 private:
  std::vector<uint64_t> words_;
};

struct SearchOptions {
  size_t start = 0;  // the first place of the visiting order to look at; then round the end
  const NodeSet* among = nullptr;  // null: all nodes
};

struct Found {
  cluster::NodeIndex node = cluster::kNone;
  size_t place = 0;  // in the visiting order; a rotating search goes on behind it
  explicit operator bool() const { return node != cluster::kNone; }
};

// The first node from `start` that takes the pod.
Found FindAny(const Question& question, const cluster::Snapshot& snapshot,
              const SearchOptions& options = {});

// Every node that takes it.
NodeSet FindAll(const Question& question, const cluster::Snapshot& snapshot,
                const NodeSet* among = nullptr);

// How many pods like this one the node takes, one after the other, at most `limit`. Arithmetic
// where that is exact, else it tries, in a fork that it reverts.
int64_t HowMany(const Chain& chain, cluster::Snapshot& snapshot, cluster::PodIndex pod,
                cluster::NodeIndex node, int64_t limit);

// Places pods one by one, each on the next node that takes it, and remembers kinds of pods that fit
// nowhere.
class Placer {
 public:
  Placer(const Chain& chain, cluster::Snapshot& snapshot, const NodeSet* among = nullptr)
      : chain_(chain), snapshot_(snapshot), among_(among) {}

  // Where the next search starts.
  size_t next() const { return next_; }
  void StartAt(size_t place) { next_ = place; }

  // The node the pod goes to, without placing it; the rotation does not move.
  Found Find(cluster::PodIndex pod);
  // Places the pod if there is a node for it; the next search starts behind that.
  cluster::NodeIndex Place(cluster::PodIndex pod);

  size_t searches() const { return searches_; }  // that were not answered from memory

 private:
  bool Hopeless(const cluster::PodView& pod);

  const Chain& chain_;
  cluster::Snapshot& snapshot_;
  const NodeSet* among_;
  size_t next_ = 0;
  size_t searches_ = 0;
  // Kinds of pods that found no node; void when something has been freed since.
  struct Nowhere {
    bool all = false;                         // whatever their labels
    std::vector<cluster::LabelSetId> labels;  // with these, sorted
  };
  uint64_t loosened_ = 0;
  uint64_t facts_version_ = 0;
  std::vector<Nowhere> nowhere_;  // by spec
};

}  // namespace coppice::fit
