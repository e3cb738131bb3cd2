// OrderedPods: which order each pending pod was bought for with (--larger-pods-first), so that the
// nodes of that order go to those for whom they were bought.

#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "autoscale/imagined.h"
#include "autoscale/listed_node.h"
#include "autoscale/processors.h"
#include "fit/search.h"
#include "report/pass_report.h"

namespace coppice::autoscale {

// By decreasing size, measured by what a pod takes of the nodes on their way; without any, pods
// keep their order.
void LargerFirst(Pods& pods, const std::deque<StandIn>& coming, const cluster::Snapshot& snapshot);

class OrderedPods {
 public:
  void Bought(const report::ScaleUp& done);

  // Those that were bought for go onto the nodes of their order before anybody else, in the order
  // given and first fit: the search goes round, so that it would spread them, and of several sizes
  // some would find no room. Stand-ins come first, then nodes that are up already and that the
  // scheduler has not used yet. Each pod onto the groups that were chosen for it, order by order;
  // what finds no room there, because the scheduler has filled what is up in its own way, takes
  // what the others leave. If that still leaves some out, all go onto all, where it helps more of
  // them.
  //
  // Places in the snapshot; a 1 for each of the pods that has been. Forgets who is not pending.
  std::vector<uint8_t> Place(const Pods& pods, const std::deque<StandIn>& coming,
                             const std::vector<ListedNode>& nodes, fit::Search& search);

 private:
  struct Order {
    uint64_t number = 0;
    std::set<std::string> groups = {};
  };
  class FirstFit;

  std::map<std::string, std::shared_ptr<const Order>> bought_for_;  // by uid
  uint64_t last_number_ = 0;
};

}  // namespace coppice::autoscale
