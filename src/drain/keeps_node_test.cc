#include "drain/keeps_node.h"

#include <gtest/gtest.h>

namespace coppice::drain {
namespace {

constexpr int32_t kCutoff = -10;

model::Pod Named(const std::string& name) {
  model::Pod pod;
  pod.metadata.name = name;
  pod.status.phase = "Running";
  return pod;
}

std::string Keeps(const std::vector<model::Pod>& pods) {
  std::vector<cluster::LivePod> live;
  for (const model::Pod& pod : pods) live.push_back(std::make_shared<const model::Pod>(pod));
  const cluster::LivePod kept = KeepsNode(live, kCutoff);
  return kept == nullptr ? "" : kept->metadata.name;
}

TEST(KeepsNodeTest, AnOrdinaryPodKeepsItsNodeAndTheFirstIsNamed) {
  EXPECT_EQ(Keeps({}), "");
  EXPECT_EQ(Keeps({Named("a"), Named("b")}), "a");
}

TEST(KeepsNodeTest, WhatDiesWithTheNodeOrIsAboutToEndDoesNot) {
  model::Pod mirror = Named("mirror");
  mirror.metadata.annotations["kubernetes.io/config.mirror"] = "m";
  model::Pod daemon = Named("daemon");
  daemon.metadata.owner_references = {
      {.api_version = "apps/v1", .kind = "DaemonSet", .name = "d", .controller = true}};
  model::Pod going = Named("going");
  going.metadata.deletion_timestamp = model::Time{};
  model::Pod done = Named("done");
  done.status.phase = "Succeeded";
  model::Pod failed = Named("failed");
  failed.status.phase = "Failed";
  EXPECT_EQ(Keeps({mirror, daemon, going, done, failed}), "");
  EXPECT_EQ(Keeps({mirror, daemon, going, done, failed, Named("last")}), "last");
}

TEST(KeepsNodeTest, APodBelowTheCutoffDoesNotAndOneAtItDoes) {
  model::Pod low = Named("low");
  low.spec.priority = kCutoff - 1;
  EXPECT_EQ(Keeps({low}), "");
  low.spec.priority = kCutoff;
  EXPECT_EQ(Keeps({low}), "low");
}

TEST(KeepsNodeTest, WhatCannotBeReadKeepsItWhateverItSeemsToBe) {
  model::Pod odd = Named("odd");
  odd.status.phase = "Succeeded";
  odd.metadata.unreadable = model::Unreadable{.what = "spec", .reason = "malformed"};
  EXPECT_EQ(Keeps({odd}), "odd");
}

}  // namespace
}  // namespace coppice::drain
