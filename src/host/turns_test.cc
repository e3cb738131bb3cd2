#include "host/turns.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/fake_clock.h"

namespace coppice::host {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

// Notes what it does, takes as long as it is told, and is due again so long after.
class Scripted final : public Engine {
 public:
  Scripted(std::string name, Executor& executor, std::vector<std::string>& notes)
      : name_(std::move(name)), executor_(executor), notes_(notes) {}

  std::string_view name() const override { return name_; }
  TimePoint Due() const override { return due; }
  Task<PassEnd> Pass(TimePoint now) override {
    notes_.push_back(name_ + " begins");
    alone = alone_inside;
    due = TimePoint::max();
    if (imagines != nullptr) imagines->snapshot().OpenFork();
    if (takes > Duration::zero()) co_await executor_.Sleep(takes);
    if (imagines != nullptr && !forgets) imagines->snapshot().RevertFork();
    alone = alone_before;
    notes_.push_back(name_ + " ends");
    due = again ? Later(now, *again) : TimePoint::max();
    co_return PassEnd{.succeeded = succeeds};
  }
  bool Told(const Event& event, TimePoint now) override {
    if (event.kind != Event::Kind::kPodWaits) return false;
    due = std::min(due, now);
    return true;
  }
  bool keeps_others_out() const override { return alone; }

  TimePoint due = TimePoint::max();
  std::optional<Duration> again;
  Duration takes{};
  bool alone_before = false;  // has to be alone to begin
  bool alone_inside = false;  // and to go on
  bool alone = false;
  bool succeeds = true;
  cluster::World* imagines = nullptr;
  bool forgets = false;  // to take it back

 private:
  std::string name_;
  Executor& executor_;
  std::vector<std::string>& notes_;
};

class TurnsTest : public testing::Test {
 protected:
  TurnsTest() {
    turns_.Add(first_);
    turns_.Add(second_);
  }
  void Start() { executor_.Spawn(turns_.Run()); }
  // What happens in that time.
  std::vector<std::string> In(Duration time) {
    notes_.clear();
    executor_.RunFor(time);
    return std::exchange(notes_, {});
  }

