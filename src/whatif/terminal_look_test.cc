#include "whatif/terminal_look.h"

#include <gtest/gtest.h>
#include <pty.h>
#include <unistd.h>

namespace coppice::whatif {
namespace {

constexpr char kLine[] =
    "day 1 06:00:00  + general-north1 1 -> 6              for 13 pods of web, 3 of search, 1 of "
    "api (least-waste: leaves 33.0% unused)";

TEST(TerminalTest, InAPipeLinesStayAsTheyAre) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const TerminalLook look = LookOf(ends[1], nullptr, "xterm");
  EXPECT_EQ(look.width, 0U);
  EXPECT_EQ(Shown(kLine, look), kLine);
  close(ends[0]);
  close(ends[1]);
}

TEST(TerminalTest, ATerminalHasAWidthAndColourUnlessNoneIsWanted) {
  int main_end = -1;
  int terminal = -1;
  const winsize size{.ws_row = 24, .ws_col = 132, .ws_xpixel = 0, .ws_ypixel = 0};
  ASSERT_EQ(openpty(&main_end, &terminal, nullptr, nullptr, &size), 0);
  EXPECT_EQ(LookOf(terminal, nullptr, "xterm").width, 132U);
  EXPECT_TRUE(LookOf(terminal, nullptr, "xterm").colour);
  EXPECT_TRUE(LookOf(terminal, "", "xterm").colour) << "set to nothing is not set";
  EXPECT_FALSE(LookOf(terminal, "1", "xterm").colour);
  EXPECT_FALSE(LookOf(terminal, nullptr, "dumb").colour);
  close(terminal);
  close(main_end);
}

TEST(TerminalTest, LongLinesAreBrokenBetweenWordsBelowTheText) {
  EXPECT_EQ(Shown(kLine, {.width = 80}),
            "day 1 06:00:00  + general-north1 1 -> 6              for 13 pods of web, 3 of\n"
            "                  search, 1 of api (least-waste: leaves 33.0% unused)");
  EXPECT_EQ(Shown("  a line of a table that is wider than the screen", {.width = 40}),
            "  a line of a table that is wider than the screen");
  const std::string word(100, 'x');
  EXPECT_EQ(Shown("day 1 06:00:00  + " + word, {.width = 40}), "day 1 06:00:00  + " + word)
      << "there is nowhere to break";
}

TEST(TerminalTest, TheMarkChoosesTheColour) {
  EXPECT_EQ(Shown("day 1 06:00:00  ! a b", {.colour = true}),
            "day 1 06:00:00  \x1b[31m! a b\x1b[0m");
  EXPECT_EQ(Shown("Summary", {.colour = true}), "Summary");
}

}  // namespace
}  // namespace coppice::whatif
