#include "model/verdict.h"

#include <gtest/gtest.h>

namespace coppice::model {
namespace {

TEST(VerdictTest, YesSaysNothingMore) {
  const Verdict yes = Verdict::Yes();
  EXPECT_TRUE(yes.yes());
  EXPECT_TRUE(yes.reasons().empty());
  EXPECT_EQ(yes.ToString(), "yes");
}

TEST(VerdictTest, NoSaysWhoAndWhy) {
  const Verdict no =
      Verdict::No({.plugin = "NodeResourcesFit",
                   .code = VerdictCode::kUnschedulable,
                   .reasons = {"Insufficient cpu", "Insufficient memory"},
                   .shortfalls = {{.what = "cpu", .asked = 500, .free = 100, .capacity = 4000}}});
  EXPECT_FALSE(no);
  EXPECT_EQ(no.ToString(),
            "NodeResourcesFit: Unschedulable: Insufficient cpu, Insufficient memory");
  EXPECT_EQ(no.shortfalls().at(0).missing(), 400);
}

TEST(VerdictTest, EqualRefusalsAreEqualVerdicts) {
  const auto refuse = [] {
    return Verdict::No("NodeName", VerdictCode::kUnschedulableAndUnresolvable, "no");
  };
  EXPECT_EQ(refuse(), refuse());
  EXPECT_FALSE(refuse() == Verdict::Yes());
  EXPECT_EQ(Verdict::Yes(), Verdict::Yes());
}

}  // namespace
}  // namespace coppice::model
