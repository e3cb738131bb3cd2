// The loop wakes when something is due: with a scan interval of an hour everything still happens on
// time.

#include "whatif/model_loop.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "app/main.h"
#include "test/support/must.h"

namespace coppice::whatif {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

class ModelLoopTest : public testing::Test {
 protected:
  ModelLoopTest() {
    app::RegisterDiscoveredPlugins(plugins_);
    filters_ = std::make_unique<fit::Chain>(MUST(fit::Chain::Create(plugins_.filters, {})));
  }

  void Start(int nodes, std::vector<std::string> more = {}) {
    std::vector<std::string> args = {"--scan-interval=1h", "--scale-down-delay-after-add=0s",
                                     "--scale-down-unneeded-time=7m"};
    args.insert(args.end(), more.begin(), more.end());
    flags_ = MUST(autoscale::ParseFlags(args));
    yaml::Problems problems;
    auto cloud = MUST(plugins_.clouds.Make(
        "simulated", cloud::CloudContext{clock_, rng_, log_, metrics_, yaml::Node(), problems}));
    cloud::GroupConfig group;
    group.name = "pool";
    group.max_size = 40;
    group.flavor = "medium-4-16";
    group.zone = "north1";
    cloud::GroupConfig other = group;
    other.name = "other";
    other.zone = "north2";
    model_ = MUST(sim::Model::Create({.clock = clock_,
                                      .filters = *filters_,
                                      .cloud = std::move(cloud),
                                      .groups = {group, other}}));
    for (int i = 0; i < nodes; ++i)
      ASSERT_TRUE(model_->AddNode("pool", "pool-" + std::to_string(i), clock_.Now()).ok());
    host_ = MUST(ModelHost::Create({.model = *model_,
                                    .clock = clock_,
                                    .plugins = plugins_,
                                    .flags = flags_,
                                    .log = log_,
                                    .metrics = metrics_,
                                    .audit = [this](const cloud::AuditEntry& entry) {
                                      audit_.emplace_back(clock_.Now(), entry);
                                    }}));
    loop_ = std::make_unique<ModelLoop>(*host_, *model_, clock_, flags_);
    loop_->Next(clock_.Now() + seconds(1));
  }
  void AddPods(const std::string& name, int replicas, int64_t cpu_millis,
               std::map<std::string, std::string> annotations = {}, const std::string& node = "") {
    sim::WorkloadSpec spec;
    spec.name = name;
    spec.replicas = replicas;
    model::Container container;
    container.resources.requests["cpu"] = model::Quantity::FromMillis(cpu_millis);
    spec.pod.spec.containers.push_back(container);
    for (auto& [key, value] : annotations) spec.pod.metadata.annotations[key] = value;
    if (!node.empty()) spec.pod.spec.node_selector["kubernetes.io/hostname"] = node;
    model_->controllers.Add(spec);
  }
  void RunFor(Duration time) {
    const TimePoint end = clock_.Now() + time;
    while (loop_->Next(end)) ++passes_;
  }
  // When the action was asked of the cloud for the nth time.
  std::optional<Duration> When(const std::string& action, TimePoint since, size_t nth = 1) {
    for (const auto& [at, entry] : audit_) {
      if (entry.action == action && at >= since && --nth == 0) return at - since;
    }
    return std::nullopt;
  }

