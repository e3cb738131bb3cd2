#include "batch/engine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "test/batch/batch_cluster.h"

namespace coppice {
namespace {

using namespace std::chrono_literals;
using test::BatchCluster;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

constexpr std::string_view kPlain = R"(actions: "enqueue, allocate, backfill"
tiers:
- plugins:
  - name: priority
  - name: gang
  - name: conformance
- plugins:
  - name: overcommit
  - name: drf
  - name: predicates
  - name: proportion
  - name: nodeorder
)";

// What must hold whatever happens.
void ExpectNobodyTwiceAndNothingOverfull(const BatchCluster& cluster) {
  std::map<std::string, std::string> node_of;
  for (const std::string& binding : cluster.bindings) {
    const std::string pod = binding.substr(0, binding.find(" -> "));
    EXPECT_TRUE(node_of.emplace(pod, binding).second) << pod << " was bound twice";
  }
  std::map<std::string, double> used;
  for (const auto& [key, pod] : cluster.pods) {
    if (!pod.spec.node_name.empty()) used[pod.spec.node_name] += batch::PodRequest(pod).cpu;
  }
  cluster.seen->ForEachNode([&](const cluster::NodePtr& node) {
    EXPECT_LE(used[node->metadata.name], batch::Resource::From(node->status.allocatable).cpu + 0.1)
        << node->metadata.name;
  });
}

TEST(BatchEngine, StartsAGangWholeAndSaysSo) {
  BatchCluster cluster;
  cluster.Queue("default");
  cluster.Node("a", "4");
  cluster.Node("b", "4");
  cluster.Gang("gang", 4, "2");
  cluster.Start(kPlain);
  cluster.Run(500ms);
  EXPECT_EQ(cluster.Bound("gang"), 4);
  cluster.Run(5s);
  EXPECT_EQ(cluster.PhaseOf("gang"), "Running");
  EXPECT_EQ(cluster.engine->assumed(), 0u);
  EXPECT_EQ(cluster.engine->under_way(), 0u);
  ExpectNobodyTwiceAndNothingOverfull(cluster);
}

TEST(BatchEngine, AReportSaysWhatQueuesDeserveAndHold) {
  BatchCluster cluster;
  cluster.Queue("default");
  cluster.Queue("empty");
  cluster.Node("a", "8");
  cluster.Gang("gang", 2, "2");
  cluster.Gang("late", 4, "2");
  cluster.Start(kPlain);
  cluster.Run(3s);
  const std::vector<report::SessionReport::Queue>& queues = cluster.reports.back()->queues;
  ASSERT_THAT(queues, SizeIs(2));
  EXPECT_EQ(queues[0].name, "default");
  EXPECT_EQ(queues[0].state, "Open");
  const auto cpu =
      std::ranges::find(queues[0].amounts, "cpu", &report::SessionReport::Amount::resource);
  ASSERT_NE(cpu, queues[0].amounts.end());
  EXPECT_EQ(cpu->held, 4000);
  EXPECT_EQ(cpu->deserved, 8000) << "all of the cluster, for the other queue asks for nothing";
  EXPECT_EQ(cpu->most, -1) << "no capability was set";
  EXPECT_DOUBLE_EQ(queues[0].share, 0.5);
  EXPECT_EQ(queues[1].share, -1) << "nobody has worked out a share of a queue without jobs";
}

TEST(BatchEngine, AReportSaysSoOfQueuesWithACapacityToo) {
  BatchCluster cluster;
  cluster.Create({"scheduling.volcano.sh/v1beta1", "queues", "", "default"},
                 R"({"kind":"Queue","spec":{"weight":1,"deserved":{"cpu":"8"},)"
                 R"("capability":{"cpu":"16"}},"status":{"state":"Open"}})");
  cluster.Node("a", "8");
  cluster.Gang("gang", 2, "2");
  cluster.Gang("late", 4, "2");
  std::string conf(kPlain);
  conf.replace(conf.find("proportion"), std::string_view("proportion").size(), "capacity");
  cluster.Start(conf);
  cluster.Run(3s);
  const std::vector<report::SessionReport::Queue>& queues = cluster.reports.back()->queues;
  const auto queue = std::ranges::find(queues, "default", &report::SessionReport::Queue::name);
  ASSERT_NE(queue, queues.end());
  const auto cpu =
      std::ranges::find(queue->amounts, "cpu", &report::SessionReport::Amount::resource);
  ASSERT_NE(cpu, queue->amounts.end());
  EXPECT_EQ(cpu->held, 4000);
  EXPECT_EQ(cpu->deserved, 8000);
  EXPECT_EQ(cpu->most, 16000);
  EXPECT_DOUBLE_EQ(queue->share, 0.5);
}

TEST(BatchEngine, AGangThatDoesNotFitStartsNobodyAndIsHandedToWhoeverBuys) {
  struct Keeps final : batch::WaitingJobs {
    void SessionEnded(const std::vector<batch::WaitingJob>& jobs, TimePoint) override {
      last = jobs;
    }
    std::vector<batch::WaitingJob> last;
  } keeps;
  BatchCluster cluster;
  cluster.waiting = &keeps;
  cluster.Queue("default");
  cluster.Node("a", "4");
  cluster.Gang("gang", 4, "2");
  cluster.Start(kPlain);
  cluster.Run(3s);
  EXPECT_THAT(cluster.bindings, IsEmpty());
  ASSERT_THAT(keeps.last, SizeIs(1));
  EXPECT_EQ(keeps.last[0].id, "ns/gang");
  EXPECT_TRUE(keeps.last[0].admitted);
  EXPECT_THAT(keeps.last[0].tasks, SizeIs(4));
  EXPECT_NE(keeps.last[0].why.find("queue default may not hold"), std::string::npos)
      << keeps.last[0].why;
  cluster.Node("b", "4");
  cluster.Run(2s);
  EXPECT_EQ(cluster.Bound("gang"), 4);
  cluster.Run(2s);
  EXPECT_THAT(keeps.last, IsEmpty());
}

TEST(BatchEngine, NewsAreActedOnWithinATenthOfASecondAndNotMoreOften) {
  BatchCluster cluster;
  cluster.Queue("default");
  cluster.Node("a", "64");
  cluster.Start(kPlain);
  cluster.Run(10s);
  const size_t quiet = cluster.reports.size();
  EXPECT_LE(quiet, 12u);  // one a second
  cluster.Gang("gang", 1, "1");
  cluster.Run(150ms);
  EXPECT_EQ(cluster.Bound("gang"), 1);
  for (int i = 0; i < 200; ++i) {
    cluster.Gang("g" + std::to_string(i), 1, "10m");
    cluster.Run(5ms);
  }
  EXPECT_LE(cluster.reports.size(), quiet + 15);
}

TEST(BatchEngine, ABindingThatIsRefusedIsForgottenAndTriedAgainLater) {
  BatchCluster cluster;
  cluster.Queue("default");
  cluster.Node("a", "4");
  cluster.Gang("gang", 2, "1");
  int refusals = 2;
  cluster.before_bind = [&](const cluster::PodName& pod) {
    if (pod.name != "gang-w-1" || refusals == 0) return Status::Ok();
    --refusals;
    return PermissionDenied("an admission hook says no");
  };
  cluster.Start(kPlain);
  cluster.Run(500ms);
  EXPECT_EQ(cluster.NodeOf("gang-w-1"), "");
  const auto& conditions = cluster.pods.at("ns/gang-w-1").status.conditions;
  ASSERT_THAT(conditions, SizeIs(1));
  EXPECT_EQ(conditions[0].reason, "SchedulerError");
  cluster.Run(10s);
  EXPECT_EQ(cluster.Bound("gang"), 2);
  ExpectNobodyTwiceAndNothingOverfull(cluster);
}

TEST(BatchEngine, AnAnswerThatIsLostDoesNotBindTwiceNorGiveTheRoomAway) {
  BatchCluster cluster;
  cluster.Queue("default");
  cluster.Node("a", "2");
  cluster.watch_delay = 300ms;
  cluster.Gang("gang", 2, "1");
  cluster.Gang("other", 2, "1");
  cluster.answer_of_bind_is_lost = true;
  cluster.Start(kPlain);
  cluster.Run(350ms);
  cluster.answer_of_bind_is_lost = false;
  cluster.Run(10s);
  EXPECT_EQ(cluster.Bound("gang") + cluster.Bound("other"), 2);
  ExpectNobodyTwiceAndNothingOverfull(cluster);
}

TEST(BatchEngine, WhileTheApiServerIsAwayNothingIsLostAndNothingIsGivenAway) {
  BatchCluster cluster;
  cluster.Queue("default");
  cluster.Node("a", "4");
  cluster.Gang("gang", 4, "1");
  cluster.Start(kPlain);
  cluster.Run(20ms);
  cluster.away = true;
  cluster.Run(60s);
  cluster.Gang("late", 4, "1");
  cluster.Run(5s);
  EXPECT_THAT(cluster.bindings, IsEmpty());
  EXPECT_EQ(cluster.engine->assumed(), 4u);
  cluster.away = false;
  cluster.Run(30s);
  EXPECT_EQ(cluster.Bound("gang"), 4);
  EXPECT_EQ(cluster.Bound("late"), 0);
  EXPECT_EQ(cluster.PhaseOf("gang"), "Running");
  ExpectNobodyTwiceAndNothingOverfull(cluster);
}

TEST(BatchEngine, AProcessThatDiesWhileItBindsIsFollowedByOneThatGoesOn) {
  for (int bound_before = 0; bound_before <= 8; ++bound_before) {
    BatchCluster cluster;
    cluster.Queue("default");
    for (const char* node : {"a", "b", "c", "d"}) cluster.Node(node, "2");
    cluster.Gang("gang", 8, "1");
    int left = bound_before;
    cluster.before_bind = [&](const cluster::PodName&) {
      return left-- > 0 ? Status::Ok() : Unavailable("it dies here");
    };
    cluster.Start(kPlain);
    cluster.Run(150ms);
    cluster.Kill();
    EXPECT_EQ(cluster.Bound("gang"), bound_before);
    cluster.before_bind = nullptr;
    cluster.Start(kPlain);
    cluster.Run(30s);
    EXPECT_EQ(cluster.Bound("gang"), 8) << bound_before;
    ExpectNobodyTwiceAndNothingOverfull(cluster);
  }
}

TEST(BatchEngine, APodThatIsGoneWhenItsTurnComesIsNotBroughtBack) {
  BatchCluster cluster;
  cluster.Queue("default");
  cluster.Node("a", "4");
  cluster.watch_delay = 50ms;
  cluster.Gang("gang", 1, "1");
  cluster.Start(kPlain);
  cluster.Run(60ms);
  cluster.RemovePod("ns/gang-w-0");
  cluster.Run(5s);
  EXPECT_THAT(cluster.engine->world().Pods(), IsEmpty());
  EXPECT_EQ(cluster.engine->assumed(), 0u);
}

TEST(BatchEngine, ALongSessionRunsElsewhere) {
  class Counts final : public Workers {
   public:
    Status Submit(std::function<void()> work) override {
      ++calls;
      work();
      return Status::Ok();
    }
    int calls = 0;
  } workers;
  BatchCluster cluster;
  cluster.Queue("default");
  cluster.Node("a", "64");
  cluster.Gang("gang", 4, "1");
  cluster.Start(kPlain, {.most_tasks_here = 3}, &workers);
  cluster.Run(1s);
  EXPECT_EQ(cluster.Bound("gang"), 4);
  EXPECT_EQ(workers.calls, 1);
}

// A session on a worker, during which the world moves on.
TEST(BatchEngine, AGangOfWhichOnePodIsGoneWhenTheSessionEndsDoesNotStartInPart) {
  class Meanwhile final : public Workers {
   public:
    Status Submit(std::function<void()> work) override {
      work();
      if (happens) std::exchange(happens, nullptr)();
      return Status::Ok();
    }
    std::function<void()> happens;
  } workers;
  for (const int min : {4, 3}) {
    BatchCluster cluster;
    cluster.Queue("default");
    cluster.Node("a", "64");
    cluster.Gang("gang", 4, "1", "default", min);
    cluster.Run(20ms);
    workers.happens = [&] { cluster.seen->DeletePod("ns", "gang-w-2"); };
    cluster.Start(kPlain, {.most_tasks_here = 3}, &workers);
    cluster.Run(90ms);
    ASSERT_FALSE(cluster.reports.empty());
    const auto& refused = cluster.reports.front()->refused;
    EXPECT_EQ(cluster.Bound("gang"), min == 4 ? 0 : 3);
    EXPECT_EQ(refused.size(), min == 4 ? 4u : 1u);
    ASSERT_FALSE(refused.empty());
    const bool for_the_gang =
        refused.front().why.find("another pod of its gang") != std::string::npos;
    EXPECT_EQ(for_the_gang, min == 4) << refused.front().why;
  }
}

constexpr std::string_view kPreempts = R"(actions: "enqueue, allocate, preempt, reclaim, backfill"
tiers:
- plugins:
  - name: priority
  - name: gang
  - name: conformance
- plugins:
  - name: predicates
  - name: proportion
  - name: nodeorder
)";

