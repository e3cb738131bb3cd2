// The batch scheduler on a real control plane, through its everyday life: gangs that start whole,
// queues that share, jobs of Volcano's kind, and machines that are bought for a gang as a whole.

#include <gmock/gmock.h>
#include <signal.h>

#include <algorithm>
#include <iostream>

#include "test/e2e/batch_rig.h"

namespace coppice::test {
namespace {

using Json = nlohmann::json;
using std::chrono::seconds;
using testing::Contains;
using testing::HasSubstr;

constexpr char kPlaces[] = "enqueue, allocate, backfill";
constexpr char kTakes[] = "enqueue, allocate, preempt, reclaim, backfill";
constexpr char kImportance[] = R"(---
apiVersion: scheduling.k8s.io/v1
kind: PriorityClass
metadata: {name: low}
value: 10
---
apiVersion: scheduling.k8s.io/v1
kind: PriorityClass
metadata: {name: high}
value: 1000
)";

class ClusterBatchTest : public BatchTest {
 protected:
  void Delete(const std::string& gang) {
    rig_->Kubectl({"delete", "podgroups.scheduling.volcano.sh", gang, "-n", "default"});
    rig_->Kubectl({"delete", "pods", "-l", "app=" + gang, "-n", "default", "--wait=false"});
  }
};

TEST_F(ClusterBatchTest, GangsStartWholeOrNotAtAll) {
  AddNodes("n", 2, 4);
  Schedule("a", BatchConf(kPlaces));
  rig_->Apply(Gang({.name = "red", .size = 6}) + Gang({.name = "blue", .size = 6}));
  Bindings bindings(*rig_);
  ASSERT_TRUE(Until([&] { return Running("red") == 6 || Running("blue") == 6; }, seconds(30)));
  const std::string first = Running("red") == 6 ? "red" : "blue";
  const std::string second = first == "red" ? "blue" : "red";
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(bindings.Look(second), 0) << "half a gang has started";
    clock_.SleepFor(std::chrono::milliseconds(100));
  }
  EXPECT_EQ(PhaseOf(first), "Running");
  EXPECT_NE(PhaseOf(second), "Running");
  EXPECT_THAT(Events(second), Contains(HasSubstr("Unschedulable"))) << "no reason is given";
  Delete(first);
  EXPECT_TRUE(Until([&] { return Running(second) == 6; }, seconds(30)));
  bindings.Look(second);
  bindings.ExpectRoom(Nodes());
}

TEST_F(ClusterBatchTest, AJobOfVolcanosKindGetsItsPodsAndItsGroupAndGoesWhenItIsDone) {
  AddNodes("n", 2, 4);
  Schedule("a", BatchConf(kPlaces));
  const std::string task =
      R"({metadata: {labels: {app: train}, annotations: {rig.coppice.dev/run-for: 3s}}, spec: {restartPolicy: Never, containers: [{name: c, image: none, resources: {requests: {cpu: "1"}}}]}})";
  rig_->Apply(
      "apiVersion: batch.volcano.sh/v1alpha1\nkind: Job\nmetadata: {name: train, namespace: "
      "default}\nspec:\n  schedulerName: volcano\n  minAvailable: 4\n  queue: default\n"
      "  ttlSecondsAfterFinished: 1\n  tasks:\n  - {name: ps, replicas: 1, template: " +
      task + "}\n  - {name: worker, replicas: 3, template: " + task + "}\n");
  const std::string path = "/apis/batch.volcano.sh/v1alpha1/namespaces/default/jobs/train";
  std::set<std::string> phases;
  int most = 0;
  EXPECT_TRUE(Until(
      [&] {
        const auto job = rig_->api().Send("GET", path);
        const auto phase = Json::json_pointer("/status/state/phase");
        if (job.ok() && job.body.contains(phase)) phases.insert(job.body[phase]);
        most = std::max(most, Running("train"));
        return job.status == 404;
      },
      seconds(60)));
  EXPECT_EQ(most, 4);
  EXPECT_TRUE(phases.contains("Running"));
  EXPECT_TRUE(phases.contains("Completed"));
}

TEST_F(ClusterBatchTest, TwoQueuesShareByWeight) {
  AddNodes("n", 2, 4);
  rig_->Apply(QueueOf("gold", 3) + QueueOf("silver", 1) +
              Gang({.name = "silver", .size = 12, .min = 1, .queue = "silver"}) +
              Gang({.name = "gold", .size = 12, .min = 1, .queue = "gold"}));
  Schedule("a", BatchConf(kPlaces));
  EXPECT_TRUE(Until([&] { return Running("gold") == 6 && Running("silver") == 2; }, seconds(30)))
      << Running("gold") << " and " << Running("silver");
  clock_.SleepFor(seconds(2));
  EXPECT_EQ(Running("gold"), 6);
  EXPECT_EQ(Running("silver"), 2);
}

