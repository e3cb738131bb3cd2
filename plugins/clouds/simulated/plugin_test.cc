#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/fake_clock.h"
#include "base/pool.h"
#include "cloud/cloud_node_groups.h"
#include "plugins/clouds/simulated/options.h"
#include "plugins/clouds/simulated/verbs.h"
#include "test/conformance/cloud_suite.h"
#include "test/conformance/node_groups_suite.h"
#include "test/support/counting_cloud.h"
#include "test/support/must.h"

namespace coppice::clouds::simulated {
void Register(cloud::CloudRegistry&);
}

namespace coppice::conformance {

struct SimulatedUnderTest {
  FakeClock fake_clock;
  Metrics metrics;
  clouds::simulated::SimulatedCloud simulated{clouds::simulated::DefaultOptions(), fake_clock, 1,
                                              metrics};
  cloud::Cloud& cloud() { return simulated; }
  Clock& clock() { return fake_clock; }
  cloud::MachineSpec ASpec(const std::string& name) {
    return {.name = name, .flavor = "small-2-4", .zone = "north1"};
  }
  cloud::ProviderId AnUnknownId() { return "simulated://nobody-1/99"; }
  void Settle() { fake_clock.Advance(std::chrono::minutes(2)); }
};
INSTANTIATE_TYPED_TEST_SUITE_P(Simulated, CloudSuite, SimulatedUnderTest);

struct SimulatedGroupsUnderTest : SimulatedUnderTest {
  test::CountingCloud counted{simulated};
  InlineWorkers workers;
  SeededRng rng{1};
  Log log = Log::Null();
  std::unique_ptr<cloud::CloudNodeGroups> under_test = MUST(cloud::CloudNodeGroups::Create(
      {counted, workers, fake_clock, rng, log, metrics}, {.cluster = "c"},
      {{.name = "first", .max_size = 5, .flavor = "small-2-4", .zone = "north1"},
       {.name = "second", .max_size = 5, .flavor = "gpu-16-128-2", .zone = "north1"}}));

  cloud::NodeGroups& groups() { return *under_test; }
  std::string Group() { return "first"; }
  std::string OtherGroup() { return "second"; }
  int CallsOut() { return counted.calls(); }
};
INSTANTIATE_TYPED_TEST_SUITE_P(SimulatedGroups, NodeGroupsSuite, SimulatedGroupsUnderTest);

}  // namespace coppice::conformance

namespace coppice::clouds::simulated {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::HasSubstr;

class SimulatedTest : public testing::Test {
 protected:
  SimulatedCloud Start(const Options& with, uint64_t seed = 1) {
    return SimulatedCloud(with, clock, seed, metrics);
  }
  static cloud::MachineSpec Spec(std::string name) {
    return {.name = std::move(name), .flavor = "small-2-4", .zone = "north1"};
  }
  Deadline Soon() { return Deadline::In(clock, seconds(10)); }
  Options Read(std::string_view text) {
    return ReadOptions(MUST(yaml::Parse(text, "cloud.yaml")), problems);
  }

