// No fork is open while a pass has given up the thread: whole passes on a provider, an expander and
// an API server whose every answer takes a while, and somebody who looks all the time.

#include <gmock/gmock.h>

#include "autoscale/plain_engine_rig.h"

namespace coppice::autoscale {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Not;

constexpr Duration kAnswerTakes = seconds(1);

// Each piece of work is done after a while.
class SlowWorkers final : public Workers {
 public:
  explicit SlowWorkers(Executor& executor) : executor_(executor) {}
  Status Submit(std::function<void()> work) override {
    executor_.Spawn(Later(executor_, std::move(work)));
    return Status::Ok();
  }

 private:
  static Task<void> Later(Executor& executor, std::function<void()> work) {
    co_await executor.Sleep(kAnswerTakes);
    work();
  }
  Executor& executor_;
};

class SlowWriter final : public cluster::Writer {
 public:
  explicit SlowWriter(Executor& executor) : executor_(executor) {}
  size_t writes = 0;

  Task<Status> ChangeNode(std::string, cluster::NodeChange) override {
    ++writes;
    co_await executor_.Sleep(kAnswerTakes);
    co_return Status::Ok();
  }
  Task<Status> Evict(cluster::PodName, int64_t) override {
    ++writes;
    co_await executor_.Sleep(kAnswerTakes);
    co_return Status::Ok();
  }
  Task<Result<std::optional<std::string>>> WhereIs(cluster::PodName) override {
    co_await executor_.Sleep(kAnswerTakes);
    co_return Result<std::optional<std::string>>(std::nullopt);
  }
  void Emit(cluster::Event) override {}

 private:
  Executor& executor_;
};

class NoOpenForkTest : public PlainEngineRig, public testing::WithParamInterface<bool> {
 protected:
  static bool exact() { return GetParam(); }

  void Start(std::vector<std::string> args) {
    args.insert(args.end(), {"--expander=asks", "--order-patience=0s",
                             "--scale-down-unneeded-time=1m", "--scale-down-delay-after-add=0s"});
    if (exact()) args.insert(args.begin(), "--upstream-exact");
    Assemble(args, workers_, slow_);
    executor_.Spawn(Look());
  }
  // Many times while each answer is under way.
  Task<void> Look() {
    for (;;) {
      ++looks_;
      if (world_.snapshot().forks() != 0) ++open_forks_;
      co_await executor_.Sleep(milliseconds(100));
    }
  }
  Task<void> PodComes() {
    co_await executor_.Sleep(milliseconds(1500));  // the refresh takes one second
    AddPod("came", "cpu", 3, "web-1");
  }
  std::shared_ptr<const report::PassReport> WatchedPass() {
    const TimePoint began = clock_.Now();
    auto report = Pass();
    EXPECT_GT(clock_.Now(), began) << "nothing was waited for";
    EXPECT_EQ(world_.snapshot().forks(), 0U);
    return report;
  }

  SlowWorkers workers_{executor_};
  SlowWriter slow_{executor_};
  size_t looks_ = 0;
  size_t open_forks_ = 0;
};

TEST_P(NoOpenForkTest, WhileNodesAreBoughtInSeveralRounds) {
  AddGroup("web", 10, 1);
  AddGroup("big", 10, 0);
  AddNode("web-1", "web");
  AddPod("fits", "cpu", 1);
  for (int i = 0; i < 3; ++i) AddPod("large-" + std::to_string(i), "cpu", 3);
  AddPod("too-large", "cpu", 64);
  Start({"--salvo-scale-up"});
  const auto first = WatchedPass();
  EXPECT_EQ(first->scale_up.unhelped.size() + first->earlier_rounds.size(), 2U);
  // Stand-ins for what is on its way, and pods on them.
  clock_.Advance(seconds(20));
  const auto second = WatchedPass();
  EXPECT_THAT(second->upcoming, Not(IsEmpty()));
  EXPECT_GE(expander_asked_, 1);
  EXPECT_GT(looks_, 20U);
  EXPECT_EQ(open_forks_, 0U);
}

TEST_P(NoOpenForkTest, WhileNodesAreEmptiedAndDeleted) {
  AddGroup("web", 10, 3);
  for (const char* name : {"web-1", "web-2", "web-3"}) AddNode(name, "web");
  AddPod("a", "cpu", 1, "web-1");
  AddPod("b", "cpu", 3, "web-2");
  AddPod("pending", "cpu", 64);  // keeps the expander's stage busy, and helps nobody
  Start({"--max-drain-parallelism=5", "--max-scale-down-parallelism=5"});
  WatchedPass();
  clock_.Advance(minutes(2));
  const auto report = WatchedPass();
  EXPECT_EQ(report->scale_down.result, report::ScaleDownResult::kNodeDeleteStarted);
  executor_.RunFor(minutes(3));
  EXPECT_GT(slow_.writes, 0U);
  EXPECT_GT(CallsOf("Delete"), 0U);
  EXPECT_GT(looks_, 20U);
  EXPECT_EQ(open_forks_, 0U);
}

TEST_P(NoOpenForkTest, WhileWhatWentWrongIsRepaired) {
  AddGroup("web", 10, 2);
  AddNode("web-1", "web");
  groups_.Change("web", [](cloud::FakeNodeGroups::Group& g) {
    g.instances.push_back({.id = "fake://never", .state = cloud::InstanceState::kRunning});
  });
  AddPod("large", "cpu", 3);
  Start({"--max-node-provision-time=5m"});
  WatchedPass();
  clock_.Advance(minutes(10));
  const auto report = WatchedPass();
  EXPECT_EQ(report->unregistered_removed, 1);
  EXPECT_EQ(open_forks_, 0U);
}

// The world goes on while the expander thinks: by default the next stage knows, upstream's does
// not.
TEST_P(NoOpenForkTest, WhatComesWhileAStageWaitsIsKnownToTheNextOneUnlessUpstreamIsFollowed) {
  AddGroup("web", 10, 1);
  AddNode("web-1", "web");
  AddPod("large", "cpu", 5);
  AddGroup("big", 1, 0);
  groups_.Change("big", [](cloud::FakeNodeGroups::Group& g) {
    model::Node node = *g.node_template;
    node.status.allocatable["cpu"] = model::Quantity::FromUnits(8);
    g.node_template = std::make_shared<const model::Node>(std::move(node));
  });
  Start({});
  executor_.Spawn(PodComes());
  const auto report = WatchedPass();
  ASSERT_EQ(expander_asked_, 1) << "and not before the pod came";
  if (exact()) {
    EXPECT_THAT(report->scale_down.unneeded, ElementsAre("web-1"));
  } else {
    EXPECT_THAT(report->scale_down.unneeded, IsEmpty());
  }
  EXPECT_EQ(open_forks_, 0U);
}

INSTANTIATE_TEST_SUITE_P(Both, NoOpenForkTest, testing::Bool(), [](const auto& flags) {
  return flags.param ? "UpstreamExact" : "ByDefault";
});

}  // namespace
}  // namespace coppice::autoscale
