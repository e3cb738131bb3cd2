#include "host/sight.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "kube/test_rig.h"

namespace coppice::host {
namespace {

using testing::HasSubstr;
using testing::Not;

class SightTest : public testing::Test {
 protected:
  std::string Ask(const std::string& name, const std::string& value) const {
    net::ServerRequest request;
    request.query = {{name, value}};
    return sight_.Explain(request);
  }

  Metrics metrics_;
  std::vector<kube::ClusterFeed::UnreadableObject> unreadable_;
  Sight sight_{{.unreadable = [this] { return unreadable_; },
                .view_age = [] { return std::chrono::seconds(3); },
                .ages =
                    [] {
                      return std::vector<kube::ClusterFeed::KindAge>{
                          {.kind = "Pod", .synced = true, .age = std::chrono::seconds(7)}};
                    },
                .reads =
                    [] {
                      return std::vector<Sight::Sources::Reads>{
                          {.kind = "Pod", .lists = 2, .watches = 3, .objects = 5}};
                    }},
               metrics_};
};

TEST_F(SightTest, WhatCannotBeReadIsCountedByKindAndReason) {
  const model::Unreadable quantity{.what = "spec: 1e5000", .reason = "quantity"};
  unreadable_ = {{"Pod", "ns/a", quantity},
                 {"Pod", "ns/b", quantity},
                 {"NodePool", "/web", {.what = "spec.limits: x", .reason = "malformed"}}};
  sight_.Look();
  std::string page = metrics_.Render();
  EXPECT_THAT(page, HasSubstr("coppice_unreadable_objects{kind=\"Pod\",reason=\"quantity\"} 2"));
  EXPECT_THAT(page,
              HasSubstr("coppice_unreadable_objects{kind=\"NodePool\",reason=\"malformed\"} 1"));
  unreadable_.clear();
  sight_.Look();
  page = metrics_.Render();
  EXPECT_THAT(page, HasSubstr("coppice_unreadable_objects{kind=\"Pod\",reason=\"quantity\"} 0"));
}

TEST_F(SightTest, AgesAndReadsAreTold) {
  sight_.Look();
  sight_.BeforeMetrics();
  const std::string page = metrics_.Render();
  EXPECT_THAT(page, HasSubstr("coppice_view_age_seconds 3"));
  EXPECT_THAT(page, HasSubstr("coppice_kind_age_seconds{kind=\"Pod\"} 7"));
  EXPECT_THAT(page, HasSubstr("coppice_lists{kind=\"Pod\"} 2"));
  EXPECT_THAT(page, HasSubstr("coppice_watches{kind=\"Pod\"} 3"));
  EXPECT_THAT(page, HasSubstr("coppice_objects{kind=\"Pod\"} 5"));
}

TEST_F(SightTest, WhoAsksAboutAPodOrANodeIsToldUntilItCanBeRead) {
  unreadable_ = {{"Pod", "default/odd", {.what = "spec.overhead[cpu]: no quantity"}},
                 {"Node", "/n1", {.what = "a time out of range"}}};
  sight_.Look();
  EXPECT_THAT(Ask("pod", "default/odd"), HasSubstr("spec.overhead[cpu]: no quantity"));
  EXPECT_THAT(Ask("node", "n1"), HasSubstr("a time out of range"));
  EXPECT_EQ(Ask("pod", "default/other"), "");
  EXPECT_EQ(Ask("node", "default/odd"), "");
  unreadable_.clear();
  sight_.Look();
  EXPECT_EQ(Ask("pod", "default/odd"), "");
}

// Two that are read of one kind: those that have ended are read apart from the others.
TEST(SightOfFeedTest, TwoReflectorsOfOneKindAreToldApart) {
  kube::TestRig rig;
  cluster::World world;
  rig.server.Put("/api/v1/pods", "Pod", "live", {{"status", {{"phase", "Running"}}}}, "ns");
  kube::ClusterFeed feed({}, world, *rig.client, rig.log);
  cluster::ObjectStore<model::Pod> ended;
  const kube::Reflector& second =
      feed.Add<model::Pod>(ended, {.field_selector = "status.phase!=Running", .name = "EndedPod"});
  feed.Start();
  ASSERT_TRUE(rig.Until([&] {
    return second.synced() && std::ranges::any_of(feed.reflectors(), [](const auto& r) {
             return r->kind() == "Pod" && r->size() == 1;
           });
  })) << feed.Missing();
  Metrics metrics;
  Sight sight(SightOf(feed), metrics);
  sight.Look();
  sight.BeforeMetrics();
  const std::string page = metrics.Render();
  EXPECT_THAT(page, HasSubstr("coppice_objects{kind=\"Pod\"} 1"));
  EXPECT_THAT(page, HasSubstr("coppice_objects{kind=\"EndedPod\"} 0"));
  EXPECT_THAT(page, HasSubstr("coppice_kind_age_seconds{kind=\"Pod\"}"));
  EXPECT_THAT(page, HasSubstr("coppice_kind_age_seconds{kind=\"EndedPod\"}"));
}

}  // namespace
}  // namespace coppice::host