TEST(BatchEngine, WhoHasToGoIsToldOnceAndTheNewcomerGetsTheRoom) {
  BatchCluster cluster;
  cluster.Queue("default");
  cluster.Node("a", "4");
  auto high = std::make_shared<model::PriorityClass>();
  high->metadata.name = "high";
  high->value = 100;
  cluster.seen->Upsert<model::PriorityClass>(high);
  cluster.Gang("low", 4, "1", "default", 1);
  cluster.Start(kPreempts);
  cluster.Run(5s);
  ASSERT_EQ(cluster.Bound("low"), 4);
  cluster.Group("urgent", 2, "default", "", "high");
  cluster.Pod("urgent-w-0", "urgent", "1", 100);
  cluster.Pod("urgent-w-1", "urgent", "1", 100);
  cluster.Run(10s);
  EXPECT_EQ(cluster.Bound("urgent"), 2);
  EXPECT_THAT(std::set<std::string>(cluster.deleted.begin(), cluster.deleted.end()), SizeIs(2));
  EXPECT_THAT(cluster.deleted, SizeIs(2));
  ExpectNobodyTwiceAndNothingOverfull(cluster);
}

TEST(BatchEngine, ABoundPodThatCannotBeReadHoldsItsRoomAndIsNotEvicted) {
  BatchCluster cluster;
  cluster.Queue("default");
  cluster.Node("a", "4");
  auto high = std::make_shared<model::PriorityClass>();
  high->metadata.name = "high";
  high->value = 100;
  cluster.seen->Upsert<model::PriorityClass>(high);
  cluster.Gang("low", 2, "2", "default", 1);
  const auto set_readable = [&](bool readable) {
    for (const char* name : {"ns/low-w-0", "ns/low-w-1"}) {
      model::Pod pod = cluster.pods.at(name);
      pod.spec.node_name = "a";
      pod.status.phase = "Running";
      pod.metadata.unreadable.reset();
      if (!readable)
        pod.metadata.unreadable = model::Unreadable{.what = "spec: odd", .reason = "malformed"};
      cluster.PutPod(std::move(pod));
    }
  };
  set_readable(false);
  cluster.Start(kPreempts);
  cluster.Run(1s);
  cluster.Group("urgent", 1, "default", "", "high");
  cluster.Pod("urgent-w-0", "urgent", "2", 100);
  cluster.Run(10s);
  EXPECT_EQ(cluster.NodeOf("urgent-w-0"), "") << "its room is not free";
  EXPECT_THAT(cluster.deleted, IsEmpty());
  set_readable(true);
  cluster.Run(10s);
  EXPECT_THAT(cluster.deleted, SizeIs(1)) << "without that one would have had to go";
  EXPECT_EQ(cluster.NodeOf("urgent-w-0"), "a");
}

