// What survives a restart: as text, and in an engine.

#include "autoscale/restart_memory.h"

#include <gmock/gmock.h>

#include "test/support/engine_rig.h"

namespace coppice::autoscale {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;
using ::testing::HasSubstr;

class RestartMemoryTest : public test::EngineRig {
 protected:
  Memory Some() {
    const TimePoint now = clock_.Now();
    Memory memory{.written = now,
                  .last_scale_up = now - seconds(5),
                  .last_delete = now - minutes(2),
                  .last_failure = now - hours(1)};
    memory.backoffs["pool \"a\""] = {
        .duration = minutes(10),
        .until = now + minutes(7),
        .last_failure = now - minutes(3),
        .why = {cloud::ErrorClass::kOutOfResources, "STOCKOUT", "none left\n\xC3\xA4"}};
    memory.backoffs["b"] = {.duration = minutes(5),
                            .until = now,
                            .last_failure = now,
                            .why = {cloud::ErrorClass::kOther, "timeout", ""}};
    return memory;
  }
  // A group that has just refused.
  void BackOff(std::vector<std::string> flags = {}) {
    AddGroup("web", 5);
    AddPod("pod", "cpu", 1);
    groups_.Fail("Increase", ResourceExhausted("sold out"));
    Assemble(std::move(flags), inline_, writer_);
    Pass();
    groups_.Fail("Increase", Status::Ok());
    ASSERT_TRUE(assembly_->engine().state().BackedOff("web", clock_.Now()));
  }
  bool BackedOffAfterRestart(std::vector<std::string> flags, Duration away) {
    const std::string left = FormatMemory(assembly_->engine().Remember(clock_.Now())).text;
    clock_.Set(clock_.Now() + away);
    Assemble(std::move(flags), inline_, writer_);
    assembly_->engine().Recall(MUST(ParseMemory(left)), clock_.Now());
    return StillBackedOff();
  }
  bool StillBackedOff() {
    const auto ends = assembly_->engine().state().BackoffEnds("web");
    return ends && *ends >= clock_.Now();
  }
};

TEST_F(RestartMemoryTest, ComesBackAsItWasWritten) {
  const Memory memory = Some();
  EXPECT_EQ(MUST(ParseMemory(FormatMemory(memory).text)), memory);
}

TEST_F(RestartMemoryTest, OfTooManyBackOffsThoseThatLastLongestAreWritten) {
  Memory memory = Some();
  memory.backoffs.clear();
  for (int i = 0; i < 2'000; ++i) {
    memory.backoffs["group-" + std::to_string(i)] = {
        .duration = minutes(5),
        .until = clock_.Now() + seconds(i),
        .last_failure = clock_.Now(),
        .why = {cloud::ErrorClass::kOther, "code", std::string(10'000, 'x')}};
  }
  memory.backoffs[std::string(300'000, 'n')] = memory.backoffs.at("group-1999");
  const MemoryText written = FormatMemory(memory);
  EXPECT_LE(written.text.size(), kMaxMemoryBytes);
  EXPECT_GT(written.text.size(), kMaxMemoryBytes * 9 / 10);
  const Memory read = MUST(ParseMemory(written.text));
  EXPECT_EQ(read.last_delete, memory.last_delete);
  EXPECT_EQ(read.backoffs.size() + written.left_out, memory.backoffs.size());
  ASSERT_GT(read.backoffs.size(), 100U);
  for (size_t i = 0; i < read.backoffs.size(); ++i)
    EXPECT_TRUE(read.backoffs.contains("group-" + std::to_string(1'999 - i))) << i;
}

TEST_F(RestartMemoryTest, ATextIsNotCutWithinACharacter) {
  Memory memory = Some();
  memory.backoffs.at("b").why.message = std::string(199, 'x') + "\xC3\xA4";
  const MemoryText written = FormatMemory(memory);
  EXPECT_EQ(MUST(ParseMemory(written.text)).backoffs.at("b").why.message, std::string(199, 'x'));
}

TEST_F(RestartMemoryTest, WhatIsNoMemoryIsSaidAndNonsenseCountsForNothing) {
  EXPECT_FALSE(ParseMemory("").ok());
  EXPECT_FALSE(ParseMemory("[1]").ok());
  const Memory memory = MUST(ParseMemory(
      R"({"written":-7,"scaledUp":"now","backoffs":{"a":{"for":1e300,"until":99999999999999},"b":3}})"));
  EXPECT_EQ(memory.written, TimePoint());
  EXPECT_EQ(memory.last_scale_up, TimePoint());
  ASSERT_EQ(memory.backoffs.size(), 1U);
  EXPECT_EQ(memory.backoffs.at("a").until, TimePoint());
}

TEST_F(RestartMemoryTest, ABackoffGoesOnInTheNextProcess) {
  BackOff();
  EXPECT_TRUE(BackedOffAfterRestart({}, minutes(1)));
  EXPECT_EQ(Pass()->scale_up.result, report::ScaleUpResult::kNoOptionsAvailable);
  clock_.Set(clock_.Now() + minutes(5));
  EXPECT_EQ(Pass()->scale_up.result, report::ScaleUpResult::kSuccessful);
}

TEST_F(RestartMemoryTest, AsUpstreamItDoesNot) {
  BackOff({"--initial-node-group-backoff-duration=20m"});
  EXPECT_FALSE(BackedOffAfterRestart({"--survive-restarts=false"}, minutes(1)));
}

TEST_F(RestartMemoryTest, WhoWasAwayForLongHasSeenNothing) {
  BackOff({"--initial-node-group-backoff-duration=20m"});
  EXPECT_FALSE(BackedOffAfterRestart({}, minutes(11)));
}

TEST_F(RestartMemoryTest, AWrongClockMakesNoBackoffEndless) {
  BackOff();
  Memory memory = assembly_->engine().Remember(clock_.Now());
  memory.backoffs.at("web").until += hours(1'000);
  memory.backoffs.at("web").duration = hours(1'000);
  Assemble({}, inline_, writer_);
  assembly_->engine().Recall(memory, clock_.Now());
  EXPECT_TRUE(StillBackedOff());
  clock_.Set(clock_.Now() + minutes(31));
  EXPECT_FALSE(StillBackedOff());
}

}  // namespace
}  // namespace coppice::autoscale
