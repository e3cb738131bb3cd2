// What the tests on a real control plane have in common: etcd, API server, scheduler and
// controllers as Kubernetes ships them, kubelets played by kwok, one of each for all tests of a
// program; a cloud over HTTP whose machines become nodes; and `coppice` as a child process with no
// more rights than upstream's chart grants. Skipped where test/upstream/build.sh has not been run.

#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/clock.h"
#include "test/e2e/api_client.h"
#include "test/e2e/child.h"
#include "test/e2e/played_cloud.h"
#include "test/support/test_certificates.h"

namespace coppice::test {

class ControlPlane {
 public:
  // Null: it has not been built. One that does not come up fails the test.
  static ControlPlane* Get();

  std::string kubeconfig(const std::string& user) const {
    return dir_.At("rig/pki/" + user + ".kubeconfig");
  }
  // kill -9 of one of its processes, and a start.
  void Restart(const std::string& name) const;
  // The same in two steps.
  void Kill(const std::string& name) const;
  bool Ready() const;  // the API server answers
  // What kubectl printed; "" when it failed.
  std::string Kubectl(std::vector<std::string> args) const;
  void Apply(const std::string& manifest) const;
  ApiClient& api() const { return *api_; }

 private:
  ControlPlane();
  void Run(const std::string& verb, const std::string& name) const;
  TempDirectory dir_;
  std::unique_ptr<ApiClient> api_;
};

// A Deployment of pods of half a core; `more` is YAML at the level of the pod's spec.
std::string Deployment(const std::string& name, int replicas, const std::string& more = "");
std::string Budget(const std::string& app, const std::string& rule);

class ClusterTest : public testing::Test {
 protected:
  void SetUp() override;
  void TearDown() override;

  // Another configuration of the cloud than the standard one of a group `pool`.
  virtual std::string CloudConfig() const;
  // The arguments that upstream's chart renders, and shorter times.
  virtual std::vector<std::string> CloudArguments();
  Child& Start(const std::string& identity, std::vector<std::string> more = {},
               const std::string& kubeconfig = "");
  Child& StartAndSync(const std::string& identity, std::vector<std::string> more = {});

  nlohmann::json Pods(const std::string& app);
  nlohmann::json Nodes();
  int Running(const std::string& app);
  // The messages of events about the object, newest last, each as "Reason: text".
  std::vector<std::string> Events(const std::string& name);
  bool Until(const std::function<bool()>& done, Duration limit);
  double Since(TimePoint start);

  SystemClock clock_;
  TempDirectory dir_;
  ControlPlane* rig_ = nullptr;
  std::unique_ptr<PlayedCloud> cloud_;
  std::vector<std::unique_ptr<Child>> replicas_;
};

}  // namespace coppice::test
