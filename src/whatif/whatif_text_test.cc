// Text for people: long sections are cut with a count and the flag that shows the rest.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "whatif/whatif_output.h"

namespace coppice::whatif {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(WhatIfTextTest, PurchasesAreShortenedWithACount) {
  const auto report = std::make_shared<report::PassReport>();
  report->earlier_rounds.resize(12);
  for (auto& round : report->earlier_rounds) round.triggered = {std::make_shared<model::Pod>()};
  WhatIfPlan plan;
  plan.steps.push_back({.report = report});
  for (int i = 0; i < 25; ++i)
    plan.steps[0].bought.push_back({.group = "g" + std::to_string(i), .from = 0, .to = 1});
  EXPECT_THAT(
      AsText(plan, false),
      AllOf(HasSubstr("  +0s  and 5 groups more (--whole shows all)\n"),
            HasSubstr("and 4 decisions more (--whole shows all)\n"), Not(HasSubstr("in g20 "))));
  EXPECT_THAT(AsText(plan, true), AllOf(HasSubstr("in g24 "), Not(HasSubstr(" more"))));
}

TEST(WhatIfTextTest, PodsThatNeedNothingNewAreShortenedWithACount) {
  WhatIfPlan plan;
  for (int i = 0; i < 21; ++i) plan.fitting.push_back({std::make_shared<model::Pod>(), "n"});
  EXPECT_THAT(AsText(plan, false), HasSubstr("  and 1 pod more (--whole shows all)\n"));
}

TEST(WhatIfTextTest, GangsAreShortenedWithACount) {
  GangsPlan plan;
  for (int i = 0; i < 12; ++i) {
    plan.starting.push_back({"d/s" + std::to_string(i), 2, 1});
    report::WaitingGang waiting;
    waiting.gang = "d/w" + std::to_string(i);
    plan.waiting.push_back(std::move(waiting));
  }
  EXPECT_THAT(AsText(plan, false),
              AllOf(HasSubstr("d/s9 starts on what is there: 2 pods on 1 node\n"),
                    HasSubstr("  and 2 starting gangs more (--whole shows all)\n"),
                    HasSubstr("  and 2 waiting gangs more (--whole shows all)\n"),
                    Not(HasSubstr("d/w10 "))));
  EXPECT_THAT(AsText(plan, true), AllOf(HasSubstr("d/w11 waits"), Not(HasSubstr(" more"))));
}

}  // namespace
}  // namespace coppice::whatif
