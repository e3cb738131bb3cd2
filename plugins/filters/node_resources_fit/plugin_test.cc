#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "test/support/filter_world.h"

namespace coppice::filters::node_resources_fit {
void Register(fit::FilterRegistry&);

namespace {

using test::Answers;

using model::VerdictCode;

model::Pod Asking(std::initializer_list<std::pair<const char*, const char*>> requests) {
  model::Pod pod;
  auto& list = pod.spec.containers.emplace_back().resources.requests;
  for (const auto& [name, amount] : requests) list[name] = MUST(model::Quantity::Parse(amount));
  return pod;
}

class FitTest : public testing::Test {
 protected:
  FitTest() {
    model::Node node;
    node.metadata.name = "n";
    for (const auto& [name, amount] : {std::pair{"cpu", "2"}, {"memory", "1Gi"}, {"pods", "3"}}) {
      node.status.allocatable[name] = MUST(model::Quantity::Parse(amount));
    }
    world.AddNode(node);
  }
  test::FilterWorld world{Register, "NodeResourcesFit"};
};

TEST_F(FitTest, AnExactFitFits) {
  EXPECT_EQ(world.Ask(Asking({{"cpu", "2"}})), (Answers{{"n", ""}}));
}

TEST_F(FitTest, MoreThanIsLeftIsUnschedulableMoreThanThereIsAtAllIsFinal) {
  world.Place(Asking({{"cpu", "1"}}), "n");
  EXPECT_EQ(world.Ask(Asking({{"cpu", "1500m"}})), (Answers{{"n", "Insufficient cpu"}}));
  EXPECT_EQ(world.last_refusal.code(), VerdictCode::kUnschedulable);
  EXPECT_EQ(world.Ask(Asking({{"cpu", "3"}})), (Answers{{"n", "Insufficient cpu"}}));
  EXPECT_EQ(world.last_refusal.code(), VerdictCode::kUnschedulableAndUnresolvable);
}

TEST_F(FitTest, TheRefusalSaysHowMuchIsMissing) {
  world.Place(Asking({{"cpu", "1"}}), "n");
  std::ignore = world.Ask(Asking({{"cpu", "1500m"}}));
  ASSERT_EQ(world.last_refusal.shortfalls().size(), 1u);
  EXPECT_EQ(world.last_refusal.shortfalls()[0],
            (model::Shortfall{.what = "cpu", .asked = 1500, .free = 1000, .capacity = 2000}));
  EXPECT_EQ(world.last_refusal.shortfalls()[0].missing(), 500);
}

TEST_F(FitTest, EveryShortageIsReported) {
  std::ignore = world.Ask(Asking({{"cpu", "9"}, {"memory", "9Gi"}, {"example.com/gpu", "1"}}));
  EXPECT_THAT(world.last_refusal.reasons(),
              testing::UnorderedElementsAre("Insufficient cpu", "Insufficient memory",
                                            "Insufficient example.com/gpu"));
}

TEST_F(FitTest, AFullNodeTakesNoMorePodsAndThatIsNeverFinal) {
  for (int i = 0; i < 3; ++i) world.Place(Asking({}), "n");
  EXPECT_EQ(world.Ask(Asking({})), (Answers{{"n", "Too many pods"}}));
  EXPECT_EQ(world.last_refusal.code(), VerdictCode::kUnschedulable);
}

TEST_F(FitTest, AnOvercommittedNodeTakesWhoAsksForNothingOfIt) {
  world.Place(Asking({{"cpu", "5"}}), "n");
  EXPECT_EQ(world.Ask(Asking({{"memory", "1Mi"}})), (Answers{{"n", ""}}));
}

TEST(IgnoredResourcesTest, SomebodyElseLooksAfterThem) {
  fit::FilterRegistry registry("filter");
  Register(registry);
  fit::SchedulerConfig config;
  config.ignored_resource_groups = {"example.com"};
  config.ignored_resources = {"other.com/fpga"};
  const auto filter = MUST(registry.Make("NodeResourcesFit", config));
  cluster::Snapshot snapshot;
  model::Node node;
  node.metadata.name = "n";
  node.status.allocatable["pods"] = model::Quantity::FromUnits(1);
  const auto index = MUST(snapshot.AddNode(node));
  const auto check = [&](const model::Pod& pod) {
    return filter->Prepare(snapshot.pod(snapshot.AddPod(pod)), snapshot).check->Check(index).yes();
  };
  EXPECT_TRUE(check(Asking({{"example.com/gpu", "1"}, {"other.com/fpga", "1"}})));
  EXPECT_FALSE(check(Asking({{"other.com/gpu", "1"}})));
}

}  // namespace
}  // namespace coppice::filters::node_resources_fit
