#include "host/life.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/fake_clock.h"

namespace coppice::host {
namespace {

using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class FakeLease final : public Lease {
 public:
  explicit FakeLease(Executor& executor, std::vector<std::string>& notes)
      : executor_(executor), notes_(notes) {}
  Task<Status> Acquire() override {
    co_await executor_.Sleep(waits);
    ours = true;
    notes_.push_back("leads");
    co_return Status::Ok();
  }
  Task<Status> Hold() override {
    co_await executor_.Sleep(lasts);
    ours = false;
    co_return Unavailable("not renewed in time");
  }
  Task<void> Release() override {
    ours = false;
    notes_.push_back("released");
    co_return;
  }
  bool leads() const override { return ours; }

  Duration waits = seconds(3);
  Duration lasts = std::chrono::hours(100);
  bool ours = false;

 private:
  Executor& executor_;
  std::vector<std::string>& notes_;
};

class SlowEngine final : public Engine {
 public:
  SlowEngine(Executor& executor, std::vector<std::string>& notes)
      : executor_(executor), notes_(notes) {}
  std::string_view name() const override { return "slow"; }
  TimePoint Due() const override { return due_; }
  Task<PassEnd> Pass(TimePoint now) override {
    notes_.push_back("pass");
    co_await executor_.Sleep(takes);
    notes_.push_back("passed");
    due_ = Later(now, std::chrono::minutes(10));
    co_return PassEnd{};
  }
  bool Told(const Event&, TimePoint) override { return false; }

  Duration takes = seconds(4);

 private:
  Executor& executor_;
  std::vector<std::string>& notes_;
  TimePoint due_;
};

class LifeTest : public testing::Test {
 protected:
  void Make(bool elects = true, bool dry_run = false) {
    turns_.Add(engine_);
    life_.emplace(Life::Parts{.executor = executor_,
                              .log = log_,
                              .turns = turns_,
                              .health = health_,
                              .changes = changes_,
                              .lease = elects ? &lease_ : nullptr,
                              .dry_run = dry_run},
                  Life::Steps{.read = [this] { notes_.emplace_back("reads"); },
                              .until_read = [this](Deadline) { return After("read", read_); },
                              .leads = [] {},
                              .assemble = [this] { return After("assembled", assembled_); },
                              .leave = [this](Deadline) { return Leave(); },
                              .writes_under_way = [this] { return writes_; }});
    executor_.Spawn(life_->Main());
  }
  std::vector<std::string> In(Duration time) {
    executor_.RunFor(time);
    return std::exchange(notes_, {});
  }
  // The executor's own Stop is for Run(), so that what comes after it in time is no part of it.
  std::vector<std::string> StopAndRun() {
    life_->StopSoon();
    executor_.Run();
    return std::exchange(notes_, {});
  }

  FakeClock clock_;
  std::string said_;
  Log log_{clock_, [this](std::string_view line) { said_ += line; }, LogFormat::kText};
  cluster::World world_;
  HealthCheck health_{{}, clock_};
  ChangesUnderWay changes_;
  std::vector<std::string> notes_;
  size_t writes_ = 0;
  Status read_ = Status::Ok();
  Status assembled_ = Status::Ok();
  Executor executor_{clock_};
  FakeLease lease_{executor_, notes_};
  SlowEngine engine_{executor_, notes_};
  Turns turns_{executor_, world_, health_};
  std::optional<Life> life_;

 private:
  Task<Status> After(std::string what, Status how) {
    co_await executor_.Sleep(seconds(1));
    notes_.push_back(std::move(what));
    co_return how;
  }
  Task<void> Leave() {
    notes_.emplace_back("leaves");
    co_return;
  }
};

TEST_F(LifeTest, ReadsWhileAnotherLeadsAndBeginsWhenItLeads) {
  Make();
  EXPECT_THAT(In(seconds(2)), ElementsAre("reads"));
  EXPECT_THAT(In(seconds(10)), ElementsAre("leads", "read", "assembled", "pass", "passed"));
}

TEST_F(LifeTest, ASignalLetsThePassEndLeavesInOrderAndHandsTheLeaseOver) {
  Make();
  In(seconds(6));
  EXPECT_THAT(StopAndRun(), ElementsAre("passed", "leaves", "released"));
  EXPECT_EQ(life_->exit_code(), 0);
  EXPECT_TRUE(life_->writes_closed());
}

TEST_F(LifeTest, APassThatDoesNotEndIsNotWaitedForForever) {
  engine_.takes = std::chrono::hours(1);
  Make();
  In(seconds(6));
  const TimePoint signal = clock_.Now();
  EXPECT_THAT(StopAndRun(), ElementsAre("leaves", "released"));
  EXPECT_LT(clock_.Now() - signal, seconds(11));
}

TEST_F(LifeTest, TheLeaseRunsOutByItselfWhileSomethingThatItAllowedIsUnderWay) {
  Make();
  In(std::chrono::minutes(1));
  const Deadline by = Deadline::In(clock_, seconds(7));
  ASSERT_TRUE(changes_.Begin(by).ok());
  const TimePoint signal = clock_.Now();
  EXPECT_THAT(StopAndRun(), ElementsAre("leaves"));
  EXPECT_THAT(said_, HasSubstr("the lease is left to run out"));
  EXPECT_GE(clock_.Now() - signal, seconds(8)) << "the call had until then";
  EXPECT_FALSE(changes_.Begin(by).ok()) << "nothing new is begun";
}

TEST_F(LifeTest, WritesToTheApiServerAreWaitedForBeforeTheLeaseGoes) {
  Make();
  In(std::chrono::minutes(1));
  writes_ = 1;
  executor_.Spawn([](Executor& executor, size_t& writes) -> Task<void> {
    co_await executor.Sleep(seconds(2));
    writes = 0;
  }(executor_, writes_));
  EXPECT_THAT(StopAndRun(), ElementsAre("leaves", "released"));
}

TEST_F(LifeTest, TheLossOfTheLeaseEndsTheProcessAndTidiesNothingUp) {
  lease_.lasts = std::chrono::minutes(2);
  Make();
  executor_.Run();
  EXPECT_EQ(life_->exit_code(), 1);
  EXPECT_THAT(said_, HasSubstr("this replica leads no more and ends"));
  EXPECT_THAT(notes_, Not(testing::Contains("leaves")));
}

TEST_F(LifeTest, WhatFailsOnTheWayUpEndsTheProcess) {
  assembled_ = NotFound("no provider 'x'");
  Make();
  executor_.Run();
  EXPECT_EQ(life_->exit_code(), 1);
  EXPECT_THAT(said_, HasSubstr("the autoscaler cannot be assembled"));
  EXPECT_THAT(notes_, Not(testing::Contains("pass")));
}

TEST_F(LifeTest, ADryRunTakesNoLeaseAndWritesNothing) {
  Make(/*elects=*/false, /*dry_run=*/true);
  EXPECT_THAT(In(seconds(1)), ElementsAre("reads", "read"));
  In(seconds(10));
  EXPECT_THAT(StopAndRun(), ElementsAre());
  EXPECT_EQ(life_->exit_code(), 0);
}

}  // namespace
}  // namespace coppice::host
