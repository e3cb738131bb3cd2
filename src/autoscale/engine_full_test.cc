// Options of the engine that need a whole pass to be seen: what they change, and that they change
// it.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <string>
#include <vector>

#include "cluster/fake_writer.h"
#include "test/support/engine_rig.h"

namespace coppice::autoscale {
namespace {

using std::chrono::seconds;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Key;
using ::testing::Not;

// Keeps work until it is told to do it, so that a test sees what is asked for at the same time.
class HeldWorkers final : public Workers {
 public:
  Status Submit(std::function<void()> work) override {
    held.push_back(std::move(work));
    most = std::max(most, held.size());
    return Status::Ok();
  }
  void Do() {
    while (!held.empty()) {
      const auto work = std::move(held.front());
      held.pop_front();
      work();
    }
  }
  std::deque<std::function<void()>> held;
  size_t most = 0;
};

// An API server that takes two seconds for a change, which is in the model when it answers.
class WaitingWriter final : public cluster::Writer {
 public:
  WaitingWriter(Executor& executor, cluster::World& world) : executor_(executor), world_(world) {}
  Task<Status> ChangeNode(std::string node, cluster::NodeChange change) override {
    co_await executor_.Sleep(seconds(2));
    model::Node changed = *world_.FindNode(node);
    for (const model::Taint& taint : change.add_taints) changed.spec.taints.push_back(taint);
    world_.UpsertNode(std::make_shared<const model::Node>(std::move(changed)));
    co_return Status::Ok();
  }
  Task<Status> Evict(cluster::PodName, int64_t) override { co_return Status::Ok(); }
  Task<Result<std::optional<std::string>>> WhereIs(cluster::PodName) override {
    co_return Result<std::optional<std::string>>(std::nullopt);
  }
  void Emit(cluster::Event) override {}

