// What any Expander must do. A plug-in's test says how to make one, and gets these tests:
//
//   struct MyExpanderUnderTest {
//     // Made anew, as the autoscaler would; `context` carries clock, rng, log and metrics.
//     std::unique_ptr<expand::Expander> Make(const expand::ExpanderContext& context);
//     // Adds to the surroundings what the expander needs (ConfigMaps, for example).
//     void Surround(expand::Surroundings& around);
//   };
//   INSTANTIATE_TYPED_TEST_SUITE_P(MyExpander, ExpanderSuite, MyExpanderUnderTest);
//
// (within namespace coppice::conformance). A fresh object per test. What the best option is, is the
// expander's own business and in its own tests.

#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "base/fake_clock.h"
#include "expand/expander.h"
#include "test/support/option_set.h"

namespace coppice::conformance {

// An expander as it is at the start, with what it was made with: for its own tests.
template <class UnderTest>
struct Fresh {
  FakeClock clock{};
  SeededRng rng{1};
  Log log = Log::Null();
  Metrics metrics{};
  std::unique_ptr<expand::Expander> expander =
      UnderTest().Make({.clock = clock, .rng = rng, .log = log, .metrics = metrics});
  expand::Expander* operator->() const { return expander.get(); }
};

// The groups that a fresh expander leaves of these.
template <class UnderTest>
std::vector<std::string> Left(const std::vector<test::AnOption>& wanted,
                              const expand::Surroundings& around = {}) {
  const Fresh<UnderTest> expander;
  const test::OptionSet set(wanted);
  return test::GroupsOf(expander->Narrow(set.options(), around));
}

template <class UnderTest>
class ExpanderSuite : public testing::Test {
 protected:
  std::unique_ptr<expand::Expander> Make(Rng& rng) {
    return under_test_.Make({.clock = clock_, .rng = rng, .log = log_, .metrics = metrics_});
  }

  expand::Options Narrow(expand::Expander& expander, const expand::Options& options) {
    expand::Surroundings around;
    around.cluster_nodes = 10;
    for (const expand::Option* option : options) {
      if (option->node != nullptr) around.templates.emplace_back(option->group, option->node);
    }
    under_test_.Surround(around);
    return expander.Narrow(options, around);
  }

  // Sizes and amounts that occur, and a few that should not.
  static void Fill(test::OptionSet& set, Rng& rng, size_t count) {
    static constexpr int64_t kAmounts[] = {0, 1, 250, 1'000, 4'000, 64'000};
    const auto any = [&rng] { return kAmounts[rng.Below(std::size(kAmounts))]; };
    for (size_t i = 0; i < count; ++i) {
      set.Add({.group = "group-" + std::to_string(i),
               .nodes = static_cast<int>(rng.Below(6)),
               .pods = static_cast<int>(rng.Below(8)),
               .pod_cpu_millis = any(),
               .pod_memory_mib = any(),
               .node_cpu_millis = any(),
               .node_memory_mib = any(),
               .has_template = rng.Below(8) != 0,
               .debug = rng.Below(2) == 0 ? "a word about it" : ""});
    }
  }

  // True if `some` can be had from `all` by leaving out.
  static bool LeavesOutOnly(const expand::Options& some, const expand::Options& all) {
    auto at = all.begin();
    for (const expand::Option* option : some) {
      at = std::find(at, all.end(), option);
      if (at == all.end()) return false;
      ++at;
    }
    return true;
  }

  FakeClock clock_;
  Log log_ = Log::Null();
  Metrics metrics_;
  UnderTest under_test_;
};
TYPED_TEST_SUITE_P(ExpanderSuite);

TYPED_TEST_P(ExpanderSuite, NoOptionsGiveNone) {
  SeededRng rng(1);
  const auto expander = this->Make(rng);
  EXPECT_THAT(this->Narrow(*expander, {}), testing::IsEmpty());
}

TYPED_TEST_P(ExpanderSuite, LeavesOutAndNeitherInventsNorReorders) {
  SeededRng rng(2);
  const auto expander = this->Make(rng);
  for (int round = 0; round < 50; ++round) {
    test::OptionSet set;
    this->Fill(set, rng, 1 + rng.Below(12));
    const expand::Options kept = this->Narrow(*expander, set.options());
    EXPECT_TRUE(this->LeavesOutOnly(kept, set.options()))
        << "round " << round << ": " << testing::PrintToString(test::GroupsOf(kept));
    EXPECT_TRUE(!expander->PicksOne() || kept.size() == 1) << "round " << round;
  }
}

TYPED_TEST_P(ExpanderSuite, TheSameSeedChoosesTheSame) {
  std::vector<std::vector<std::string>> answers[2];
  for (auto& answer : answers) {
    SeededRng chance(3);
    const auto expander = this->Make(chance);
    SeededRng cases(4);
    for (int round = 0; round < 20; ++round) {
      test::OptionSet set;
      this->Fill(set, cases, 10);
      answer.push_back(test::GroupsOf(this->Narrow(*expander, set.options())));
    }
  }
  EXPECT_EQ(answers[0], answers[1]);
}

TYPED_TEST_P(ExpanderSuite, WhatWasAskedBeforeDoesNotMatter) {
  SeededRng rng(5);
  const auto expander = this->Make(rng);
  if (expander->PicksOne()) GTEST_SKIP() << "draws lots";
  test::OptionSet set;
  this->Fill(set, rng, 10);
  test::OptionSet other;
  this->Fill(other, rng, 10);
  const expand::Options first = this->Narrow(*expander, set.options());
  (void)this->Narrow(*expander, other.options());
  EXPECT_EQ(this->Narrow(*expander, set.options()), first);
}

// An option whose numbers are at the ends of what they can be is an answer like any other.
TYPED_TEST_P(ExpanderSuite, OddOptionsAreSurvived) {
  SeededRng rng(6);
  const auto expander = this->Make(rng);
  test::OptionSet set;
  set.Add({.group = "", .nodes = 0, .pods = 0});
  set.Add({.group = "no template", .has_template = false});
  set.Add({.group = "empty node", .node_cpu_millis = 0, .node_memory_mib = 0});
  set.Add({.group = "pods that ask for nothing", .pod_cpu_millis = 0, .pod_memory_mib = 0});
  set.Add({.group = "below nothing", .nodes = std::numeric_limits<int>::min()});
  set.Add({.group = "above all", .nodes = std::numeric_limits<int>::max()});
  set.Add({.group = std::string(10'000, 'x')});
  EXPECT_TRUE(this->LeavesOutOnly(this->Narrow(*expander, set.options()), set.options()));
}

TYPED_TEST_P(ExpanderSuite, ThousandsOfOptionsAreFine) {
  SeededRng rng(7);
  const auto expander = this->Make(rng);
  test::OptionSet set;
  this->Fill(set, rng, 3'000);
  const expand::Options kept = this->Narrow(*expander, set.options());
  EXPECT_FALSE(kept.empty());
  EXPECT_TRUE(this->LeavesOutOnly(kept, set.options()));
}

REGISTER_TYPED_TEST_SUITE_P(ExpanderSuite, NoOptionsGiveNone, LeavesOutAndNeitherInventsNorReorders,
                            TheSameSeedChoosesTheSame, WhatWasAskedBeforeDoesNotMatter,
                            OddOptionsAreSurvived, ThousandsOfOptionsAreFine);

}  // namespace coppice::conformance