  FakeClock clock_;
  cluster::World world_;
  HealthCheck health_{{}, clock_};
  std::vector<std::string> notes_;
  Executor executor_{clock_};
  Scripted first_{"first", executor_, notes_};
  Scripted second_{"second", executor_, notes_};
  Turns turns_{executor_, world_, health_};
};

TEST_F(TurnsTest, EachHasItsTurnWhenItIsDue) {
  first_.due = clock_.Now() + seconds(5);
  first_.again = seconds(10);
  second_.due = clock_.Now() + seconds(8);
  Start();
  EXPECT_THAT(In(seconds(4)), IsEmpty());
  EXPECT_THAT(In(seconds(2)), ElementsAre("first begins", "first ends"));
  EXPECT_THAT(In(seconds(20)), ElementsAre("second begins", "second ends", "first begins",
                                           "first ends", "first begins", "first ends"));
}

TEST_F(TurnsTest, WhoHasBeenDueForLongestIsFirstAndElseTheListDecides) {
  first_.due = second_.due = clock_.Now();
  Start();
  EXPECT_THAT(In(seconds(1)),
              ElementsAre("first begins", "first ends", "second begins", "second ends"));
  first_.due = clock_.Now() - seconds(1);
  second_.due = clock_.Now() - seconds(2);
  turns_.LookAgain();
  EXPECT_THAT(In(seconds(1)),
              ElementsAre("second begins", "second ends", "first begins", "first ends"));
}

TEST_F(TurnsTest, WhileOneWaitsForAnAnswerAnotherTakesItsTurn) {
  first_.due = clock_.Now();
  first_.takes = seconds(10);
  second_.due = clock_.Now() + seconds(3);
  Start();
  EXPECT_THAT(In(seconds(20)),
              ElementsAre("first begins", "second begins", "second ends", "first ends"));
}

TEST_F(TurnsTest, NobodyBeginsASecondPassBeforeTheEndOfTheFirst) {
  first_.due = clock_.Now();
  first_.takes = seconds(10);
  Start();
  EXPECT_THAT(In(seconds(1)), ElementsAre("first begins"));
  first_.due = clock_.Now();
  turns_.LookAgain();
  EXPECT_THAT(In(seconds(5)), IsEmpty());
}

TEST_F(TurnsTest, WhoKeepsOthersOutIsAloneUntilItSaysSo) {
  first_.due = clock_.Now();
  first_.takes = seconds(10);
  first_.alone = first_.alone_before = first_.alone_inside = true;
  second_.due = clock_.Now() + seconds(1);
  Start();
  EXPECT_THAT(In(seconds(5)), ElementsAre("first begins"));
  first_.alone = false;  // in mid-pass: its plan is made
  turns_.LookAgain();
  EXPECT_THAT(In(seconds(1)), ElementsAre("second begins", "second ends"));
  EXPECT_THAT(In(seconds(10)), ElementsAre("first ends"));
}

TEST_F(TurnsTest, WhoHasToBeAloneWaitsForTheOthersToEnd) {
  first_.due = clock_.Now() + seconds(1);
  first_.alone = first_.alone_before = true;
  second_.due = clock_.Now();
  second_.takes = seconds(10);
  Start();
  EXPECT_THAT(In(seconds(20)),
              ElementsAre("second begins", "second ends", "first begins", "first ends"));
}

TEST_F(TurnsTest, PassesOfOthersThatOverlapDoNotKeepOutWhoHasToBeAlone) {
  Scripted third("third", executor_, notes_);
  turns_.Add(third);
  first_.due = clock_.Now() + seconds(1);
  first_.alone = first_.alone_before = true;
  second_.due = clock_.Now();
  third.due = clock_.Now() + seconds(5);
  second_.takes = third.takes = seconds(10);
  second_.again = third.again = seconds(10);
  Start();
  EXPECT_THAT(In(seconds(9)), ElementsAre("second begins"));
  EXPECT_THAT(In(seconds(2)), ElementsAre("second ends", "first begins", "first ends",
                                          "third begins", "second begins"));
}

TEST_F(TurnsTest, WhoHasToBeAloneAndIsNotTheLongestDueKeepsNobodyWaiting) {
  Scripted third("third", executor_, notes_);
  turns_.Add(third);
  first_.due = clock_.Now() + seconds(7);
  first_.alone = first_.alone_before = true;
  second_.due = clock_.Now();
  third.due = clock_.Now() + seconds(5);
  second_.takes = third.takes = seconds(10);
  Start();
  EXPECT_THAT(In(seconds(9)), ElementsAre("second begins", "third begins"));
  EXPECT_THAT(In(seconds(9)),
              ElementsAre("second ends", "third ends", "first begins", "first ends"));
}

TEST_F(TurnsTest, WhatAPassImaginesAndTakesBackBeforeItWaitsKeepsNobody) {
  first_.due = second_.due = clock_.Now();
  first_.imagines = &world_;
  Start();
  EXPECT_THAT(In(seconds(20)),
              ElementsAre("first begins", "first ends", "second begins", "second ends"));
}

TEST_F(TurnsTest, WhoGivesTheThreadUpInTheMiddleOfAWhatIfEndsTheProcess) {
  first_.due = second_.due = clock_.Now();
  first_.takes = seconds(10);
  first_.imagines = &world_;
  EXPECT_DEATH(
      {
        Start();
        In(seconds(20));
      },
      "CHECK failed: world_.snapshot\\(\\).forks\\(\\) == 0");
}

TEST_F(TurnsTest, AWhatIfThatIsNeverTakenBackEndsTheProcessAtTheNextTurn) {
  first_.due = clock_.Now();
  first_.imagines = &world_;
  first_.forgets = true;
  EXPECT_DEATH(
      {
        Start();
        In(seconds(20));
      },
      "CHECK failed");
}

TEST_F(TurnsTest, NewsGoToAllAndHastenThem) {
  Start();
  EXPECT_THAT(In(seconds(5)), IsEmpty());
  turns_.Tell({Event::Kind::kPodGone});
  EXPECT_THAT(In(seconds(5)), IsEmpty());
  const model::Pod pod;
  turns_.Tell({Event::Kind::kPodWaits, &pod});
  EXPECT_THAT(In(seconds(0)),
              ElementsAre("first begins", "first ends", "second begins", "second ends"));
}

TEST_F(TurnsTest, StopLetsThePassUnderWayEndAndBeginsNoOther) {
  first_.due = clock_.Now();
  first_.takes = seconds(10);
  second_.due = clock_.Now() + seconds(5);
  Start();
  In(seconds(1));
  turns_.Stop();
  EXPECT_THAT(In(seconds(7)), IsEmpty());
  EXPECT_FALSE(turns_.over());
  EXPECT_THAT(In(seconds(7)), ElementsAre("first ends"));
  EXPECT_TRUE(turns_.over());
}

TEST_F(TurnsTest, ThePassesAreTheHealthOfTheProcess) {
  health_.StartMonitoring();
  first_.due = clock_.Now();
  first_.again = seconds(60);
  first_.succeeds = false;
  Start();
  In(std::chrono::minutes(30));
  EXPECT_THAT(health_.Trouble(), testing::HasSubstr("last successful loop"));
  first_.succeeds = true;
  In(std::chrono::minutes(2));
  EXPECT_EQ(health_.Trouble(), "");
}

TEST_F(TurnsTest, AnEngineThatWorksDoesNotHideOneThatFails) {
  health_.StartMonitoring();
  first_.due = second_.due = clock_.Now();
  first_.again = seconds(10);
  second_.again = seconds(1);
  Start();
  In(minutes(1));
  first_.succeeds = false;
  In(minutes(10));
  EXPECT_EQ(health_.Trouble(), "") << "the limit is a quarter of an hour";
  In(minutes(10));
  EXPECT_THAT(health_.Trouble(), testing::HasSubstr("last successful loop of first"));
  first_.succeeds = true;
  In(minutes(1));
  EXPECT_EQ(health_.Trouble(), "");
}

TEST_F(TurnsTest, AnEngineThatHangsInAPassShowsThoughTheOtherGoesOn) {
  health_.StartMonitoring();
  first_.due = second_.due = clock_.Now();
  first_.takes = std::chrono::hours(10);
  second_.again = seconds(1);
  Start();
  In(minutes(30));
  EXPECT_THAT(health_.Trouble(), testing::HasSubstr("last successful loop of first"));
}

TEST_F(TurnsTest, AnEngineThatIsNotDueIsNotLate) {
  health_.StartMonitoring();
  first_.due = second_.due = clock_.Now();  // the first never again by itself
  second_.again = seconds(1);
  Start();
  In(std::chrono::hours(3));
  first_.takes = seconds(5);
  first_.due = clock_.Now();
  turns_.LookAgain();
  In(seconds(3));
  EXPECT_EQ(health_.Trouble(), "") << "its pass has just begun";
}

}  // namespace
}  // namespace coppice::host
