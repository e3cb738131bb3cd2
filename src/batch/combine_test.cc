#include "batch/combine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

namespace coppice::batch {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

struct Says final : Preemptable, JobPipelined, JobStarving, JobOrder {
  std::vector<Task*> victims;
  int vote = 1;
  bool starving = true;
  int order = 0;
  int asked = 0;

  Victims PreemptVictims(const Task&, std::span<Task* const>) override {
    ++asked;
    return {.tasks = victims, .vote = vote};
  }
  int JobPipelinedVote(const Job&) override { return ++asked, vote; }
  bool IsJobStarving(const Job&) override { return ++asked, starving; }
  int CompareJobs(const Job&, const Job&) override { return order; }
};

class CombineTest : public testing::Test {
 protected:
  CombineTest() {
    for (size_t i = 0; i < 3; ++i) tasks_[i].uid = kUids[i];
  }

  // One entry per tier and place, all flags on.
  Combine With(bool exact, const std::vector<std::vector<Says*>>& tiers) {
    std::vector<Tier> conf;
    std::map<std::string, Slots> slots;
    for (const auto& tier : tiers) {
      conf.emplace_back();
      for (Says* says : tier) {
        PluginOption option{.name = "p" + std::to_string(slots.size())};
        option.flags.fill(true);
        slots[option.name] = {
            .job_order = says, .preemptable = says, .job_pipelined = says, .job_starving = says};
        conf.back().plugins.push_back(std::move(option));
      }
    }
    Combine combine(exact);
    combine.Build(conf, slots);
    return combine;
  }

  static constexpr std::array<std::string_view, 3> kUids{"a", "b", "c"};
  std::array<Task, 3> tasks_;
  Job job_{model::PodGroup{}};
  Says first_;
  Says second_;
  Says third_;
};

TEST_F(CombineTest, EveryFunctionHasOneRule) {
  std::set<std::string_view> names;
  for (const RuleLine& line : kRules) EXPECT_TRUE(names.insert(line.function).second);
  EXPECT_EQ(names.size(), kRules.size());
}

TEST_F(CombineTest, VictimsOfATierAreThoseThatAllAgreeOn) {
  first_.victims = {&tasks_[0], &tasks_[1]};
  second_.victims = {&tasks_[1], &tasks_[2]};
  for (const bool exact : {false, true}) {
    EXPECT_THAT(With(exact, {{&first_, &second_}}).Preemptable(tasks_[0], {}),
                ElementsAre(&tasks_[1]));
  }
}

TEST_F(CombineTest, AnEmptyIntersectionStaysEmptyUnlessExact) {
  first_.victims = {&tasks_[0]};
  second_.victims = {&tasks_[1]};
  third_.victims = {&tasks_[2]};
  const std::vector<std::vector<Says*>> tiers{{&first_, &second_, &third_}};
  EXPECT_THAT(With(false, tiers).Preemptable(tasks_[0], {}), IsEmpty());
  EXPECT_THAT(With(true, tiers).Preemptable(tasks_[0], {}), ElementsAre(&tasks_[2]));
}

TEST_F(CombineTest, ATierThatLetsNobodyGoDecidesUnlessExact) {
  second_.victims = {&tasks_[1]};
  const std::vector<std::vector<Says*>> tiers{{&first_}, {&second_}};
  EXPECT_THAT(With(false, tiers).Preemptable(tasks_[0], {}), IsEmpty());
  EXPECT_THAT(With(true, tiers).Preemptable(tasks_[0], {}), ElementsAre(&tasks_[1]));
}

TEST_F(CombineTest, AbstainingLeavesItToTheOthers) {
  first_.vote = 0;
  second_.victims = {&tasks_[1]};
  EXPECT_THAT(With(false, {{&first_}, {&second_}}).Preemptable(tasks_[0], {}),
              ElementsAre(&tasks_[1]));
}

TEST_F(CombineTest, AVoteForItInAnEarlierTierEndsIt) {
  second_.vote = -1;
  EXPECT_TRUE(With(false, {{&first_}, {&second_}}).IsJobPipelined(job_));
  EXPECT_EQ(second_.asked, 0);
  EXPECT_FALSE(With(false, {{&first_, &second_}}).IsJobPipelined(job_));
}

TEST_F(CombineTest, OnlyTheFirstTierSaysWhoStarves) {
  second_.starving = false;
  EXPECT_TRUE(With(false, {{&first_}, {&second_}}).IsJobStarving(job_));
  EXPECT_FALSE(With(false, {{&first_, &second_}}).IsJobStarving(job_));
  EXPECT_FALSE(With(false, {}).IsJobStarving(job_));
}

TEST_F(CombineTest, TheFirstOpinionOrders) {
  second_.order = -1;
  third_.order = 1;
  EXPECT_EQ(With(false, {{&first_}, {&second_, &third_}}).CompareJobs(job_, job_), -1);
}

TEST_F(CombineTest, WhoIsNamedTwiceCountsTwiceInExactModeOnly) {
  first_.victims = {&tasks_[0], &tasks_[1]};
  second_.victims = {&tasks_[1], &tasks_[1]};
  EXPECT_THAT(With(false, {{&first_, &second_}}).Preemptable(tasks_[0], {}),
              ElementsAre(&tasks_[1]));
  EXPECT_THAT(With(true, {{&first_, &second_}}).Preemptable(tasks_[0], {}),
              ElementsAre(&tasks_[1], &tasks_[1]));
}

}  // namespace
}  // namespace coppice::batch