TEST(BatchEngine, OnAStaleViewNobodyIsBoundOrEvictedAndThePassFails) {
  BatchCluster cluster;
  cluster.Queue("default");
  cluster.Node("a", "4");
  cluster.Start(kPlain);
  cluster.Run(1s);
  cluster.stale = "the view of the cluster is stale";
  cluster.Gang("gang", 2, "2");
  cluster.Run(5s);
  EXPECT_EQ(cluster.Bound("gang"), 0);
  ASSERT_FALSE(cluster.reports.empty());
  EXPECT_EQ(cluster.reports.back()->error, "the view of the cluster is stale");
  cluster.stale = "";
  cluster.Run(2s);
  EXPECT_EQ(cluster.Bound("gang"), 2);
  EXPECT_EQ(cluster.reports.back()->error, "");
}

TEST(BatchEngine, OnAStaleViewNothingIsBoughtEither) {
  struct Buyer final : batch::WaitingJobs {
    void SessionEnded(const std::vector<batch::WaitingJob>& jobs, TimePoint) override {
      asked += jobs.size();
    }
    size_t asked = 0;
  } buyer;
  BatchCluster cluster;
  cluster.waiting = &buyer;
  cluster.Queue("default");
  cluster.Node("a", "1");
  cluster.stale = "the view of the cluster is stale";
  cluster.Gang("gang", 2, "2");
  cluster.Start(kPlain);
  cluster.Run(5s);
  EXPECT_EQ(buyer.asked, 0U);
  cluster.stale = "";
  cluster.Run(2s);
  EXPECT_GT(buyer.asked, 0U);
}