  FakeClock clock;
  Metrics metrics;
  Options options = DefaultOptions();
  yaml::Problems problems;
};

TEST_F(SimulatedTest, MachinesTakeTimeToBootAndToGo) {
  auto cloud = Start(options);
  const auto machine = MUST(cloud.Create(Spec("a"), Soon()));
  EXPECT_EQ(machine.state, cloud::MachineState::kCreating);
  clock.Advance(seconds(29));  // 40 s less a quarter is the earliest
  EXPECT_EQ(MUST(cloud.List({}, Soon()))[0].state, cloud::MachineState::kCreating);
  clock.Advance(seconds(21));
  EXPECT_EQ(MUST(cloud.List({}, Soon()))[0].state, cloud::MachineState::kRunning);
  EXPECT_OK(cloud.Delete(machine.id, Soon()));
  EXPECT_EQ(MUST(cloud.List({}, Soon()))[0].state, cloud::MachineState::kDeleting);
  clock.Advance(seconds(5));
  EXPECT_TRUE(MUST(cloud.List({}, Soon())).empty());
}

TEST_F(SimulatedTest, MachinesCostWhatTheirFlavorCosts) {
  auto cloud = Start(options);
  const auto machine = MUST(cloud.Create(Spec("a"), Soon()));
  clock.Advance(std::chrono::hours(10));
  EXPECT_NEAR(cloud.spent(), 0.24, 1e-9);
  EXPECT_OK(cloud.Delete(machine.id, Soon()));
  clock.Advance(std::chrono::hours(10));
  (void)MUST(cloud.List({}, Soon()));
  EXPECT_NEAR(cloud.spent(), 0.24, 1e-4);
}

TEST_F(SimulatedTest, SpotIsCheaperAndIsTakenBack) {
  options = Read("{spotFactor: 0.25, spotLifetime: 2h}");
  ASSERT_FALSE(problems.has_errors());
  auto cloud = Start(options);
  auto spot = Spec("spot");
  spot.capacity_type = "spot";
  const auto machine = MUST(cloud.Create(spot, Soon()));
  EXPECT_EQ(machine.capacity_type, "spot");
  clock.Advance(minutes(1));
  EXPECT_NEAR(cloud.spent(), 0.024 * 0.25 / 60, 1e-9);
  // A hundred of them: about a third live longer than the mean, and none for ever.
  for (int i = 0; i < 100; ++i) {
    spot.name = "spot-" + std::to_string(i);
    EXPECT_OK(cloud.Create(spot, Soon()));
  }
  (void)MUST(cloud.Create(Spec("on-demand"), Soon()));
  clock.Advance(std::chrono::hours(2));
  const size_t left = MUST(cloud.List({}, Soon())).size();
  EXPECT_GT(left, 22u);
  EXPECT_LT(left, 55u);
  EXPECT_OK(cloud.Create(spot, Soon())) << "the name of one that went is free again";
  clock.Advance(std::chrono::hours(48));
  const auto last = MUST(cloud.List({}, Soon()));
  ASSERT_EQ(last.size(), 1u);
  EXPECT_EQ(last[0].name, "on-demand");
}

TEST_F(SimulatedTest, WhatIsNotSoldAsSpotCannotBeBoughtSo) {
  auto cloud = Start(options);
  auto spot = Spec("a");
  spot.capacity_type = "spot";
  EXPECT_EQ(cloud.Create(spot, Soon()).code(), Code::kInvalidArgument);
}

TEST_F(SimulatedTest, AStockOutOfSpotLeavesTheRest) {
  options = Read("{spotFactor: 0.5, stockOuts: [{zone: north1, capacityType: spot}]}");
  auto cloud = Start(options);
  auto spot = Spec("a");
  spot.capacity_type = "spot";
  EXPECT_EQ(cloud.Create(spot, Soon()).code(), Code::kResourceExhausted);
  EXPECT_OK(cloud.Create(Spec("b"), Soon()));
  const auto flavors = MUST(cloud.Flavors(Soon()));
  for (const auto& offering : flavors[1].offerings) {
    EXPECT_EQ(offering.in_stock, offering.zone != "north1" || offering.capacity_type != "spot");
  }
}

TEST_F(SimulatedTest, KarpentersOwnCatalogCanBeTried) {
  options = Read("catalog: kwok");
  ASSERT_FALSE(problems.has_errors());
  auto cloud = Start(options);
  EXPECT_EQ(MUST(cloud.Flavors(Soon())).size(), 144u);
  EXPECT_OK(cloud.Create(
      {.name = "a", .flavor = "m-8x-arm64-linux", .zone = "test-zone-c", .capacity_type = "spot"},
      Soon()));
  Read("catalog: /none");
  EXPECT_THAT(problems.ToStatus().message(), HasSubstr("/none"));
}

TEST_F(SimulatedTest, AnyMeasureOfTheGridCanBeBought) {
  options = Read("{flavors: [], grid: {maxCpu: 16, maxMemory: 64Gi, spotFactor: 0.5}}");
  ASSERT_FALSE(problems.has_errors()) << problems.ToStatus();
  auto cloud = Start(options);
  ASSERT_TRUE(cloud.Grid());
  EXPECT_OK(cloud.Create({.name = "a", .flavor = "any-3000m-7168Mi", .zone = "south1"}, Soon()));
  EXPECT_EQ(
      cloud.Create({.name = "b", .flavor = "any-17000m-7168Mi", .zone = "south1"}, Soon()).code(),
      Code::kInvalidArgument);
  clock.Advance(std::chrono::hours(1));
  EXPECT_NEAR(cloud.spent(), 3 * 0.012 + 7 * 0.003, 1e-9);
}

TEST_F(SimulatedTest, QuotaAndStockRunOut) {
  options.quota = 2;
  options.flavors[1].stock = 1;
  auto cloud = Start(options);
  const auto first = MUST(cloud.Create(Spec("a"), Soon()));
  const auto second = cloud.Create(Spec("b"), Soon());
  EXPECT_EQ(second.code(), Code::kResourceExhausted);
  EXPECT_THAT(second.status().message(), HasSubstr("out of stock"));
  EXPECT_FALSE(MUST(cloud.Flavors(Soon()))[1].in_stock);
  auto other = Spec("c");
  other.flavor = "tiny-1-2";
  EXPECT_OK(cloud.Create(other, Soon()));
  other.name = "d";
  EXPECT_THAT(cloud.Create(other, Soon()).status().message(), HasSubstr("quota of 2"));
  EXPECT_OK(cloud.Delete(first.id, Soon()));
  EXPECT_OK(cloud.Create(Spec("b"), Soon()));
}

TEST_F(SimulatedTest, AStockOutHasATimeAndAPlace) {
  options.stock_outs = {
      {.flavor = "small-2-4", .zone = "north1", .after = minutes(10), .lasts = minutes(5)}};
  auto cloud = Start(options);
  EXPECT_OK(cloud.Create(Spec("a"), Soon()));
  clock.Advance(minutes(10));
  EXPECT_EQ(cloud.Create(Spec("b"), Soon()).code(), Code::kResourceExhausted);
  auto elsewhere = Spec("c");
  elsewhere.zone = "south1";
  EXPECT_OK(cloud.Create(elsewhere, Soon()));
  clock.Advance(minutes(5));
  EXPECT_OK(cloud.Create(Spec("b"), Soon()));
}

TEST_F(SimulatedTest, ARepeatedOrderFindsItsFirstAttempt) {
  options.faults.lost_answer = 1;
  auto cloud = Start(options);
  EXPECT_EQ(cloud.Create(Spec("a"), Soon()).code(), Code::kUnavailable);
  EXPECT_EQ(cloud.Create(Spec("a"), Soon()).code(), Code::kUnavailable);
  EXPECT_EQ(MUST(cloud.List({}, Soon())).size(), 1u);
}

TEST_F(SimulatedTest, FaultsComeFromTheSeed) {
  options.faults = {.create_failure = 0.3, .boot_failure = 0.3};
  const auto play = [&](uint64_t seed) {
    auto cloud = Start(options, seed);
    std::string story;
    for (int i = 0; i < 50; ++i) {
      story += cloud.Create(Spec("m" + std::to_string(i)), Soon()).ok() ? 'o' : 'x';
    }
    clock.Advance(minutes(2));
    for (const auto& machine : MUST(cloud.List({}, Soon()))) {
      story += machine.state == cloud::MachineState::kFailed ? 'f' : 'r';
    }
    return story;
  };
  EXPECT_EQ(play(1), play(1));
  EXPECT_NE(play(1), play(2));
  EXPECT_THAT(play(1), testing::AllOf(HasSubstr("x"), HasSubstr("f"), HasSubstr("r")));
}

TEST_F(SimulatedTest, ASlowCloudAnswersTooLateAndDoesItNevertheless) {
  options.latency = seconds(6);
  auto cloud = Start(options);
  const TimePoint start = clock.Now();
  EXPECT_EQ(cloud.Create(Spec("a"), Deadline::In(clock, seconds(5))).code(),
            Code::kDeadlineExceeded);
  EXPECT_EQ(clock.Now(), start + seconds(5));
  EXPECT_EQ(MUST(cloud.List({}, Deadline::In(clock, seconds(10)))).size(), 1u);
}

TEST_F(SimulatedTest, TheConfigurationIsRead) {
  const auto read = Read(R"(
kind: simulated
bootTime: 90s
bootJitter: 0
quota: 12
seed: 42
zones: [east1]
faults: {bootFailure: 0.5}
stockOuts:
- {flavor: big, after: 1m, for: 2m}
flavors:
- {name: big, cpu: 4, memory: 16Gi, disk: 100Gi, pricePerHour: 0.1, stock: 3}
- {name: gpu, cpu: 500m, memory: 1Gi, gpuType: L4, gpuCount: 1}
)");
  EXPECT_OK(problems.ToStatus(true));
  EXPECT_EQ(read.boot_time, seconds(90));
  EXPECT_EQ(read.quota, 12);
  EXPECT_EQ(read.seed, 42u);
  EXPECT_EQ(read.faults.boot_failure, 0.5);
  ASSERT_EQ(read.flavors.size(), 2u);
  EXPECT_EQ(read.flavors[0].flavor.memory_bytes, 16LL << 30);
  EXPECT_EQ(read.flavors[0].stock, 3);
  EXPECT_THAT(read.flavors[0].flavor.zones, ElementsAre("east1"));
  EXPECT_EQ(read.flavors[1].flavor.cpu_millis, 500);
  EXPECT_EQ(read.flavors[1].flavor.price_per_hour, std::nullopt);
  EXPECT_EQ(read.stock_outs[0].lasts, minutes(2));
}

TEST_F(SimulatedTest, MistakesInTheConfigurationAreNamedWithTheirPlace) {
  (void)Read(R"(
bootTiem: 5s
quota: -1
faults: {bootFailure: 2}
flavors:
- {name: a, memory: lots}
- {name: a, cpu: 1, memory: 1Gi, gpuCount: 1}
)");
  std::string all;
  for (const auto& problem : problems.all()) all += problem.ToString() + "\n";
  EXPECT_THAT(all, HasSubstr("bootTiem"));
  EXPECT_THAT(all, HasSubstr("must not be negative"));
  EXPECT_THAT(all, HasSubstr("a number from 0 to 1"));
  EXPECT_THAT(all, HasSubstr("flavors[0].memory: 'lots'"));
  EXPECT_THAT(all, HasSubstr("cpu: is required"));
  EXPECT_THAT(all, HasSubstr("goes with gpuCount"));
  EXPECT_THAT(all, HasSubstr("two flavors are named 'a'"));
}

TEST_F(SimulatedTest, ValidationNamesWhatDoesNotExist) {
  auto cloud = Start(options);
  const auto wrong =
      MUST(cloud.Validate({.name = "g", .flavor = "small-2-5", .zone = "norht1"}, Soon()));
  EXPECT_THAT(wrong, ElementsAre(HasSubstr("did you mean 'small-2-4'?"),
                                 HasSubstr("did you mean 'north1'?")));
  EXPECT_THAT(
      MUST(cloud.Validate({.name = "g", .flavor = "gpu-16-128-2", .zone = "south1"}, Soon())),
      ElementsAre(HasSubstr("is not sold in zone 'south1'")));
  EXPECT_TRUE(
      MUST(cloud.Validate({.name = "g", .flavor = "small-2-4", .zone = "north1"}, Soon())).empty());
}

TEST_F(SimulatedTest, IsRegisteredUnderItsName) {
  cloud::CloudRegistry registry("cloud");
  Register(registry);
  SeededRng rng(1);
  const Log log = Log::Null();
  const cloud::CloudContext context{clock, rng, log, metrics, {}, problems};
  const auto cloud = MUST(registry.Make("simulated", context));
  EXPECT_FALSE(MUST(cloud->Flavors(Soon())).empty());
  EXPECT_OK(problems.ToStatus(true));
}

}  // namespace
}  // namespace coppice::clouds::simulated
