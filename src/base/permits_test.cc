#include "base/permits.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/fake_clock.h"

namespace coppice {
namespace {

using std::chrono::seconds;
using ::testing::ElementsAre;

class PermitsTest : public testing::Test {
 protected:
  Task<void> Work(int number, Duration takes, Duration patience) {
    const auto permit = co_await permits_.Take(Deadline::In(clock_, patience));
    if (!permit) {
      notes_.push_back(std::to_string(number) + " gives up");
      co_return;
    }
    most_ = std::max(most_, ++working_);
    notes_.push_back(std::to_string(number));
    co_await executor_.Sleep(takes);
    --working_;
  }

  FakeClock clock_;
  std::vector<std::string> notes_;
  int working_ = 0;
  int most_ = 0;
  Executor executor_{clock_};
  Permits permits_{executor_, 2};
};

TEST_F(PermitsTest, SoManyAreAtWorkAtOnceAndTheOthersComeInTheirOrder) {
  for (int i = 0; i < 5; ++i) executor_.Spawn(Work(i, seconds(10), seconds(100)));
  executor_.RunFor(seconds(5));
  EXPECT_THAT(notes_, ElementsAre("0", "1"));
  executor_.RunFor(seconds(100));
  EXPECT_THAT(notes_, ElementsAre("0", "1", "2", "3", "4"));
  EXPECT_EQ(most_, 2);
}

TEST_F(PermitsTest, WhoHasNoPatienceLeavesItsTurnToTheNext) {
  executor_.Spawn(Work(0, seconds(10), seconds(1)));
  executor_.Spawn(Work(1, seconds(10), seconds(1)));
  executor_.Spawn(Work(2, seconds(10), seconds(5)));
  executor_.Spawn(Work(3, seconds(10), seconds(60)));
  executor_.RunFor(seconds(100));
  EXPECT_THAT(notes_, ElementsAre("0", "1", "2 gives up", "3"));
  executor_.Spawn(Work(4, seconds(10), seconds(1)));
  executor_.Spawn(Work(5, seconds(10), seconds(1)));
  executor_.RunFor(seconds(1));
  EXPECT_EQ(working_, 2) << "none was lost";
}

}  // namespace
}  // namespace coppice
