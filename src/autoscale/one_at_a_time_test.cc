// Who waits for whom before the expanders are asked.

#include "autoscale/one_at_a_time.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/fake_clock.h"

namespace coppice::autoscale {
namespace {

using std::chrono::seconds;
using testing::ElementsAre;
using testing::IsEmpty;

class OneAtATimeTest : public testing::Test {
 protected:
  // Goes in, stays for so long, and goes out.
  Task<void> Visit(std::string name, Duration stay) {
    const OneAtATime::Turn turn = co_await door_.Enter();
    seen_.push_back(name + " in");
    co_await executor_.Sleep(stay);
    seen_.push_back(name + " out");
  }

  FakeClock clock_;
  OneAtATime door_{executor_};
  std::vector<std::string> seen_;
  Executor executor_{clock_};  // its tasks use the others: they go first
};

TEST_F(OneAtATimeTest, WhoFindsNobodyInsideGoesInAtOnce) {
  executor_.Spawn(Visit("a", seconds(1)));
  executor_.RunUntilIdle();
  EXPECT_THAT(seen_, ElementsAre("a in"));
}

TEST_F(OneAtATimeTest, TheOthersGoInOneAfterTheOtherAsTheyCame) {
  executor_.Spawn(Visit("a", seconds(3)));
  executor_.Spawn(Visit("b", seconds(1)));
  executor_.Spawn(Visit("c", seconds(1)));
  executor_.RunFor(seconds(10));
  EXPECT_THAT(seen_, ElementsAre("a in", "a out", "b in", "b out", "c in", "c out"));
}

TEST_F(OneAtATimeTest, WhoComesAfterAllHaveLeftWaitsForNobody) {
  executor_.Spawn(Visit("a", seconds(1)));
  executor_.Spawn(Visit("b", seconds(1)));
  executor_.RunFor(seconds(10));
  seen_.clear();
  executor_.Spawn(Visit("c", seconds(1)));
  executor_.RunUntilIdle();
  EXPECT_THAT(seen_, ElementsAre("c in"));
}

TEST_F(OneAtATimeTest, ATurnThatIsHandedOnEndsWithWhoHasItLast) {
  std::vector<OneAtATime::Turn> kept;
  kept.push_back(executor_.BlockOn(door_.Enter()));
  executor_.Spawn(Visit("b", seconds(1)));
  executor_.RunFor(seconds(10));
  EXPECT_THAT(seen_, IsEmpty());
  kept.clear();
  executor_.RunFor(seconds(10));
  EXPECT_THAT(seen_, ElementsAre("b in", "b out"));
}

}  // namespace
}  // namespace coppice::autoscale
