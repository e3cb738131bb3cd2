// drift: the hash of a pool's template, and why a claim has drifted from its pool. Of hashes only
// equality is promised to others; ours are the peer's own numbers.

#include <string>

#include "model/node_claim.h"
#include "model/node_pool.h"
#include "provision/disruption/drift.h"
#include "test/replay/karpenter.h"
#include "test/replay/karpenter_world.h"
#include "test/replay/objects.h"
#include "test/replay/replay.h"

namespace coppice::replay {

void drift(const Json& c, Report& report) {
  const auto before = Object<model::NodePool>(c.at("nodePoolAtLaunch"));
  const auto pool = Object<model::NodePool>(c.at("nodePool"));
  auto claim = Object<model::NodeClaim>(c.at("nodeClaim"));
  const TimePoint now = NowOf(c);
  const provision::DriftRules rules{.labels = RecordedLabels(),
                                    .reserved_labels = {kReservationLabel}};
  std::string reason(provision::PoolDrift(pool, claim, rules));
  if (reason.empty() && provision::IsDueForTypeDrift(claim, now)) {
    reason = provision::TypeDrift(*Catalog(c.at("catalog")), claim, rules);
  }
  if (reason.empty()) reason = c.value("providerReason", "");
  provision::SetDrifted(claim, reason, now);
  const auto* drifted = model::FindCondition(claim.status.conditions, model::karpenter::kDrifted);
  const Json ours = {{"hashAtLaunch", model::HashOf(before)},
                     {"hash", model::HashOf(pool)},
                     {"hashesEqual", model::HashOf(before) == model::HashOf(pool)},
                     {"driftReason", drifted == nullptr ? "" : drifted->reason}};
  const Json& expect = c.at("expect");
  for (const auto& [key, value] : ours.items()) {
    if (expect.at(key) != value) report.Differs(key, expect.at(key).dump(), value.dump());
  }
}

}  // namespace coppice::replay