TEST_F(ClusterBatchTest, AQueueTakesBackWhatIsItsShareAndNoMore) {
  AddNodes("n", 2, 4);
  rig_->Apply(QueueOf("gold", 3) + QueueOf("silver", 1) +
              Gang({.name = "silver", .size = 8, .min = 1, .queue = "silver"}));
  Schedule("a", BatchConf(kTakes));
  ASSERT_TRUE(Until([&] { return Running("silver") == 8; }, seconds(30)));
  // Eight of one pod each: a gang that has its minimum takes nothing from others.
  std::string gold;
  for (int i = 0; i < 8; ++i)
    gold += Gang({.name = "gold" + std::to_string(i), .size = 1, .queue = "gold"});
  rig_->Apply(gold);
  const auto golden = [&] {
    int running = 0;
    for (int i = 0; i < 8; ++i) running += Running("gold" + std::to_string(i));
    return running;
  };
  EXPECT_TRUE(Until([&] { return golden() == 6 && Running("silver") == 2; }, seconds(60)))
      << golden() << " and " << Running("silver");
  clock_.SleepFor(seconds(3));
  EXPECT_EQ(golden(), 6);
  EXPECT_EQ(Running("silver"), 2) << "more was taken than is gold's";
}

TEST_F(ClusterBatchTest, AnImportantGangTakesThePlaceOfOthersAndNotOfMoreThanItNeeds) {
  AddNodes("n", 2, 4);
  rig_->Apply(std::string(kImportance) +
              Gang({.name = "low", .size = 8, .min = 1, .priority_class = "low"}));
  Schedule("a", BatchConf(kTakes));
  ASSERT_TRUE(Until([&] { return Running("low") == 8; }, seconds(30)));
  rig_->Apply(Gang({.name = "high", .size = 3, .priority_class = "high"}));
  EXPECT_TRUE(Until([&] { return Running("high") == 3; }, seconds(60)));
  clock_.SleepFor(seconds(2));
  EXPECT_EQ(Running("low"), 5);
  EXPECT_EQ(Running("high"), 3);
}

// The gangs' machines come from `coppice provider`, over mutual TLS.
class ClusterGangBuyingTest : public ClusterProviderTest {
 protected:
  void SetUp() override {
    ClusterProviderTest::SetUp();
    if (!IsSkipped() && !HasFailure()) AllowBatch(*rig_);
  }
  void TearDown() override {
    if (rig_ == nullptr || cloud_ == nullptr) return;
    if (HasFailure())
      std::cerr << rig_->Kubectl({"get", "podgroups.scheduling.volcano.sh", "-A", "-o", "yaml"})
                << rig_->Kubectl({"get", "events", "-n", "default", "--sort-by=.lastTimestamp"});
    SweepBatch(*rig_);
    ClusterProviderTest::TearDown();
  }
  int Counted(const std::string& words) const {
    const std::string said = provider_->output();
    int count = 0;
    for (size_t at = 0; (at = said.find(words, at)) != std::string::npos; ++at) ++count;
    return count;
  }
  size_t Held() {
    size_t held = 0;
    for (const Json& node : Nodes()) {
      for (const Json& taint : node["spec"].value("taints", Json::array()))
        held += taint.value("key", "") == "coppice.dev/held-for";
    }
    return held;
  }
};

TEST_F(ClusterGangBuyingTest, AGangOf32BuysItsMachinesFromZeroInOneRoundAndStarts) {
  Child& coppice = StartAndSync("a", {"--batch", "--batch-controllers=all"});
  const TimePoint start = clock_.Now();
  rig_->Apply(Gang({.name = "big", .size = 32}));
  Bindings bindings(*rig_);
  size_t nodes_at_first = 0;
  EXPECT_TRUE(Until(
      [&] {
        if (nodes_at_first == 0 && bindings.Look("big") > 0) nodes_at_first = Nodes().size();
        return Running("big") == 32;
      },
      seconds(90)));
  std::cerr << "a gang of 32 runs after " << Since(start) << " s on " << cloud_->servers()
            << " machines\n";
  EXPECT_EQ(cloud_->servers(), 16u);
  EXPECT_EQ(cloud_->peak(), 16u) << "more was bought than the gang needs";
  EXPECT_EQ(nodes_at_first, 16u) << "it was started in part";
  const std::vector<std::string> events = Events("big");
  EXPECT_EQ(std::ranges::count_if(
                events, [](const auto& event) { return event.starts_with("TriggeredScaleUp"); }),
            1);
  EXPECT_EQ(Counted("\"audit\":\"increase\""), 1) << "not in one round";
  EXPECT_TRUE(Until([&] { return Held() == 0; }, seconds(20))) << "held after it has started";
  // It is over: its machines go.
  rig_->Kubectl({"delete", "podgroups.scheduling.volcano.sh", "big", "-n", "default"});
  rig_->Kubectl({"delete", "pods", "-l", "app=big", "-n", "default", "--wait=false"});
  EXPECT_TRUE(Until([&] { return cloud_->servers() == 0; }, seconds(90)));
  coppice.Signal(SIGTERM);
  EXPECT_EQ(coppice.Wait(), 0);
}

TEST_F(ClusterGangBuyingTest, NothingIsBoughtForAGangThatNobodyCanSellWhole) {
  StartAndSync("a", {"--batch", "--batch-controllers=all"});
  rig_->Apply(Gang({.name = "huge", .size = 130}));  // sixty machines have room for 120
  EXPECT_TRUE(Until(
      [&] { return testing::Matches(Contains(HasSubstr("NotTriggerScaleUp")))(Events("huge")); },
      seconds(30)));
  EXPECT_THAT(Events("huge"), Contains(HasSubstr("max node group size reached")));
  EXPECT_EQ(cloud_->peak(), 0u);
}

}  // namespace
}  // namespace coppice::test