TEST(BatchEngine, TwoQueuesShareByWeightAndTakeBackWhatIsTheirs) {
  BatchCluster cluster;
  cluster.Queue("default");
  cluster.Queue("one", 1);
  cluster.Queue("three", 3);
  cluster.Node("a", "8");
  cluster.Gang("first", 8, "1", "one", 1);
  cluster.Start(kPreempts);
  cluster.Run(5s);
  EXPECT_EQ(cluster.Bound("first"), 8);
  cluster.Gang("second", 8, "1", "three", 6);
  cluster.Run(30s);
  EXPECT_EQ(cluster.Bound("first"), 2);
  EXPECT_EQ(cluster.Bound("second"), 6);
  ExpectNobodyTwiceAndNothingOverfull(cluster);
}

// ---- Bindings by somebody else.

// What the delegate of the test does with a binding.
std::function<Status(const batch::Outcome::Bind&)>& DelegateDoes() {
  static std::function<Status(const batch::Outcome::Bind&)> does;
  return does;
}

class TestDelegate final : public batch::BindDelegate {
 public:
  explicit TestDelegate(bool ignorable) : ignorable_(ignorable) {}
  Status Bind(const batch::Outcome::Bind& bind) const override { return DelegateDoes()(bind); }
  bool ignorable() const override { return ignorable_; }
  std::string name() const override { return "the delegate"; }

