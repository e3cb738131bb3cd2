// What the tests of node pools on a real control plane have in common: the definitions of
// deploy/crds, the rights of the chart's node pools, a NodeClass and NodePools on the emulated
// cloud, whose machines come with the taint that a kubelet of a pool registers with.

#pragma once

#include <map>
#include <string>
#include <vector>

#include "test/e2e/cluster_rig.h"

namespace coppice::test {

// A NodeClass `default` of the emulated cloud.
std::string Class(const std::string& image, const std::string& more = "");
// A NodePool on it. `disruption` is what stands in its braces; `more` is YAML at the level of the
// template's spec.
std::string Pool(const std::string& name, const std::string& disruption,
                 const std::string& more = "", const std::string& metadata = "");

// "True", "False", "Unknown", or "" where there is none.
std::string ConditionOf(const nlohmann::json& object, const std::string& type);

class PoolsTest : public ClusterTest {
 protected:
  void SetUp() override;
  void TearDown() override;
  std::string CloudConfig() const override { return "clusterTag: e2e\n"; }
  std::vector<std::string> CloudArguments() override;

  nlohmann::json Claims();
  // How many claims have the condition.
  int ClaimsThatAre(const std::string& condition);
  // Claim and machine belong together one to one, every claim is initialised, every node is
  // somebody's.
  void ExpectOneMachinePerClaim();
  void Scale(const std::string& app, int replicas);
  std::map<std::string, int> PodsPerNode(const std::string& app);
  std::string NodeLabel(const std::string& node, const std::string& label);

 private:
  // Finalizers of who is not there any more keep nothing.
  void Sweep(const std::string& path);
};

}  // namespace coppice::test
