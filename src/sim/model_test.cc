#include "sim/model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/executor.h"
#include "base/fake_clock.h"
#include "cloud/fake_cloud.h"
#include "fit/fake_filters.h"
#include "sim/load.h"
#include "sim/view.h"
#include "test/support/must.h"

namespace coppice::sim {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;
using testing::IsEmpty;
using testing::SizeIs;

// Fits by cpu alone, and not on a node with a taint.
fit::Preparation FitsByCpu(const cluster::PodView& pod, const cluster::Snapshot& snapshot) {
  int64_t millis = 0;
  for (const auto& [resource, amount] : snapshot.resources().asked(pod.spec_id).of) {
    if (resource == cluster::kCpuColumn) millis = amount;
  }
  return fit::Preparation::Ask(
      std::make_unique<fit::FakeNodeCheck>([&snapshot, millis](cluster::NodeIndex node) {
        return snapshot.node_shape(node).taints.empty() &&
                       snapshot.resources().free(cluster::kCpuColumn)[node] >= millis
                   ? model::Verdict::Yes()
                   : model::Verdict::No("Cpu", model::VerdictCode::kUnschedulable, "no cpu");
      }));
}

class ModelTest : public testing::Test {
 protected:
  ModelTest() {
    registry_.Add("Cpu", [](const fit::SchedulerConfig&) -> Result<std::unique_ptr<fit::Filter>> {
      return std::unique_ptr<fit::Filter>(std::make_unique<fit::FakeStateFilter>(FitsByCpu));
    });
    fit::SchedulerConfig config;
    config.chain.clear();
    filters_ = std::make_unique<fit::Chain>(MUST(fit::Chain::Create(registry_, config)));
    auto cloud = std::make_unique<cloud::FakeCloud>(clock_);
    cloud_ = cloud.get();
    model_ = MUST(Model::Create(
        {.clock = clock_,
         .filters = *filters_,
         .cloud = std::move(cloud),
         .groups = {{.name = "a", .max_size = 5, .flavor = "small", .zone = "zone1"}}}));
  }

  void Run(Duration time) {
    const TimePoint end = clock_.Now() + time;
    model_->agenda.RunDue();
    while (model_->agenda.next() && *model_->agenda.next() <= end) {
      clock_.Set(*model_->agenda.next());
      model_->agenda.RunDue();
    }
    clock_.Set(end);
  }
  WorkloadSpec Web(int replicas, const std::string& cpu = "500m") {
    return {.name = "web", .pod = PodAsking(cpu, "64Mi"), .replicas = replicas};
  }
  std::vector<std::string> PodsOn(const std::string& node) {
    std::vector<std::string> names;
    for (const auto* entry : model_->cluster.objects().BoundTo(node))
      names.push_back(entry->pod->metadata.name);
    return names;
  }
  Status Do(Task<Status> task) {
    Executor executor(clock_);
    return executor.BlockOn(std::move(task));
  }
  cloud::MachineSpec Order(const std::string& name) {
    return {.name = name,
            .flavor = "small",
            .zone = "zone1",
            .tags = {{cloud::kGroupTag, "a"}, {cloud::kClusterTag, kClusterName}}};
  }