 private:
  const bool ignorable_;
};

class DelegatingPlugin final : public batch::Plugin {
 public:
  explicit DelegatingPlugin(const batch::Arguments& arguments) {
    arguments.Get("ignorable", ignorable_);
  }
  Status Open(batch::Session& session, batch::Slots&) override {
    session.AddBinder([delegate = std::make_shared<const TestDelegate>(ignorable_)](
                          const batch::Task&) { return delegate; });
    return Status::Ok();
  }

 private:
  bool ignorable_ = false;
};

struct DelegatedBinding : testing::Test {
  DelegatedBinding() {
    auto& plugins = test::TheBatchPlugins().batch;
    if (!plugins.Has("delegating")) plugins.Add("delegating", batch::FactoryOf<DelegatingPlugin>());
    cluster.Queue("default");
    cluster.Node("a", "4");
    cluster.Gang("gang", 1, "2");
  }
  void Start(bool ignorable = false) {
    cluster.Start(std::string(kPlain) + "  - name: delegating\n    arguments: {ignorable: " +
                  (ignorable ? "true" : "false") + "}\n");
  }
  // As the delegate's own client would.
  void PutOnNode(const batch::Outcome::Bind& bind) {
    model::Pod pod = cluster.pods.at(bind.pod.key());
    pod.spec.node_name = bind.node;
    cluster.PutPod(std::move(pod));
  }
  BatchCluster cluster;
};

TEST_F(DelegatedBinding, IsTheDelegatesBusinessAlone) {
  int asked = 0;
  DelegateDoes() = [&](const batch::Outcome::Bind& bind) {
    ++asked;
    PutOnNode(bind);
    return Status::Ok();
  };
  Start();
  cluster.Run(5s);
  EXPECT_EQ(cluster.NodeOf("gang-w-0"), "a");
  EXPECT_EQ(asked, 1);
  EXPECT_THAT(cluster.bindings, IsEmpty());
  EXPECT_EQ(cluster.engine->assumed(), 0u);
}

TEST_F(DelegatedBinding, ARefusalIsAFailureAndIsTriedAgainLater) {
  int asked = 0;
  DelegateDoes() = [&](const batch::Outcome::Bind& bind) {
    if (++asked == 1) return FailedPrecondition("no licence");
    PutOnNode(bind);
    return Status::Ok();
  };
  Start();
  cluster.Run(500ms);
  EXPECT_EQ(cluster.NodeOf("gang-w-0"), "");
  EXPECT_TRUE(
      std::ranges::any_of(cluster.pods.at("ns/gang-w-0").status.conditions, [](const auto& c) {
        return c.message.find("the delegate: no licence") != std::string::npos;
      }));
  cluster.Run(10s);
  EXPECT_EQ(cluster.NodeOf("gang-w-0"), "a");
  EXPECT_EQ(asked, 2);
}