  app::Plugins plugins_;
  FakeClock clock_;
  SeededRng rng_{1};
  Metrics metrics_;
  Log log_ = Log::Null();
  std::unique_ptr<fit::Chain> filters_;
  autoscale::FlagValues flags_;
  std::unique_ptr<sim::Model> model_;
  std::unique_ptr<ModelHost> host_;
  std::unique_ptr<ModelLoop> loop_;
  std::vector<std::pair<TimePoint, cloud::AuditEntry>> audit_;
  int passes_ = 0;
};

TEST_F(ModelLoopTest, PodsAreBoughtForAsTheyCome) {
  Start(1);
  RunFor(minutes(20));
  const TimePoint came = clock_.Now();
  AddPods("web", 20, 1000);
  RunFor(minutes(3));
  const auto ordered = When("increase", came);
  ASSERT_TRUE(ordered);
  EXPECT_LE(*ordered, seconds(2));
  EXPECT_EQ(model_->Pending().size(), 0U);
}

TEST_F(ModelLoopTest, APodThatAsksForADelayIsBoughtForWhenItIsOver) {
  Start(1);
  AddPods("first", 1, 3500);
  RunFor(seconds(30));
  const TimePoint came = clock_.Now();
  AddPods("late", 1, 3500, {{"cluster-autoscaler.kubernetes.io/pod-scale-up-delay", "40s"}});
  AddPods("soon", 1, 3500);
  RunFor(minutes(5));
  const auto first = When("increase", came);
  const auto second = When("increase", came, 2);
  ASSERT_TRUE(first && second);
  EXPECT_LE(*first, seconds(2));
  EXPECT_GE(*second, seconds(40));  // before the first machine is up, or it would take that
  EXPECT_LE(*second, seconds(41));
}

TEST_F(ModelLoopTest, NodesGoWhenTheirTimeHasComeAndNextOnesWhenThereIsRoom) {
  Start(14);
  AddPods("web", 14, 3500);
  RunFor(minutes(20));
  const TimePoint scaled = clock_.Now();
  model_->controllers.Scale("web", 0);
  const int before = passes_;
  RunFor(minutes(30));
  const auto first = When("delete", scaled);
  ASSERT_TRUE(first);
  // Pods end in five seconds, seven minutes unneeded, five seconds between taint and deletion.
  EXPECT_GE(*first, minutes(7) + seconds(10));
  EXPECT_LE(*first, minutes(7) + seconds(12));
  const auto last = When("delete", scaled, 14);
  ASSERT_TRUE(last);
  EXPECT_LE(*last, *first + seconds(7));
  EXPECT_LE(passes_ - before, 60);
}

TEST_F(ModelLoopTest, AMachineThatNeverJoinsIsReplacedWhenItsTimeIsOver) {
  Start(1, {"--max-node-provision-time=6m"});
  bool joins = false;
  model_->machines.joins_after = [&](const cloud::Machine&) -> std::optional<Duration> {
    if (!joins) return std::nullopt;
    return seconds(15);
  };
  const TimePoint came = clock_.Now();
  AddPods("web", 4, 3500);
  RunFor(minutes(5));
  joins = true;
  RunFor(minutes(5));
  const auto removed = When("delete", came);
  ASSERT_TRUE(removed);
  EXPECT_LE(*removed, minutes(6) + seconds(25));
  EXPECT_EQ(model_->Pending().size(), 0U);
}

TEST_F(ModelLoopTest, AGroupThatFailedIsAskedAgainWhenItsBackOffEnds) {
  Start(1, {"--initial-node-group-backoff-duration=4m"});
  const TimePoint came = clock_.Now();
  model_->cloud.hooks.before_create = [&](const cloud::MachineSpec&) {
    return clock_.Now() < came + minutes(2)
               ? Status(Code::kResourceExhausted, "none left of this flavor")
               : Status::Ok();
  };
  AddPods("web", 4, 3500);
  RunFor(minutes(1));
  ASSERT_TRUE(When("increase", came, 2));  // both groups were tried at once
  EXPECT_LE(*When("increase", came, 2), seconds(3));
  audit_.clear();
  RunFor(minutes(6));
  const auto again = When("increase", came);
  ASSERT_TRUE(again);
  EXPECT_GE(*again, minutes(4));
  EXPECT_LE(*again, minutes(4) + seconds(3));
  EXPECT_EQ(model_->Pending().size(), 0U);
}

TEST_F(ModelLoopTest, TheCoolDownAfterAScaleUpEndsOnTime) {
  Start(3, {"--scale-down-delay-after-add=12m", "--scale-down-unneeded-time=1m"});
  AddPods("small", 1, 100);
  const TimePoint came = clock_.Now();
  AddPods("web", 30, 1000);
  RunFor(minutes(3));
  model_->controllers.Scale("web", 0);
  RunFor(minutes(20));
  const auto gone = When("delete", came);
  ASSERT_TRUE(gone);
  EXPECT_GE(*gone, minutes(12));
  EXPECT_LE(*gone, minutes(12) + seconds(12));
}

TEST_F(ModelLoopTest, AnUnreadyNodeGoesWhenItsOwnTimeHasCome) {
  Start(3, {"--scale-down-unneeded-time=3h", "--scale-down-unready-time=9m"});
  AddPods("web", 3, 3500);
  RunFor(minutes(20));  // beyond the limit up to which a node that is not ready may yet come up
  const TimePoint broke = clock_.Now();
  model_->machines.SetReady("pool-1", false);
  model_->controllers.Scale("web", 0);
  RunFor(minutes(30));
  const auto gone = When("delete", broke);
  ASSERT_TRUE(gone);
  // Pods end in five seconds, then nine minutes, five seconds between taint and deletion.
  EXPECT_GE(*gone, minutes(9));
  EXPECT_LE(*gone, minutes(9) + seconds(20));
  EXPECT_FALSE(When("delete", broke, 2)) << "the others are ready, and their time is longer";
}

TEST_F(ModelLoopTest, AYoungNodeThatIsNotReadyIsReckonedWithUntilItsBootLimitAndNoLonger) {
  Start(1, {"--scale-down-enabled=false"});
  AddPods("first", 1, 3500);
  RunFor(seconds(30));
  bool comes_up = false;
  model_->machines.ready_after = [&](const cloud::Machine&) -> std::optional<Duration> {
    if (!comes_up) return std::nullopt;
    return seconds(10);
  };
  const TimePoint came = clock_.Now();
  AddPods("second", 1, 3500);
  RunFor(minutes(10));
  const auto ordered = When("increase", came);
  ASSERT_TRUE(ordered);
  EXPECT_LE(*ordered, seconds(2));
  EXPECT_FALSE(When("increase", came, 2)) << "its node is there and may come up yet";
  comes_up = true;
  RunFor(minutes(20));
  const auto again = When("increase", came, 2);
  ASSERT_TRUE(again);
  EXPECT_GE(*again, minutes(15));
  // From the Node on, which comes a minute after the order.
  EXPECT_LE(*again, minutes(15) + seconds(90));
  EXPECT_EQ(model_->Pending().size(), 0U);
}

TEST_F(ModelLoopTest, AnEmptyNodeIsNoticedWherePodsComeAndGoAllTheTime) {
  Start(2);
  AddPods("stays", 1, 3500);
  AddPods("web", 1, 3000);
  AddPods("churn", 1, 100);
  const auto churn_for = [this](Duration time) {
    const TimePoint end = clock_.Now() + time;
    for (int i = 0; clock_.Now() < end; ++i) {
      model_->controllers.Scale("churn", i % 2);
      RunFor(seconds(2));
    }
  };
  churn_for(minutes(20));
  const TimePoint scaled = clock_.Now();
  model_->controllers.Scale("web", 0);
  churn_for(minutes(1));
  model_->controllers.Scale("churn", 0);
  RunFor(minutes(20));
  const auto gone = When("delete", scaled);
  ASSERT_TRUE(gone);
  EXPECT_LE(*gone, minutes(8) + seconds(30));
}

TEST_F(ModelLoopTest, RoomElsewhereIsLookedForAMinuteAfterItWasNotThere) {
  Start(2);
  const auto hold = [this](const std::string& name, int64_t cpu_millis) {
    AddPods(name, 1, cpu_millis, {{"cluster-autoscaler.kubernetes.io/safe-to-evict", "false"}},
            "pool-1");
  };
  hold("filler", 500);
  hold("large", 3000);
  AddPods("small", 1, 1000);
  const auto no_room = [](const report::StayingNode& staying) {
    return staying.node == "pool-0" && staying.reason == report::StayReason::kNoPlaceToMovePods;
  };
  const TimePoint end = clock_.Now() + minutes(30);
  for (bool found = false; !found;) {
    const auto report = loop_->Next(end);
    ASSERT_NE(report, nullptr);
    found = std::ranges::any_of(report->scale_down.staying, no_room);
  }
  const TimePoint found = clock_.Now();
  model_->controllers.Scale("large", 0);
  RunFor(minutes(20));
  const auto gone = When("delete", found);
  ASSERT_TRUE(gone);
  EXPECT_GE(*gone, minutes(8));
  EXPECT_LE(*gone, minutes(8) + seconds(30));
}

TEST_F(ModelLoopTest, NothingToDoIsNoReasonForAPass) {
  Start(2);
  AddPods("web", 2, 3500);
  RunFor(minutes(10));
  const int before = passes_;
  RunFor(hours(5));
  EXPECT_LE(passes_ - before, 6);
}

}  // namespace
}  // namespace coppice::whatif
