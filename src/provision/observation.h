// Observation: Karpenter's metrics about what there is, as opposed to those about what was done,
// which are counted where it is done.
//
// Off with --disable-cluster-state-observability. Decision thread.

#pragma once

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "provision/condition_times.h"
#include "provision/pod_times.h"
#include "provision/state_page.h"

namespace coppice::provision {

class Observation {
 public:
  explicit Observation(Context& context);

  // Once per pass; what has to be copied is copied every few seconds.
  void Look(const std::vector<ClaimPtr>& claims, TimePoint now);
  // Every claim that is not about to go has a machine, and the provider has been read.
  void Synced(const std::vector<ClaimPtr>& claims, bool provider_is_known, TimePoint now);
  // A machine whose price is not known counts nothing in its pool's cost.
  void Priced(const std::vector<report::ClaimState>& claims);

  PodTimes times;

 private:
  bool IsOn() const {
    return context_.options().observe_cluster_state && context_.parts.metric_sources != nullptr;
  }

  std::vector<PodPtr> CopyPods(ClusterState& state);

  Context& context_;
  ConditionTimes conditions_;
  const std::shared_ptr<StatePage> page_;
  TimePoint next_ = TimePoint::min();
  TimePoint synced_at_ = TimePoint::min();
  std::set<std::string> unpriced_;  // claims, told once
};

}  // namespace coppice::provision
