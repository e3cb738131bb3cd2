#include "autoscale/taints.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace coppice::autoscale {
namespace {

using ::testing::ElementsAre;

TEST(TaintsTest, ATimeIsReadOnlyFromAWholeNumberOfSeconds) {
  model::Node node;
  EXPECT_FALSE(HasToBeDeletedTaint(node));
  EXPECT_EQ(TaintTime(node, kToBeDeletedTaint), std::nullopt);
  node.spec.taints.push_back({.key = std::string(kToBeDeletedTaint), .value = "1700000000"});
  EXPECT_TRUE(HasToBeDeletedTaint(node));
  EXPECT_EQ(TaintTime(node, kToBeDeletedTaint), TimePoint(std::chrono::seconds(1'700'000'000)));
  for (const char* value : {"", "soon", "17000x", " 1"}) {
    node.spec.taints[0].value = value;
    EXPECT_EQ(TaintTime(node, kToBeDeletedTaint), std::nullopt) << value;
  }
}

TEST(TaintsTest, WhatAFreshNodeOfTheKindWouldNotHaveIsTakenOff) {
  Options options;
  options.startup_taint = {"cni/agent-not-ready"};
  options.startup_taint_prefix = {"boot.example/"};
  options.status_taint = {"example.com/maintenance"};
  const TaintConfig config(options);
  const std::vector<model::Taint> taints = {
      {.key = "dedicated", .value = "ml"},
      {.key = std::string(kToBeDeletedTaint)},
      {.key = std::string(kDeletionCandidateTaint)},
      {.key = "node.kubernetes.io/not-ready"},
      {.key = "node.cloudprovider.kubernetes.io/uninitialized"},
      {.key = "cni/agent-not-ready"},
      {.key = "boot.example/disk"},
      {.key = "startup-taint.cluster-autoscaler.kubernetes.io/x"},
      {.key = "ignore-taint.cluster-autoscaler.kubernetes.io/x"},
      {.key = "status-taint.cluster-autoscaler.kubernetes.io/x"},
      {.key = "example.com/maintenance"},
      {.key = "example.com/maintenance-2"},
  };
  std::vector<std::string> kept;
  for (const model::Taint& taint : config.Sanitize(taints)) kept.push_back(taint.key);
  EXPECT_THAT(kept, ElementsAre("dedicated", "example.com/maintenance-2"));
}

TEST(TaintsTest, AStartupTaintIsNoStatusTaint) {
  Options options;
  options.startup_taint = {"a"};
  options.status_taint = {"b"};
  const TaintConfig config(options);
  EXPECT_TRUE(config.IsStartupTaint("a"));
  EXPECT_FALSE(config.IsStartupTaint("b"));
  EXPECT_TRUE(config.IsStatusTaint("b"));
  EXPECT_FALSE(config.IsStatusTaint("a"));
  model::Node node;
  node.spec.taints = {{.key = "b"}};
  EXPECT_FALSE(config.HasStartupTaint(node));
  node.spec.taints.push_back({.key = "a"});
  EXPECT_TRUE(config.HasStartupTaint(node));
}

}  // namespace
}  // namespace coppice::autoscale
