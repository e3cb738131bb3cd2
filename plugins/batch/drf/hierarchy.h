// The tree of queues that volcano.sh/hierarchy and volcano.sh/hierarchy-weights describe, with jobs
// as its leaves.
//
// An inner node's share is that of its children, each scaled down to what the one with the least
// has, so that a child that cannot use more does not speak for its siblings; one that cannot
// (saturated) counts as it is.

#pragma once

#include <map>
#include <memory>
#include <string>

#include "batch/job.h"
#include "batch/resource.h"

namespace coppice::batch::drf {

struct Attributes {
  double share = 0;
  Resource allocated;
};

class Hierarchy {
 public:
  Hierarchy() : Hierarchy(Resource()) {}
  explicit Hierarchy(const Resource& total);
  Hierarchy(Hierarchy&&) = default;
  Hierarchy& operator=(Hierarchy&&) = default;
  Hierarchy Clone() const;

  // The job has these now; shares are worked out anew. False: its queue's path brought a level into
  // the tree that the queue names no weight for.
  bool Update(const Job& job, const Attributes& attributes, const Resource& total_allocated);
  // Below zero: the left queue has less of what it deserves.
  double Compare(const QueueInfo& l, const QueueInfo& r) const;

 private:
  struct Node {
    double weight = 1;
    bool saturated = false;
    bool leaf = false;
    Attributes attributes;
    Resource request;  // of a leaf
    std::map<std::string, std::unique_ptr<Node>> children;
  };

  static std::unique_ptr<Node> CloneNode(const Node& node);
  void UpdateNode(Node& node, const Resource& total_allocated) const;
  bool IsSaturated(const Node& leaf, const Resource& total_allocated) const;

  Resource total_;
  std::unique_ptr<Node> root_;
};

}  // namespace coppice::batch::drf
