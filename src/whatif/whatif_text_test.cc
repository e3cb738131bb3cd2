// Text for people: long sections are cut with a count and the flag that shows the rest.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "whatif/whatif_output.h"

namespace coppice::whatif {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

// All of the same length, so that none begins with another.
std::string Item(const char* kind, size_t i) { return kind + std::to_string(100 + i); }

report::PodPtr NamedPod(size_t i) {
  auto pod = std::make_shared<model::Pod>();
  pod->metadata.namespace_ = "d";
  pod->metadata.name = Item("p", i);
  return pod;
}

// One step, whose report the caller fills.
std::shared_ptr<report::PassReport> AddStep(WhatIfPlan& plan, size_t after = 0) {
  auto report = std::make_shared<report::PassReport>();
  plan.steps.push_back({.after = std::chrono::seconds(after), .report = report});
  return report;
}

// The report of how it ended.
std::shared_ptr<report::PassReport> End(WhatIfPlan& plan) {
  auto report = std::make_shared<report::PassReport>();
  plan.last = report;
  return report;
}

struct Section {
  std::string name;
  size_t shown;                                   // so many of them, unless all are asked for
  std::function<void(WhatIfPlan&, size_t n)> of;  // a plan with so many of them
  const char* kind;                               // of which each is Item(kind, i),
  std::string before, after;                      // with this around it
  std::string rest;                               // the line about the last two
};

std::vector<Section> OfTheCluster() {
  return {{"Groups", 20,
           [](WhatIfPlan& plan, size_t n) {
             for (size_t i = 0; i < n; ++i) plan.groups_before.push_back({.name = Item("g", i)});
           },
           "g", "  ", " ", "  and 2 groups that stay as they are (--whole shows all)\n"},
          {"PodsOfARemovedNode", 20,
           [](WhatIfPlan& plan, size_t n) {
             RemovalAnswer& answer = plan.removals.emplace_back();
             answer.drains = true;
             for (size_t i = 0; i < n; ++i)
               answer.pods.push_back({.pod = NamedPod(i), .text = "n"});
           },
           "p", "  d/", "  moves to  n\n", "  and 2 pods more that may go (--whole shows all)\n"},
          {"PodsThatFit", 20,
           [](WhatIfPlan& plan, size_t n) {
             for (size_t i = 0; i < n; ++i) plan.fitting.push_back({NamedPod(i), "n"});
           },
           "p", "  d/", "  fits n\n", "  and 2 pods more (--whole shows all)\n"},
          {"GangsThatStart", 10,
           [](WhatIfPlan& plan, size_t n) {
             plan.gangs.emplace();
             for (size_t i = 0; i < n; ++i)
               plan.gangs->starting.push_back({"d/" + Item("s", i), 2, 1});
           },
           "s", "d/", " starts on what is there: 2 pods on 1 node\n",
           "  and 2 starting gangs more (--whole shows all)\n"},
          {"GangsThatWait", 10,
           [](WhatIfPlan& plan, size_t n) {
             plan.gangs.emplace();
             for (size_t i = 0; i < n; ++i) {
               report::WaitingGang waiting;
               waiting.gang = "d/" + Item("w", i);
               plan.gangs->waiting.push_back(std::move(waiting));
             }
           },
           "w", "d/", " waits", "  and 2 waiting gangs more (--whole shows all)\n"}};
}

std::vector<Section> OfPurchases() {
  return {
      {"Steps", 20,
       [](WhatIfPlan& plan, size_t n) {
         for (size_t i = 0; i < n; ++i) {
           AddStep(plan, i);
           plan.steps.back().bought.push_back({.group = Item("g", i), .from = 0, .to = 1});
         }
       },
       "g", "buy 1 node in ", " (0 -> 1", "  and 2 steps more (--whole shows all)\n"},
      {"GroupsThatGrow", 20,
       [](WhatIfPlan& plan, size_t n) {
         AddStep(plan, 3);
         for (size_t i = 0; i < n; ++i)
           plan.steps[0].bought.push_back({.group = Item("g", i), .from = 0, .to = 1});
       },
       "g", "  +3s  buy 1 node in ", " (0 -> 1", "  +3s  and 2 groups more (--whole shows all)\n"},
      {"RoundsOfAPass", 8,
       [](WhatIfPlan& plan, size_t n) {
         const auto report = AddStep(plan);
         report->earlier_rounds.resize(n);
         for (size_t i = 0; i < n; ++i) report->earlier_rounds[i].triggered = {NamedPod(i)};
       },
       "p", "      for 1 pod: d/", "\n", "      and 2 decisions more (--whole shows all)\n"},
      {"OptionsThatWereCompared", 8,
       [](WhatIfPlan& plan, size_t n) {
         const auto report = AddStep(plan);
         for (size_t i = 0; i < n; ++i)
           report->scale_up.options.push_back({.group = Item("g", i), .nodes = 1, .pods = 2});
       },
       "g", " ", " (1 node for 2 pods)", "        and 2 groups more (--whole shows all)\n"},
      {"KindsThatNothingHelps", 20,
       [](WhatIfPlan& plan, size_t n) {
         const auto report = End(plan);
         for (size_t i = 0; i < n; ++i)
           report->scale_up.unhelped.push_back({.pods = {NamedPod(i)}});
       },
       "p", "  d/", "\n", "  and 2 kinds more (--whole shows all)\n"},
      {"GroupsThatHelpNobody", 8,
       [](WhatIfPlan& plan, size_t n) {
         report::Unhelped kind{.pods = {NamedPod(0)}};
         for (size_t i = 0; i < n; ++i) {
           kind.rejected.emplace(Item("g", i),
                                 model::Verdict::No("Filter", model::VerdictCode::kUnschedulable,
                                                    "too small for it"));
         }
         End(plan)->scale_up.unhelped.push_back(std::move(kind));
       },
       "g", "    ", "  ", "    and 2 groups more (--whole shows all)\n"}};
}

std::vector<Section> OfRemovals() {
  return {
      {"NodesThatGo", 20,
       [](WhatIfPlan& plan, size_t n) {
         const auto report = AddStep(plan, 60);
         for (size_t i = 0; i < n; ++i)
           report->scale_down.removed.push_back({.node = Item("n", i), .group = "g"});
       },
       "n", "  +1m0s  remove ", " (g), empty\n", "  +1m0s  and 2 nodes more (--whole shows all)\n"},
      {"MovesOfANode", 5,
       [](WhatIfPlan& plan, size_t n) {
         report::RemovedNode& node = AddStep(plan)->scale_down.removed.emplace_back();
         for (size_t i = 0; i < n; ++i) node.moves.push_back({NamedPod(i), "other"});
       },
       "p", "      d/", " moves to other\n", "      and 2 pods more (--whole shows all)\n"},
      {"NodesThatStayForOneReason", 20,
       [](WhatIfPlan& plan, size_t n) {
         const auto report = End(plan);
         for (size_t i = 0; i < n; ++i) {
           report->scale_down.staying.push_back(
               {.node = Item("n", i), .reason = report::StayReason::kBlockedByPod});
         }
         // Of another reason, which has a row of its own.
         report->scale_down.staying_untold.push_back(
             {.node = "alone", .reason = report::StayReason::kCooldown});
       },
       "n", "  ", "  ", "  ... 2 more  "}};
}

std::vector<Section> AllSections() {
  std::vector<Section> all;
  for (const auto& some : {OfTheCluster(), OfPurchases(), OfRemovals()})
    all.insert(all.end(), some.begin(), some.end());
  return all;
}

class ShortenedSectionTest : public testing::TestWithParam<Section> {
 protected:
  static std::string Text(size_t n, bool whole) {
    WhatIfPlan plan;
    GetParam().of(plan, n);
    return AsText(plan, whole);
  }
  static std::string Shown(size_t i) {
    return GetParam().before + Item(GetParam().kind, i) + GetParam().after;
  }
};

TEST_P(ShortenedSectionTest, TellsTheFirstAndCountsTheRest) {
  const size_t most = GetParam().shown;
  const std::string cut = Text(most + 2, false);
  EXPECT_THAT(cut, AllOf(HasSubstr(Shown(0)), HasSubstr(Shown(most - 1)), HasSubstr("--whole"),
                         HasSubstr(GetParam().rest), Not(HasSubstr(Item(GetParam().kind, most)))));
  EXPECT_THAT(Text(most + 2, true),
              AllOf(HasSubstr(Shown(most)), HasSubstr(Shown(most + 1)), Not(HasSubstr("--whole"))));
}

TEST_P(ShortenedSectionTest, LeavesNothingOutThatHasRoom) {
  const size_t most = GetParam().shown;
  EXPECT_EQ(Text(most, false), Text(most, true));
  EXPECT_THAT(Text(most, false), AllOf(HasSubstr(Shown(most - 1)), Not(HasSubstr("--whole"))));
}

INSTANTIATE_TEST_SUITE_P(Sections, ShortenedSectionTest, testing::ValuesIn(AllSections()),
                         [](const auto& row) { return row.param.name; });

TEST(WhatIfTextTest, WhoKeepsANodeIsNamedHoweverManyMayGo) {
  WhatIfPlan plan;
  RemovalAnswer& answer = plan.removals.emplace_back();
  for (size_t i = 0; i < 25; ++i) answer.pods.push_back({.pod = NamedPod(i), .text = "n"});
  answer.pods[23].kind = RemovalAnswer::PodFate::Kind::kBlocks;
  answer.pods[24].kind = RemovalAnswer::PodFate::Kind::kNoPlace;
  EXPECT_THAT(AsText(plan, false),
              AllOf(HasSubstr("d/p123  BLOCKS"), HasSubstr("d/p124  PENDING"),
                    HasSubstr("and 3 pods more that may go"), Not(HasSubstr("d/p122"))));
}

TEST(WhatIfTextTest, AGroupThatChangesIsNamedHoweverManyStay) {
  WhatIfPlan plan;
  for (size_t i = 0; i < 25; ++i) plan.groups_before.push_back({.name = Item("g", i)});
  plan.groups_after = plan.groups_before;
  plan.groups_after[24].target = 3;
  EXPECT_THAT(AsText(plan, false),
              AllOf(HasSubstr("g124"), HasSubstr("3 (+3)"), HasSubstr("and 4 groups that stay")));
}

TEST(WhatIfTextTest, WhatAnExpanderSaidEndsWhereAPartOfItEnds) {
  WhatIfPlan plan;
  const auto report = AddStep(plan);
  report->scale_up.options.resize(2);
  report::ExpanderStep& step = report->scale_up.chosen_by.emplace_back();
  step.expander = "least-waste";
  for (size_t i = 0; i < 40; ++i)
    step.scores.push_back({.group = Item("g", i), .value = 1, .text = "wastes 12.5%"});
  EXPECT_THAT(AsText(plan, false),
              AllOf(HasSubstr(" wastes 12.5%; ... (--whole shows all)\n"), Not(HasSubstr("g139"))));
  EXPECT_THAT(AsText(plan, true), AllOf(HasSubstr("g139 wastes"), Not(HasSubstr("--whole"))));
}

}  // namespace
}  // namespace coppice::whatif
