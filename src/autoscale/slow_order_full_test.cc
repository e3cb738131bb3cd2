// A cloud that takes long to answer an order does not hold up the next decision.

#include "test/support/engine_rig.h"
#include "test/support/held_workers.h"

namespace coppice::autoscale {
namespace {

using report::ScaleUpResult;
using std::chrono::milliseconds;
using std::chrono::seconds;

class SlowOrderTest : public test::EngineRig {
 protected:
  void Start(std::vector<std::string> more = {}) {
    AddGroup("a", 10);
    more.insert(more.end(), {"--expander=least-waste", "--scale-down-enabled=false"});
    Assemble(std::move(more), workers_, writer_);
  }
  // The refresh is answered at once, what is ordered is not.
  std::shared_ptr<const report::PassReport> PassOnASlowCloud() {
    workers_.let_through = 1;
    return Pass();
  }
  void Answer() {
    workers_.RunAll();
    executor_.RunUntilIdle();
  }

  test::HeldWorkers workers_;
};

TEST_F(SlowOrderTest, ThePassEndsAndTheMachinesCountAsUpcoming) {
  Start();
  AddPod("one", "cpu", 3);
  const TimePoint began = clock_.Now();
  const auto first = PassOnASlowCloud();
  EXPECT_EQ(first->scale_up.result, ScaleUpResult::kSuccessful);
  EXPECT_EQ(clock_.Now() - began, milliseconds(200));
  EXPECT_EQ(CallsOf("Increase"), 0u);  // it is on its way to the cloud

  // Nothing is ordered twice, and what came meanwhile is not kept waiting.
  const auto second = PassOnASlowCloud();
  EXPECT_EQ(second->scale_up.result, ScaleUpResult::kNotNeeded);
  EXPECT_EQ(second->upcoming.at("a"), 1);
  AddPod("two", "cpu", 3);
  const auto third = PassOnASlowCloud();
  EXPECT_EQ(third->scale_up.result, ScaleUpResult::kSuccessful);
  ASSERT_EQ(third->scale_up.resizes.size(), 1u);
  EXPECT_EQ(third->scale_up.resizes[0].from, 1);
  EXPECT_EQ(third->scale_up.resizes[0].to, 2);

  Answer();
  Answer();  // the second order of a group goes out when the first is answered
  EXPECT_EQ(CallsOf("Increase"), 2u);
  EXPECT_EQ(MUST(groups_.TargetSize("a")), 2);
}

TEST_F(SlowOrderTest, AnOrderThatFailsLateBacksItsGroupOffAndThePodLooksElsewhere) {
  Start();
  AddGroup("b", 10);
  AddPod("one", "cpu", 3);
  PassOnASlowCloud();
  groups_.Fail("Increase", Status(Code::kResourceExhausted, "none left"));
  Answer();
  groups_.Fail("Increase", Status::Ok());
  const auto next = PassOnASlowCloud();
  EXPECT_EQ(next->scale_up.result, ScaleUpResult::kSuccessful);
  ASSERT_EQ(next->scale_up.resizes.size(), 1u);
  EXPECT_EQ(next->scale_up.resizes[0].to, 1);
  const auto failed = std::ranges::count_if(next->status->groups, [](const auto& group) {
    return group.scale_up == "Backoff" &&
           group.backoff_message.find("none left") != std::string::npos;
  });
  EXPECT_EQ(failed, 1);
}

TEST_F(SlowOrderTest, ItsAnswerWakesTheLoop) {
  int woken = 0;
  wake_ = [&] { ++woken; };
  Start();
  AddPod("one", "cpu", 3);
  PassOnASlowCloud();
  EXPECT_EQ(woken, 0);
  Answer();
  EXPECT_EQ(woken, 1);
}

TEST_F(SlowOrderTest, UpstreamWaits) {
  Start({"--upstream-exact"});
  AddPod("one", "cpu", 3);
  workers_.let_through = 1;
  bool over = false;
  const auto pass = [&]() -> Task<void> {
    co_await assembly_->engine().Pass(clock_.Now());
    over = true;
  };
  executor_.Spawn(pass());
  executor_.RunFor(seconds(5));
  EXPECT_FALSE(over);
  Answer();
  executor_.RunFor(seconds(1));
  EXPECT_TRUE(over);
}

}  // namespace
}  // namespace coppice::autoscale