 private:
  Executor& executor_;
  cluster::World& world_;
};

using EngineOptionsTest = test::EngineRig;

TEST_F(EngineOptionsTest, ParallelScaleUpAsksForAllGroupsAtOnce) {
  for (const bool parallel : {false, true}) {
    HeldWorkers workers;
    if (groups_.Groups().empty()) {
      AddGroup("a", 5);
      AddGroup("b", 5);
      for (int i = 0; i < 4; ++i) AddPod("pod-" + std::to_string(i), "cpu", 3);
    }
    Assemble({"--balance-similar-node-groups",
              parallel ? "--parallel-scale-up" : "--parallel-scale-up=false"},
             workers, writer_);
    bool done = false;
    const auto pass = [&]() -> Task<void> {
      const auto report = co_await assembly_->engine().Pass(clock_.Now());
      EXPECT_EQ(report->scale_up.resizes.size(), 2U);
      done = true;
    };
    executor_.Spawn(pass());
    for (int i = 0; i < 20 && !done; ++i) {
      executor_.RunUntilIdle();
      workers.Do();
    }
    EXPECT_TRUE(done);
    EXPECT_EQ(workers.most, parallel ? 2U : 1U);
    for (const char* id : {"a", "b"})
      groups_.Change(id, [](cloud::FakeNodeGroups::Group& g) { g.target = 0; });
  }
}

// Seen on a real cluster: while the cloud was asked what it has, the scheduler bound a pod and a
// user deleted another.
TEST_F(EngineOptionsTest, PodsThatAreBoundOrGoWhileTheCloudIsAskedAreNobodysBusiness) {
  AddGroup("web", 5, 1);
  AddNode("web-1", "web");
  HeldWorkers workers;
  Assemble({}, workers, writer_);
  std::shared_ptr<const report::PassReport> report;
  const auto pass = [&]() -> Task<void> {
    report = co_await assembly_->engine().Pass(clock_.Now());
  };
  const auto finish = [&] {
    for (int i = 0; i < 20 && !report; ++i) {
      workers.Do();
      executor_.RunUntilIdle();
    }
  };
  executor_.Spawn(pass());
  executor_.RunUntilIdle();
  finish();  // the first one is special: it takes old marks away, and plans as if they were there
  ASSERT_NE(std::exchange(report, nullptr), nullptr);

  AddPod("bound", "cpu", 3);
  AddPod("deleted", "cpu", 3);
  AddPod("waits", "cpu", 3);
  executor_.Spawn(pass());
  executor_.RunUntilIdle();
  ASSERT_EQ(workers.held.size(), 1U);  // the refresh
  model::Pod bound = *world_.FindPod("default", "bound");
  bound.spec.node_name = "web-1";
  world_.UpsertPod(std::make_shared<const model::Pod>(std::move(bound)));
  world_.DeletePod("default", "deleted");
  finish();
  ASSERT_NE(report, nullptr);
  ASSERT_EQ(report->scale_up.triggered.size(), 1U);
  EXPECT_EQ(report->scale_up.triggered[0]->metadata.name, "waits");
}

// Seen on a real cluster: a provider knows nothing before it was asked for the first time.
TEST_F(EngineOptionsTest, MarksOfAProcessBeforeUsGoAlsoIfTheProviderHadToBeAskedFirst) {
  AddGroup("web", 5, 1);
  model::Node marked = test::ANode("web-1", "zone-web", clock_.Now() - std::chrono::hours(1));
  marked.spec.unschedulable = true;
  marked.spec.taints.push_back({.key = "ToBeDeletedByClusterAutoscaler", .effect = "NoSchedule"});
  world_.UpsertNode(std::make_shared<const model::Node>(std::move(marked)));
  cluster::FakeWriter writer(clock_);
  HeldWorkers workers;
  Assemble({}, workers, writer);
  bool done = false;
  const auto pass = [&]() -> Task<void> {
    const auto report = co_await assembly_->engine().Pass(clock_.Now());
    done = true;
  };
  executor_.Spawn(pass());
  executor_.RunUntilIdle();
  ASSERT_EQ(workers.held.size(), 1U);  // the refresh, with which it learns of its machine
  groups_.Change("web", [](cloud::FakeNodeGroups::Group& g) {
    g.instances.push_back({.id = "fake://web-1", .state = cloud::InstanceState::kRunning});
  });
  for (int i = 0; i < 20 && !done; ++i) {
    workers.Do();
    executor_.RunUntilIdle();
  }
  ASSERT_TRUE(done);
  ASSERT_FALSE(writer.changes.empty());
  EXPECT_EQ(writer.changes[0].first, "web-1");
  EXPECT_THAT(writer.changes[0].second.remove_taints, Contains("ToBeDeletedByClusterAutoscaler"));
  EXPECT_EQ(writer.changes[0].second.unschedulable, false);
}

TEST_F(EngineOptionsTest, ASkippedGroupIsAskedWhetherItWouldHaveTakenThePods) {
  AddGroup("full", 0);
  AddPod("huge", "cpu", 100);
  Assemble({"--upstream-exact"}, inline_, writer_);
  auto unhelped = Pass()->scale_up.unhelped;
  ASSERT_EQ(unhelped.size(), 1U);
  EXPECT_THAT(*unhelped[0].skipped, Contains(Key("full")));
  Assemble({"--upstream-exact", "--scaleup-simulation-for-skipped-node-groups-enabled"}, inline_,
           writer_);
  unhelped = Pass()->scale_up.unhelped;
  ASSERT_EQ(unhelped.size(), 1U);
  EXPECT_THAT(*unhelped[0].skipped, Not(Contains(Key("full"))));
  EXPECT_THAT(unhelped[0].rejected, Contains(Key("full")));
}

TEST_F(EngineOptionsTest, WhatWouldHaveHelpedIsLookedForAsOftenAsExplainChecksSays) {
  AddGroup("web", 5);
  AddPod("huge", "cpu", 100);
  Assemble({}, inline_, writer_);
  EXPECT_EQ(Pass()->scale_up.unhelped.at(0).misses.size(), 1U);
  Assemble({"--explain-checks=0"}, inline_, writer_);
  EXPECT_EQ(Pass()->scale_up.unhelped.at(0).misses.size(), 0U);
}

TEST_F(EngineOptionsTest, TpusAreNoReasonAgainstANode) {
  AddGroup("web", 5);
  AddPod("trainer", "cloud-tpus.google.com/v3", 8);
  AddPod("other", "example.com/widget", 8);
  Assemble({"--upstream-exact"}, inline_, writer_);
  const auto report = Pass();
  ASSERT_EQ(report->scale_up.triggered.size(), 1U);
  EXPECT_EQ(report->scale_up.triggered[0]->metadata.name, "trainer");
}

TEST_F(EngineOptionsTest, AMachineThatTheProviderDoesNotCallTheGroupsIsNotDeleted) {
  WaitingWriter slow(executor_, world_);  // the mark is in the view, so that no other fuse holds
  BeginDeletion({}, slow);
  groups_.Map("fake://web-1", "somebody-elses");
  executor_.RunFor(std::chrono::minutes(1));
  EXPECT_EQ(CallsOf("Delete"), 0U);
  const auto outcomes = Pass()->scale_down.outcomes;
  ASSERT_EQ(outcomes.size(), 1U);
  EXPECT_THAT(outcomes[0].error, HasSubstr("somebody-elses"));
}

TEST_F(EngineOptionsTest, WithoutFusesUpstreamsTrustIsKept) {
  BeginDeletion({"--fuses=false"}, writer_);
  groups_.Map("fake://web-1", "somebody-elses");
  executor_.RunFor(std::chrono::minutes(1));
  EXPECT_EQ(CallsOf("Delete"), 1U);
}

// Tainting takes two seconds: twice that is waited for, instead of five.
TEST_F(EngineOptionsTest, TheWaitAfterATaintCanFollowTheApiServer) {
  WaitingWriter slow(executor_, world_);
  BeginDeletion({"--dynamic-node-delete-delay-after-taint-enabled"}, slow);
  executor_.RunFor(std::chrono::milliseconds(4'500));
  EXPECT_EQ(CallsOf("Delete"), 1U);
}

TEST_F(EngineOptionsTest, ByDefaultTheWaitIsFixed) {
  WaitingWriter slow(executor_, world_);
  BeginDeletion({}, slow);
  executor_.RunFor(std::chrono::milliseconds(4'500));
  EXPECT_EQ(CallsOf("Delete"), 0U);
  executor_.RunFor(seconds(1));
  EXPECT_EQ(CallsOf("Delete"), 1U);
}

// The API server's clock is ahead of ours.
TEST_F(EngineOptionsTest, APodOfTheFutureIsBoughtForAtOnceUnlessUpstreamIsToBeRepeated) {
  AddGroup("web", 5);
  AddPod("early", "cpu", 1);
  model::Pod pod = *world_.FindPod("default", "early");
  pod.metadata.creation_timestamp = model::Time{clock_.Now() + std::chrono::hours(1)};
  world_.UpsertPod(std::make_shared<const model::Pod>(pod));
  Assemble({"--debounce-new-pods=false"}, inline_, writer_);
  EXPECT_NE(Pass()->scale_up.result, report::ScaleUpResult::kSuccessful);
  Assemble({"--new-pod-scale-up-delay=10s"}, inline_, writer_);
  EXPECT_NE(Pass()->scale_up.result, report::ScaleUpResult::kSuccessful);
  Assemble({}, inline_, writer_);
  EXPECT_EQ(Pass()->scale_up.result, report::ScaleUpResult::kSuccessful);
}

}  // namespace
}  // namespace coppice::autoscale
