// The API server of a recorded autoscaler case: objects in list order, evictions that work at once,
// are refused or hang, as the recordings' README says. Every write is recorded with the virtual
// time.

#pragma once

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "cluster/world.h"
#include "cluster/writer.h"
#include "test/replay/case_groups.h"
#include "test/replay/replay.h"

namespace coppice::replay {

class CaseCluster final : public cluster::Writer {
 public:
  CaseCluster(cluster::World& world, CaseGroups& groups, const Json& c,
              std::function<void(Json)> record);

  void Apply(const Json& change);

  Task<Status> ChangeNode(std::string node, cluster::NodeChange change) override;
  Task<Status> Evict(cluster::PodName pod, int64_t grace_period_seconds) override;
  Task<Result<std::optional<std::string>>> WhereIs(cluster::PodName pod) override;
  void Emit(cluster::Event event) override;

  std::vector<cluster::Event> TakeEvents() { return std::exchange(events_, {}); }

 private:
  cluster::PodPtr Live(const std::string& namespace_, const std::string& name) const;

  cluster::World& world_;
  CaseGroups& groups_;
  std::function<void(Json)> record_;
  std::set<std::string> refused_;
  std::set<std::string> stuck_;
  std::set<std::string> evicted_;  // gone, though the world may only hear of it later
  std::vector<cluster::Event> events_;
};

}  // namespace coppice::replay
