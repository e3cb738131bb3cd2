// Memory: what the drain rules say about a pod, asked once per evaluation and kind of pod.
//
// A scan of all nodes judges a pod whenever the node that it is on is tried, and pods that moved
// are tried again with their new node. But what the rules read of a pod is interned
// (cluster::Interner::Eviction), so one pod of a kind is judged for all, and the others' objects
// are not even looked at. Of the rules only the last looks at something that changes meanwhile
// (what is left of disruption budgets); its word is kept until some budget is used further. Times
// are not interned: pods that are going, and those of the system that may move, are judged each.

#pragma once

#include <cstdint>
#include <vector>

#include "cluster/world.h"
#include "drain/rules.h"

namespace coppice::drain {

// PodsToMove, by index.
struct IndexesToMove {
  std::vector<cluster::PodIndex> movable;
  std::vector<cluster::PodIndex> daemon_set;
  std::vector<cluster::PodIndex> on_completion;
  cluster::PodIndex blocking = cluster::kNone;
  Verdict blocked_by;  // if there is a blocking pod
};

// What kind of pod stands behind an index, read off one object for all with its eviction id.
class PodTraits {
 public:
  struct Traits {
    bool known = false;
    bool daemon_set = false;
    bool mirror = false;
    bool system = false;  // in kube-system
  };
  // `object` is looked at only for the first of a kind.
  const Traits& Of(const cluster::Snapshot& snapshot, cluster::PodIndex pod,
                   const model::Pod& object) {
    if (id_epoch_ != snapshot.id_epoch()) known_.clear();
    id_epoch_ = snapshot.id_epoch();
    const cluster::EvictionId id = snapshot.eviction_id(pod);
    if (id >= known_.size()) known_.resize(id + 1);
    if (!known_[id].known) known_[id] = Read(object);
    return known_[id];
  }

 private:
  static Traits Read(const model::Pod& pod);

  uint64_t id_epoch_ = 0;
  std::vector<Traits> known_;  // by eviction id
};

class Memory {
 public:
  Memory(const std::vector<Rule>& rules, PodTraits& traits) : rules_(rules), traits_(traits) {}

  // Before the first question of an evaluation: controllers or the time may be others now.
  void Forget() { said_.clear(); }

  // What becomes of these pods, in their order, up to the first that blocks. Pods that a plan made
  // up are left out.
  IndexesToMove Sort(const cluster::World& world, const std::vector<cluster::PodIndex>& pods,
                     const Context& context);

 private:
  struct Said {
    uint8_t from = 0;    // the rule to go on with; those before it have nothing to say
    bool final = false;  // the outcome stands
    bool daemon = false;
    Outcome outcome = Outcome::kUndefined;
    uint64_t budgets = 0;  // the outcome stands for this version of the budgets; 0: for none
  };

  Verdict Judge(Said& said, const model::Pod& pod, const Context& context) const;

  const std::vector<Rule>& rules_;
  PodTraits& traits_;
  uint64_t id_epoch_ = 0;
  std::vector<Said> said_;  // by eviction id
};

}  // namespace coppice::drain
