// PodsToHelp: which of the pending pods nothing that exists or is on its way has room for, and
// whether they are old enough to be bought for.

#pragma once

#include <string>
#include <vector>

#include "autoscale/imagined.h"
#include "autoscale/ordered_pods.h"
#include "autoscale/stage.h"
#include "drain/memory.h"
#include "fit/placer.h"

namespace coppice::autoscale {

class PodsToHelp {
 public:
  PodsToHelp(const StageParts& parts, fit::Search& search, drain::PodTraits& traits)
      : parts_(parts), search_(search), placer_(search), traits_(traits) {}

  struct List {
    Pods pods;
    TimePoint oldest = TimePoint::max();  // when they were created
    TimePoint youngest = TimePoint::min();
    std::vector<report::FittingPod> fitting;  // the others, if everything is to be told
  };
  struct Around {
    const std::vector<ListedNode>& nodes;     // registered
    const std::vector<std::string>& drained;  // of them: what is being evicted right now
  };
  // In an open fork of `imagined`: what finds room stays placed there. The standard step or
  // somebody else's, then the pods' own delays.
  List Sort(Pass& pass, Pods pending, const Around& around, Imagined& imagined);

  // They are so new that others may be about to come.
  bool AllNew(const List& list, TimePoint now) const;

  OrderedPods& ordered() { return ordered_; }
  // --enable-graceful-degradation: passes in a row that did not get to see all pods. Every fourth
  // of them belongs to scale-down, and only those do.
  bool LeavesToScaleDown() const { return Degraded() && degraded_passes_ % 4 == 0; }
  bool LeavesNoTimeForScaleDown() const { return Degraded() && degraded_passes_ % 4 != 0; }

 private:
  bool Degraded() const {
    return parts_.options.repair.enable_graceful_degradation && degraded_passes_ > 0;
  }
  Pods HelpByExisting(Pass& pass, Pods pods, const Around& around, Imagined& imagined, List& list);
  void AddLeaving(Pods& pods, const Around& around, Imagined& imagined) const;
  void PlaceOrdered(Pods& pods, const Around& around, Imagined& imagined, List& list);
  void Tell(const fit::PendingPod& pod, List& list) const;
  void DropYoung(Pass& pass, List& list) const;

  const StageParts& parts_;
  fit::Search& search_;
  fit::Placer placer_;
  drain::PodTraits& traits_;
  OrderedPods ordered_;
  int degraded_passes_ = 0;
};

}  // namespace coppice::autoscale