TEST_F(DelegatedBinding, WithoutAnAnswerWhatTheServerHasCounts) {
  int asked = 0;
  DelegateDoes() = [&](const batch::Outcome::Bind& bind) {
    ++asked;
    PutOnNode(bind);
    return Unavailable("connection reset");
  };
  Start();
  cluster.Run(5s);
  EXPECT_EQ(cluster.NodeOf("gang-w-0"), "a");
  EXPECT_EQ(asked, 1);
  EXPECT_THAT(cluster.bindings, IsEmpty());
  EXPECT_EQ(cluster.engine->assumed(), 0u);
}

TEST_F(DelegatedBinding, AnIgnorableDelegateThatCannotBeHadIsPassedOver) {
  DelegateDoes() = [](const batch::Outcome::Bind&) { return Unavailable("nobody there"); };
  Start(true);
  cluster.Run(5s);
  EXPECT_THAT(cluster.bindings, ElementsAre("gang-w-0 -> a"));
}

TEST_F(DelegatedBinding, AWordThatIsNotKeptIsAFailureAfterAWhile) {
  DelegateDoes() = [](const batch::Outcome::Bind&) { return Status::Ok(); };
  Start();
  cluster.Run(20s);
  EXPECT_EQ(cluster.engine->assumed(), 1u);
  cluster.Run(20s);
  EXPECT_EQ(cluster.NodeOf("gang-w-0"), "");
  EXPECT_TRUE(
      std::ranges::any_of(cluster.pods.at("ns/gang-w-0").status.conditions, [](const auto& c) {
        return c.message.find("says that it has bound the pod") != std::string::npos;
      }));
}

// Writes to a pod on which node it was placed.
class NotingPlugin final : public batch::Plugin, batch::EventHandler {
 public:
  Status Open(batch::Session& session, batch::Slots&) override {
    session_ = &session;
    session.AddEventHandler(*this);
    return Status::Ok();
  }
  void OnAllocate(batch::Event& event) override {
    session_->AnnotateBinding(event.task, "example.com/seat", "4b");
  }
  void OnDeallocate(batch::Event&) override {}

 private:
  batch::Session* session_ = nullptr;
};

TEST(BatchEngine, WhatAPluginWritesToAPodComesWithItsBinding) {
  auto& plugins = test::TheBatchPlugins().batch;
  if (!plugins.Has("noting")) plugins.Add("noting", batch::FactoryOf<NotingPlugin>());
  BatchCluster cluster;
  cluster.Queue("default");
  cluster.Node("a", "4");
  cluster.Gang("gang", 1, "2");
  cluster.Start(std::string(kPlain) + "  - name: noting\n");
  cluster.Run(5s);
  const std::string* seat =
      cluster.pods.at("ns/gang-w-0").metadata.annotations.Find("example.com/seat");
  ASSERT_NE(seat, nullptr);
  EXPECT_EQ(*seat, "4b");
}

// The end of a session says of every group that waits how far it has come; that is no answer to why.
TEST(BatchEngine, WhatAPluginRefusesAGroupForIsTheReasonAndIsToldOnce) {
  BatchCluster cluster;
  cluster.Queue("default");
  cluster.Node("a", "4");
  cluster.Group("big", 1, "default", "100");
  cluster.Pod("big-w-0", "big", "100");
  cluster.Start(kPlain);
  cluster.Run(30s);
  ASSERT_THAT(cluster.reports.back()->waiting, SizeIs(1));
  EXPECT_EQ(cluster.reports.back()->waiting[0].why,
            "resource in cluster is overused: overused cpu");
  std::map<std::string, int> told;
  for (const cluster::Event& event : cluster.events)
    ++told[event.kind + " " + event.reason + " " + event.type];
  EXPECT_EQ(told["PodGroup Unschedulable Normal"], 1) << "two texts in turns are told every time";
  EXPECT_EQ(told["PodGroup Unschedulable Warning"], 1);
}

}  // namespace
}  // namespace coppice
