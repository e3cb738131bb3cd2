// What the tests of the batch scheduler on a real control plane have in common: the definitions of
// deploy/crds, the rights that the chart grants with batch.enabled, nodes that kwok plays, gangs,
// queues, and `coppice` as vc-scheduler or beside node groups.

#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "test/e2e/provider_rig.h"

namespace coppice::test {

struct GangSpec {
  std::string name;
  int size = 1;
  int min = -1;  // -1: all of them
  std::string cpu = "1";
  std::string queue = "default";
  std::string priority_class = {};
  std::string annotations = {};  // of each pod: YAML, "key: value, key: value"
};
// A PodGroup and its pods.
std::string Gang(const GangSpec& gang);
std::string QueueOf(const std::string& name, int weight, const std::string& more = "");

// The plug-ins of a usual configuration, with the actions named and `more` YAML at the end.
std::string BatchConf(const std::string& actions, const std::string& more = "");

// Definitions and rights for whatever test has a control plane.
void AllowBatch(ControlPlane& rig);
// Groups, jobs, queues and priority classes go.
void SweepBatch(ControlPlane& rig);

// Where every pod has ever been seen: none may be on two nodes.
class Bindings {
 public:
  explicit Bindings(ControlPlane& rig) : rig_(rig) {}
  // How many pods of the gang are bound.
  int Look(const std::string& gang);
  // Requests on no node exceed what it has.
  void ExpectRoom(const nlohmann::json& nodes);
  size_t seen() const { return node_of_.size(); }

 private:
  ControlPlane& rig_;
  std::map<std::string, std::string> node_of_;  // by uid
};

// The scheduler alone, on nodes of the test.
class BatchTest : public ClusterTest {
 protected:
  void SetUp() override;
  void TearDown() override;

  // Nodes `name-0` and on, of `cpu` cores each.
  void AddNodes(const std::string& name, int count, int cpu);
  // As vc-scheduler, which has synced. With all controllers.
  Child& Schedule(const std::string& identity, const std::string& conf,
                  std::vector<std::string> more = {}, bool wait = true);
  std::string PhaseOf(const std::string& group);
};

}  // namespace coppice::test
