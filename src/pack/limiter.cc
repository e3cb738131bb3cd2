#include "pack/limiter.h"

namespace coppice::pack {

namespace {

// 0 is "no limit" and a negative one is "none", and none wins.
int Tighter(int a, int b) {
  if (a < 0 || b < 0) return -1;
  return (a == 0 || a > b) && b > 0 ? b : a;
}

}  // namespace

Limiter::Limiter(const EstimateLimits& limits, const Clock& clock)
    : clock_(clock), max_duration_(limits.max_duration), start_(clock.Now()) {
  max_nodes_ = Tighter(0, limits.max_nodes);
  max_nodes_ = Tighter(max_nodes_, limits.group_free > 0 ? limits.group_free : -1);
  if (limits.max_nodes_total != 0) {
    const int left = limits.max_nodes_total - limits.current_nodes;
    max_nodes_ = Tighter(max_nodes_, limits.max_nodes_total > 0 && left > 0 ? left : -1);
  }
}

bool Limiter::MayAddNode() {
  if (max_nodes_ < 0 || (max_nodes_ > 0 && added_ >= max_nodes_)) return false;
  if (max_duration_ > Duration::zero() && clock_.Now() > start_ + max_duration_) return false;
  ++added_;
  return true;
}

}  // namespace coppice::pack
