// KubeView: what kube-scheduler's own filters and scores look at, during a session.
//
// The snapshot with the session's placements in it (inside of a fork, so that it is as before when
// the session ends), and beside it what only scores need: requests that count a container without
// any as a little, and images. Upstream keeps this view by an event handler of its predicates
// plug-in, and does so wrongly at times; so it is apart from what the session itself counts.

#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "batch/node.h"
#include "batch/task.h"
#include "cluster/snapshot.h"
#include "model/resources.h"

namespace coppice::batch {

// An image on a node, under every name that it has there.
struct NodeImage {
  std::vector<std::string> names;
  int64_t size_bytes = 0;
};

class KubeView {
 public:
  explicit KubeView(cluster::Snapshot& snapshot) : snapshot_(snapshot), fork_(snapshot) {}

  cluster::Snapshot& snapshot() { return snapshot_; }
  const cluster::Snapshot& snapshot() const { return snapshot_; }

  void SetNodes(size_t count) { scoring_.resize(count); }
  // What is on the node from the start.
  void SetScoring(const NodeInfo& node) { scoring_[node.index] = node.scoring; }
  // Placing what is placed already, or removing what is not, does nothing.
  void Place(const Task& task, const NodeInfo& node);
  void Remove(const Task& task, const NodeInfo& node);
  // Once more, be it on the node where it is: as upstream does with a task of which it has two, see
  // stale.h. Remove() takes that one off first.
  void PlaceAgain(const Task& task, const NodeInfo& node);
  bool IsPlaced(const Task& task) const {
    return snapshot_.node_of(task.pod_index) != cluster::kNone;
  }

  static const model::NonZeroRequests& ScoringOf(const Task& task) { return task.Scoring(); }

  // By NodeInfo::index.
  using Scoring = model::NonZeroRequests;
  const Scoring& scoring(const NodeInfo& node) const { return scoring_[node.index]; }
  size_t pods_on(const NodeInfo& node) const {
    return snapshot_.pods_on(node.snapshot_index).size();
  }

 private:
  void Add(const Task& task, const NodeInfo& node, int64_t sign);

  cluster::Snapshot& snapshot_;
  cluster::ScopedFork fork_;
  std::vector<Scoring> scoring_;
  struct Copy {
    uint32_t task;
    uint32_t node;
    cluster::PodIndex pod;
  };
  std::vector<Copy> copies_;
};

}  // namespace coppice::batch
