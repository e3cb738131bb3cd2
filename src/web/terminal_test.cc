#include "web/terminal.h"

#include <gmock/gmock.h>

#include "web/site_rig.h"

namespace coppice::web {
namespace {

TEST(TerminalTest, APodAsItIsPrinted) {
  SiteRig rig;
  const auto text = ExplainedAsText(rig.Ask("/api/v1/explain?pod=shop/web-1").body);
  ASSERT_TRUE(text.ok());
  EXPECT_EQ(*text,
            "pod shop/web-1 (pass of 2026-01-05 06:00:00Z)\n"
            "  pod didn't trigger scale-up: 1 max node group size reached\n"
            "  g  max node group size reached\n"
            "nearest: group g would take it if its maximum of 3 were 4\n");
}

TEST(TerminalTest, ANodeAndAGroupAsTheyArePrinted) {
  SiteRig rig;
  EXPECT_EQ(*ExplainedAsText(rig.Ask("/api/v1/explain?node=n2").body),
            "node n2 of g: unneeded\n"
            "  cpu 1%, memory 1%, 0 pods\n"
            "  goes at 2026-01-05 06:06:00Z if nobody needs it until then\n"
            "  NotUnneededLongEnough: unneeded for 4m0s of 10m0s\n");
  EXPECT_EQ(*ExplainedAsText(rig.Ask("/api/v1/explain?group=g").body),
            "group g: 3 wanted, 2 ready, between 1 and 3\n"
            "  refuses 2 pods, such as shop/web-1: max node group size reached\n");
  EXPECT_EQ(*DecisionsAsText(rig.Ask("/api/v1/decisions").body),
            "2026-01-05 06:00:00Z  . 2 pods of web: 1 max node group size reached; group g would "
            "take it if its maximum of 3 were 4\n");
}

TEST(TerminalTest, NothingThatTheServerSaysSteersTheTerminal) {
  const auto text = ExplainedAsText(
      R"({"pod":"a\u001b[2Jb","lines":["\u0007one\ntwo"],"groups":[{"group":"g\u009b1m","text":"\u202egnp – größer → x"}]})");
  EXPECT_EQ(*text, "pod a?[2Jb (pass of ?)\n  ?one?two\n  g?1m  ?gnp – größer → x\n");
  EXPECT_EQ(ErrorOf("{\"error\":\"\\u001b[31mno\"}"), "?[31mno");
  EXPECT_EQ(ErrorOf("\x1b]0;t\a"), "?]0;t?");
  EXPECT_EQ(*DecisionsAsText(R"({"decisions":[{"title":"\u001b","why":"\u007f"}]})"),
            "?  . ?: ?\n");
}

TEST(TerminalTest, WhoLeadsInsteadIsReadFromHealth) {
  EXPECT_EQ(OtherLeaderOf(R"({"leads":false,"leader":"coppice-7"})"), "coppice-7");
  for (const char* health : {R"({"leads":true,"leader":"a"})", R"({"leads":false,"leader":""})",
                             R"({"leader":"a"})", "[]", "<"})
    EXPECT_EQ(OtherLeaderOf(health), "") << health;
}

TEST(TerminalTest, AnotherServersAnswerIsRefused) {
  EXPECT_FALSE(ExplainedAsText("<html>").ok());
  EXPECT_FALSE(ExplainedAsText("[]").ok());
  EXPECT_TRUE(ExplainedAsText(R"({"pod":{},"lines":[1,{}],"groups":[[],1]})").ok());
  EXPECT_EQ(ErrorOf(R"({"error":"no"})"), "no");
}

}  // namespace
}  // namespace coppice::web
