// budgets: what a pool's disruption budgets allow for each reason at a given time.

#include <algorithm>

#include "model/node_pool.h"
#include "provision/disruption/budgets.h"
#include "test/replay/karpenter_world.h"
#include "test/replay/objects.h"
#include "test/replay/replay.h"

namespace coppice::replay {

void budgets(const Json& c, Report& report) {
  Json object = {{"spec", {{"disruption", {{"budgets", c.at("budgets")}}}}}};
  const auto pool = Object<model::NodePool>(object);
  const TimePoint now = NowOf(c);
  const int64_t nodes = c.at("nodes");
  const int64_t disrupting = c.at("disrupting");
  Json ours = {{"invalid", false},
               {"active", Json::array()},
               {"allowed", Json::object()},
               {"remaining", Json::object()}};
  for (const char* reason :
       {provision::kUnderutilized, provision::kEmpty, provision::kDriftedReason}) {
    const auto allowed = provision::AllowedDisruptions(pool, reason, nodes, now);
    if (!allowed.ok()) ours["invalid"] = true;
    const int64_t count = allowed.ok() ? *allowed : 0;
    ours["allowed"][reason] = count;
    ours["remaining"][reason] = std::max<int64_t>(0, count - disrupting);
  }
  if (pool.spec.disruption.budgets) {
    for (const auto& budget : *pool.spec.disruption.budgets) {
      const auto active = provision::IsActive(budget, now);
      ours["active"].push_back(active.ok() && *active);
    }
  }
  const Json& expect = c.at("expect");
  for (const auto& [key, value] : ours.items()) {
    if (expect.at(key) != value) report.Differs(key, expect.at(key).dump(), value.dump());
  }
}

}  // namespace coppice::replay