  FakeClock clock_;
  fit::FilterRegistry registry_{"filter"};
  std::unique_ptr<fit::Chain> filters_;
  cloud::FakeCloud* cloud_ = nullptr;
  std::unique_ptr<Model> model_;
};

TEST_F(ModelTest, PodsAreBoundWhereTheyFitAndTheRestIsUnschedulable) {
  ASSERT_OK(model_->AddNode("a", "a1", clock_.Now()));  // 2 cores
  model_->controllers.Add(Web(6));
  Run(seconds(1));
  EXPECT_THAT(PodsOn("a1"), SizeIs(4));
  const auto pending = model_->Pending();
  ASSERT_THAT(pending, SizeIs(2));
  ASSERT_THAT(pending[0]->status.conditions, SizeIs(1));
  EXPECT_EQ(pending[0]->status.conditions[0].reason, "Unschedulable");
}

TEST_F(ModelTest, AMachineBootsJoinsGetsReadyAndTakesPods) {
  model_->controllers.Add(Web(2));
  ASSERT_TRUE(model_->cloud.Create(Order("a1"), Deadline::Never()).ok());
  Run(seconds(40));
  EXPECT_EQ(model_->cluster.objects().FindNode("a1"), nullptr);  // 30 s to boot, 15 to join
  Run(seconds(12));
  ASSERT_NE(model_->cluster.objects().FindNode("a1"), nullptr);
  EXPECT_FALSE(IsReady(*model_->cluster.objects().FindNode("a1")));
  EXPECT_THAT(PodsOn("a1"), IsEmpty());
  Run(minutes(1));
  EXPECT_TRUE(IsReady(*model_->cluster.objects().FindNode("a1")));
  EXPECT_THAT(PodsOn("a1"), SizeIs(2));
}

TEST_F(ModelTest, ALostMachineTakesItsNodeAndItsPodsComeBackElsewhere) {
  ASSERT_OK(model_->AddNode("a", "a1", clock_.Now()));
  model_->controllers.Add(Web(1));
  Run(seconds(1));
  ASSERT_OK(model_->AddNode("a", "a2", clock_.Now()));
  const auto before = PodsOn("a1");
  ASSERT_THAT(before, SizeIs(1));
  model_->cloud.Vanish(model_->cluster.objects().FindNode("a1")->spec.provider_id);
  Run(minutes(2));
  EXPECT_EQ(model_->cluster.objects().FindNode("a1"), nullptr);
  EXPECT_THAT(PodsOn("a2"), SizeIs(1));
  EXPECT_NE(PodsOn("a2"), before);
}

TEST_F(ModelTest, AnEvictionEndsThePodAfterItsTimeAndItComesBack) {
  ASSERT_OK(model_->AddNode("a", "a1", clock_.Now()));
  model_->controllers.Add(Web(1));
  Run(seconds(1));
  const std::string first = PodsOn("a1").front();
  ASSERT_OK(Do(model_->api.Evict({"default", first}, 30)));
  Run(seconds(1));
  EXPECT_THAT(PodsOn("a1"), SizeIs(2));  // the old one ends, the new one is there
  Run(seconds(5));
  ASSERT_THAT(PodsOn("a1"), SizeIs(1));
  EXPECT_NE(PodsOn("a1").front(), first);
  EXPECT_EQ(Do(model_->api.Evict({"default", first}, 30)).code(), Code::kNotFound);
}

TEST_F(ModelTest, ABudgetRefusesTheSecondEvictionUntilTheFirstPodIsBack) {
  ASSERT_OK(model_->AddNode("a", "a1", clock_.Now()));
  WorkloadSpec web = Web(3);
  web.budget_max = model::IntOrString{.number = 1};
  model_->controllers.Add(std::move(web));
  Run(seconds(1));
  const auto budget = [&] {
    return model_->cluster.objects()
        .objects<model::PodDisruptionBudget>()
        .Find("default", "web")
        ->status.disruptions_allowed;
  };
  EXPECT_EQ(budget(), 1);
  const auto pods = PodsOn("a1");
  ASSERT_OK(Do(model_->api.Evict({"default", pods[0]}, 30)));
  EXPECT_EQ(Do(model_->api.Evict({"default", pods[1]}, 30)).code(), Code::kResourceExhausted);
  Run(seconds(1));  // its successor runs
  EXPECT_EQ(budget(), 1);
  EXPECT_OK(Do(model_->api.Evict({"default", pods[1]}, 30)));
}

TEST_F(ModelTest, JobsEndAndDaemonSetsAreOnEveryNode) {
  ASSERT_OK(model_->AddNode("a", "a1", clock_.Now()));
  WorkloadSpec agent{.name = "agent", .namespace_ = "kube-system", .kind = "DaemonSet"};
  agent.pod = PodAsking("100m", "10Mi");
  model_->controllers.Add(std::move(agent));
  WorkloadSpec job{.name = "job", .kind = "Job", .pod = PodAsking("500m", "10Mi"), .replicas = 2};
  job.runs_for = minutes(5);
  model_->controllers.Add(std::move(job));
  Run(seconds(1));
  EXPECT_THAT(PodsOn("a1"), SizeIs(3));
  Run(minutes(6));
  EXPECT_THAT(PodsOn("a1"), SizeIs(1));
  EXPECT_FALSE(model_->controllers.Has("job"));
  ASSERT_OK(model_->AddNode("a", "a2", clock_.Now()));
  Run(seconds(1));
  EXPECT_THAT(PodsOn("a2"), SizeIs(1));
}

TEST_F(ModelTest, AFrozenViewHearsNothingUntilItThaws) {
  cluster::World world;
  View view(model_->cluster, world);
  view.Freeze();
  ASSERT_OK(model_->AddNode("a", "a1", clock_.Now()));
  Run(minutes(3));
  EXPECT_EQ(world.node_count(), 0u);
  EXPECT_EQ(view.age(), minutes(3));
  view.Thaw();
  EXPECT_EQ(world.node_count(), 1u);
  EXPECT_EQ(view.age(), Duration::zero());
}

TEST_F(ModelTest, ANodeThatIsNotReadyForLongLosesItsPods) {
  ASSERT_OK(model_->AddNode("a", "a1", clock_.Now()));
  ASSERT_OK(model_->AddNode("a", "a2", clock_.Now()));
  model_->controllers.Add(Web(4));
  Run(seconds(1));
  EXPECT_THAT(PodsOn("a1"), SizeIs(2));
  model_->machines.SetReady("a1", false);
  Run(minutes(4));
  EXPECT_THAT(PodsOn("a1"), SizeIs(2));
  Run(minutes(2));
  EXPECT_THAT(PodsOn("a1"), IsEmpty());
  EXPECT_THAT(PodsOn("a2"), SizeIs(4));
}

TEST(AgendaTest, WhatIsDueTogetherHappensInTheOrderInWhichItWasWrittenDown) {
  FakeClock clock;
  Agenda agenda(clock);
  std::string told;
  agenda.In(seconds(2), [&] { told += "c"; });
  agenda.In(seconds(1), [&] {
    told += "a";
    agenda.In(Duration::zero(), [&] { told += "b"; });
  });
  clock.Advance(seconds(2));
  agenda.RunDue();
  EXPECT_EQ(told, "acb");  // b was written down at the second second
}

}  // namespace
}  // namespace coppice::sim
