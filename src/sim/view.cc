#include "sim/view.h"

namespace coppice::sim {

View::View(Cluster& cluster, cluster::World& world) : cluster_(cluster), world_(world) {
  cluster_.ListInto(world_);
  watch_ = cluster_.Watch([this](const Cluster::Change& change) {
    if (frozen_) {
      held_.push_back(change);
    } else {
      ++heard_;
      change(world_);
    }
  });
}

View::~View() { cluster_.Unwatch(watch_); }

void View::Freeze() {
  if (frozen_) return;
  frozen_ = true;
  since_ = cluster_.Now();
}

void View::Thaw() {
  frozen_ = false;
  heard_ += held_.size();
  for (const Cluster::Change& change : held_) change(world_);
  held_.clear();
}

}  // namespace coppice::sim
