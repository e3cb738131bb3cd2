// What is told of a node that goes: how full it was, who is evicted, and where there is room for
// them.

#pragma once

#include <string>

#include "autoscale/scale_down.h"
#include "report/pass_report.h"

namespace coppice::autoscale {

struct DescribedRemoval {
  report::RemovedNode removed;
  std::string pods;  // the evicted ones' names, for an event
};

// On the snapshot of the evaluation that found the node.
DescribedRemoval DescribeRemoval(const RemovableNode& node, bool drain, const cluster::World& world,
                                 ScaleDownPlanner& planner);

// As Go prints the struct of it.
std::string PrintUtilization(const report::Utilization& use);

}  // namespace coppice::autoscale
