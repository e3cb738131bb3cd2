// Pods that come while a machine is on its way: what it is sure to have is used, and no more.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "provision/engine_rig.h"

namespace coppice::provision {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;

EngineOptions JustBuying() {
  EngineOptions options;
  options.disruption = false;
  return options;
}

// The cheapest type has 1.9 cores for pods, and a Create takes 30 s.
class EngineOnTheWayTest : public testing::Test {
 protected:
  EngineOnTheWayTest() {
    rig_.cloud.on_create = [this](const model::NodeClaim&) {
      return rig_.Now() < answers_at_
                 ? cloud::FakeAnswer{.status = Unavailable("slow"), .happens = false}
                 : cloud::FakeAnswer{.status = sold_out_ ? ResourceExhausted("none") : Status::Ok(),
                                     .happens = !sold_out_};
    };
  }
  void Start(const std::function<void(model::NodePool&)>& pool = nullptr) {
    rig_.AddPool("default", pool);
    rig_.RunFor(seconds(2));
    answers_at_ = rig_.Now() + seconds(30);
  }
  // One batch each.
  void Come(const std::string& name, int64_t cpu_millis,
            const std::function<void(model::Pod&)>& change = nullptr) {
    rig_.AddPod(name, cpu_millis, change);
    rig_.RunFor(seconds(1));
  }
  bool AllRun() {
    return rig_.RunUntil([this] { return rig_.PodsWaiting() == 0; }, minutes(5));
  }

  EngineRig rig_{JustBuying()};
  TimePoint answers_at_ = TimePoint::min();
  bool sold_out_ = false;
};

TEST_F(EngineOnTheWayTest, PodsThatComeOneByOneShareAMachineThatIsNotLaunchedYet) {
  Start();
  for (int i = 0; i < 5; ++i) Come("p" + std::to_string(i), 300);
  EXPECT_EQ(rig_.Claims().size(), 1u);
  EXPECT_EQ(rig_.CountEvents("Nominated"), 5u) << "each is told where";
  EXPECT_TRUE(AllRun());
  EXPECT_EQ(rig_.cloud.ever_made(), 1u);
}

TEST_F(EngineOnTheWayTest, OnlyWhatTheLeastOfItsTypesHasIsGivenAway) {
  Start();
  Come("first", 1000);
  Come("second", 1000);  // 2 cores are more than the least has
  EXPECT_EQ(rig_.Claims().size(), 2u);
  Come("third", 800);
  Come("fourth", 900);
  EXPECT_EQ(rig_.Claims().size(), 2u);
  Come("fifth", 200);
  EXPECT_EQ(rig_.Claims().size(), 3u);
  EXPECT_TRUE(AllRun());
}

TEST_F(EngineOnTheWayTest, TheRoomOfAPodThatIsGoneIsFree) {
  Start();
  Come("first", 1000);
  Come("second", 800);
  rig_.RemovePod("second");
  Come("third", 900);
  EXPECT_EQ(rig_.Claims().size(), 1u);
}

TEST_F(EngineOnTheWayTest, AMachineOnItsWayCountsOnceAgainstTheLimit) {
  Start([](model::NodePool& pool) { pool.spec.limits["nodes"] = model::Quantity::FromUnits(2); });
  Come("first", 300);
  Come("second", 300);
  Come("big", 7000);
  EXPECT_EQ(rig_.Claims().size(), 2u);
  Come("another", 7000);
  EXPECT_EQ(rig_.Claims().size(), 2u);
  EXPECT_GT(rig_.CountEvents("FailedScheduling"), 0u);
}

TEST_F(EngineOnTheWayTest, PodsThatKeepApartDoNotShareAMachineOnItsWay) {
  Start();
  const auto apart = [](model::Pod& pod) {
    pod.metadata.labels["app"] = "web";
    model::PodAffinityTerm term;
    term.label_selector.emplace();
    term.label_selector->match_labels["app"] = "web";
    term.topology_key = std::string(model::kHostnameLabel);
    pod.spec.affinity.emplace();
    pod.spec.affinity->pod_anti_affinity.emplace();
    pod.spec.affinity->pod_anti_affinity->required.push_back(term);
  };
  Come("first", 300, apart);
  Come("second", 300, apart);
  EXPECT_EQ(rig_.Claims().size(), 2u);
  Come("friend", 300);
  EXPECT_EQ(rig_.Claims().size(), 2u);
}

TEST_F(EngineOnTheWayTest, AMachineThatComesToNothingLeavesNobodyWaiting) {
  Start();
  Come("first", 300);
  Come("second", 300);
  ASSERT_EQ(rig_.Claims().size(), 1u);
  sold_out_ = true;
  rig_.RunFor(seconds(35));
  sold_out_ = false;
  EXPECT_TRUE(AllRun());
  EXPECT_EQ(rig_.cloud.ever_made(), 1u);
}

TEST_F(EngineOnTheWayTest, AClaimOfWhichNobodyKnowsWhetherItIsThereIsNotBoughtAgain) {
  Start();
  rig_.lags = true;
  rig_.cut_off = true;
  Come("first", 300);
  rig_.RunFor(minutes(1));
  EXPECT_EQ(rig_.Claims().size(), 1u);
  rig_.cut_off = false;  // asked for, it is found long before the World shows it
  rig_.RunFor(minutes(1));
  EXPECT_EQ(rig_.Claims().size(), 1u);
  rig_.lags = false;
  rig_.Deliver();
  EXPECT_TRUE(AllRun());
  EXPECT_EQ(rig_.cloud.ever_made(), 1u);
}

TEST_F(EngineOnTheWayTest, AClaimThatWasNeverMadeIsBoughtOnceThatIsSure) {
  Start();
  rig_.before_write = [](std::string_view what) {
    return what == "create" ? Unavailable("down") : Status::Ok();
  };
  Come("first", 300);
  rig_.RunFor(seconds(5));
  rig_.before_write = nullptr;
  rig_.RunFor(seconds(3));
  EXPECT_TRUE(rig_.Claims().empty()) << "what was sent may still be carried out";
  EXPECT_TRUE(AllRun());
  EXPECT_EQ(rig_.cloud.ever_made(), 1u);
}

TEST_F(EngineOnTheWayTest, AClaimOfAProcessBeforeUsIsNotFilled) {
  Start();
  Come("first", 300);
  rig_.Restart();
  rig_.RunFor(seconds(2));
  Come("second", 300);
  EXPECT_EQ(rig_.Claims().size(), 1u) << "its pool waits: nobody knows for whom it is";
  EXPECT_TRUE(AllRun());
  EXPECT_EQ(rig_.cloud.ever_made(), 1u);
}

}  // namespace
}  // namespace coppice::provision
