// Imagined: what a pass adds in thought to the world as it is: stand-ins for nodes on their way,
// and pods on the nodes that have room for them. Plans see it; between two plans there is no fork,
// only this list of names, from which the next plan is given just the same: nothing is searched for
// again, for the search goes round and its place is part of the answers.
//
// The world may have moved on in between. A pod that is gone, bound or another one of the same name
// is left out, and so is one whose node is gone. A pod is known by its uid; its index is only where
// to look for it first.

#pragma once

#include <deque>
#include <string>
#include <unordered_map>
#include <vector>

#include "autoscale/processors.h"
#include "autoscale/tpu.h"
#include "cluster/world.h"
#include "pack/node_template.h"

namespace coppice::autoscale {

struct StandIn {
  std::string group;
  pack::NodeTemplate node;
};

class Imagined {
 public:
  Imagined(cluster::World& world, TpuRequests& tpus) : world_(world), tpus_(tpus) {}

  // A plan's fork, with everything imagined so far in it. Reverted at the end of the scope.
  class [[nodiscard]] Fork {
   public:
    explicit Fork(Imagined& imagined) : fork_(imagined.world_.snapshot()) { imagined.Repeat(); }

   private:
    cluster::ScopedFork fork_;
  };

  // The following within such a fork.

  // False: there is a node of that name already.
  bool Add(std::string group, pack::NodeTemplate node);
  // A registered node whose place a stand-in takes.
  void Replace(const std::string& node);
  // The successor of a pod that is about to leave its node.
  fit::PendingPod Successor(const cluster::PodPtr& pod, cluster::PodIndex index);
  // TPUs are no room that a node could lack.
  void ForgetTpus(Pods& pods);
  void Place(const fit::PendingPod& pod, cluster::NodeIndex node);
  // These have been placed, or some of them.
  void Keep(const Pods& pods);

  // Which of the world's pods, if any, stands behind one that is to be placed.
  enum class Origin : uint8_t {
    kWaiting,  // itself: it has no node
    kLeaving,  // the one that it succeeds
    kMadeUp,   // none: a processor has thought of it
  };
  struct Source {
    Origin origin = Origin::kMadeUp;
    cluster::PodIndex index = cluster::kNone;  // of the world's pod, as long as it is that pod's
  };
  Source SourceOf(const fit::PendingPod& pod) const;
  // What is to be placed now; kNone: nothing any more.
  cluster::PodIndex IndexOf(const cluster::PodPtr& pod, const Source& source);

  const std::deque<StandIn>& stand_ins() const { return stand_ins_; }  // as added; they stay put
  const std::vector<std::string>& replaced() const { return replaced_; }

 private:
  struct Placed {
    cluster::PodPtr pod;
    std::string node;
    Source source;
  };

  void Repeat();

  cluster::World& world_;
  TpuRequests& tpus_;
  std::deque<StandIn> stand_ins_;
  std::vector<std::string> replaced_;
  // Of pods that stand in this fork for others; by their index.
  std::unordered_map<cluster::PodIndex, Source> sources_;
  std::vector<Placed> placed_;  // those of one node in the order in which it has them
};

}  // namespace coppice::autoscale
