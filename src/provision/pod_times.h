// PodTimes: how long pods wait, for Karpenter's metrics about them.
//
// Three moments are kept per pod: when it was first seen waiting, when a solve first had it, and
// since when every solve finds a place for it. They go when it has started, ended or gone. How long
// it took is read from the pod's own conditions, so that it does not matter how often is looked.
//
// Decision thread.

#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "provision/context.h"

namespace coppice::provision {

class PodTimes {
 public:
  explicit PodTimes(Context& context) : context_(context) {}

  struct Times {
    std::optional<TimePoint> seen;         // waiting
    std::optional<TimePoint> decided;      // whether there is a place for it
    std::optional<TimePoint> schedulable;  // since then, without a break
    bool is_pending = false;               // until it is ready
    bool is_unbound = false;
    uint64_t look = 0;
    std::string namespace_;
    std::string name;
  };
  using ByUid = std::map<std::string, Times, std::less<>>;

  void Seen(const model::Pod& pod, TimePoint now);
  void Decided(const model::Pod& pod, bool has_place, TimePoint now);
  // All that are pending; how others fare that were, the World knows.
  void Look(const std::vector<PodPtr>& pending);

  const ByUid& all() const { return times_; }

 private:
  Times& TimesOf(const model::Pod& pod);
  void Started(const model::Pod& pod, Times& times);
  void Bound(const model::Pod& pod, Times& times);

  Context& context_;
  ByUid times_;
  uint64_t look_ = 0;
};

const model::PodCondition* ConditionOf(const model::Pod& pod, std::string_view type);

}  // namespace coppice::provision
