#include "autoscale/tpu.h"

#include <gtest/gtest.h>

namespace coppice::autoscale {
namespace {

model::Pod AskingFor(const std::string& name, const std::string& resource) {
  model::Pod pod;
  pod.metadata.name = name;
  pod.metadata.uid = name;
  pod.spec.containers.resize(1);
  pod.spec.containers[0].resources.requests["cpu"] = model::Quantity::FromUnits(1);
  if (!resource.empty())
    pod.spec.containers[0].resources.requests[resource] = model::Quantity::FromUnits(8);
  return pod;
}

TEST(TpuRequestsTest, APodThatAsksForThemStandsForOneThatDoesNot) {
  cluster::Snapshot snapshot;
  const model::Pod plain = AskingFor("plain", "");
  const model::Pod gpu = AskingFor("gpu", "nvidia.com/gpu");
  const model::Pod tpu = AskingFor("tpu", "cloud-tpus.google.com/v2");
  std::vector<const model::Pod*> objects;
  std::vector<cluster::PodIndex> pods;
  for (const model::Pod* pod : {&plain, &gpu, &tpu}) {
    pods.push_back(snapshot.AddPod(*pod));
    objects.resize(pods.back() + 1);
    objects[pods.back()] = pod;
  }
  int asked = 0;
  const auto object_of = [&](cluster::PodIndex pod) -> const model::Pod& {
    ++asked;
    return *objects[pod];
  };
  TpuRequests requests;
  EXPECT_FALSE(requests.Any({pods[0], pods[1]}, snapshot, object_of));
  EXPECT_TRUE(requests.Any(pods, snapshot, object_of));
  EXPECT_EQ(asked, 3);
  EXPECT_TRUE(requests.Any(pods, snapshot, object_of));
  EXPECT_EQ(asked, 3) << "a shape is looked at once";

  const std::vector<cluster::PodIndex> before = pods;
  const auto fork = snapshot.Fork();
  requests.Forget(pods, snapshot, object_of);
  EXPECT_EQ(pods[0], before[0]);
  EXPECT_EQ(pods[1], before[1]);
  ASSERT_NE(pods[2], before[2]);
  EXPECT_EQ(snapshot.spec(pods[2]).placed.Extended("cloud-tpus.google.com/v2"), 0);
  EXPECT_EQ(snapshot.spec(pods[2]).placed.cpu_millis, 1000);
}

}  // namespace
}  // namespace coppice::autoscale
