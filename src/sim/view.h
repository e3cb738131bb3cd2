// View: a World that follows a Cluster as a watch does, and that can fall behind: while it is
// frozen, changes queue up. One per engine process; a restarted engine begins with a list.

#pragma once

#include <cstdint>
#include <vector>

#include "cluster/world.h"
#include "sim/cluster.h"

namespace coppice::sim {

class View {
 public:
  View(Cluster& cluster, cluster::World& world);
  ~View();
  View(const View&) = delete;
  View& operator=(const View&) = delete;

  void Freeze();
  void Thaw();
  bool frozen() const { return frozen_; }
  uint64_t heard() const { return heard_; }  // how many changes
  // How old the newest thing is that it could have heard.
  Duration age() const { return frozen_ ? cluster_.Now() - since_ : Duration::zero(); }

 private:
  Cluster& cluster_;
  cluster::World& world_;
  int watch_;
  bool frozen_ = false;
  uint64_t heard_ = 0;
  TimePoint since_;
  std::vector<Cluster::Change> held_;
};

}  // namespace coppice::sim
