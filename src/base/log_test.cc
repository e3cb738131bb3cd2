#include "base/log.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <limits>
#include <thread>

#include "base/fake_clock.h"

namespace coppice {
namespace {

using std::chrono::milliseconds;

class LogTest : public testing::Test {
 protected:
  Log Make(LogFormat format, LogLevel lowest = LogLevel::kDebug) {
    return {clock_, [this](std::string_view line) { lines_ += line; }, format, lowest};
  }

  FakeClock clock_;
  std::string lines_;
};

TEST_F(LogTest, WritesOneJsonObjectPerLine) {
  const Log log = Make(LogFormat::kJson);
  clock_.Advance(milliseconds(1'234));
  const std::string group = "workers";
  log.Info("scale-up decided", {{"group", group},
                                {"delta", 3},
                                {"big", uint64_t{1} << 63},
                                {"ratio", 0.5},
                                {"dry", true},
                                {"took", milliseconds(1'500)},
                                {"error", NotFound("gone")}});
  EXPECT_EQ(
      lines_,
      R"({"time":"2026-01-01T00:00:01.234Z","level":"info","msg":"scale-up decided","group":"workers",)"
      R"("delta":3,"big":9223372036854775808,"ratio":0.5,"dry":true,"took":1.5,)"
      R"("error":"NotFound: gone"})"
      "\n");
}

TEST_F(LogTest, NoValueCanBreakTheJsonLine) {
  const Log log = Make(LogFormat::kJson);
  log.Error("x", {{"a\"b", "line\nbreak \"quoted\" \\ \xFF"},
                  {"nan", std::numeric_limits<double>::quiet_NaN()},
                  {"inf", -std::numeric_limits<double>::infinity()}});
  EXPECT_EQ(lines_, R"({"time":"2026-01-01T00:00:00.000Z","level":"error","msg":"x",)"
                    R"("a\"b":"line\nbreak \"quoted\" \\ )"
                    "\xEF\xBF\xBD"
                    R"(","nan":"NaN","inf":"-Inf"})"
                    "\n");
}

TEST_F(LogTest, TextQuotesOnlyWhatIsNotOneWord) {
  const Log log = Make(LogFormat::kText);
  log.Warning("machine is late", {{"id", "cloudscale://1"},
                                  {"why", "no answer"},
                                  {"empty", ""},
                                  {"n", -1},
                                  {"esc", "\x1b[2J"}});
  EXPECT_EQ(lines_,
            "2026-01-01T00:00:00.000Z warning machine is late id=cloudscale://1 why=\"no answer\" "
            "empty=\"\" n=-1 esc=\"\\u001b[2J\"\n");
}

TEST_F(LogTest, LeavesOutWhatIsBelowItsLevel) {
  const Log log = Make(LogFormat::kText, LogLevel::kWarning);
  log.Debug("a");
  log.Info("b");
  EXPECT_EQ(lines_, "");
  EXPECT_FALSE(log.Enabled(LogLevel::kInfo));
  log.Error("c");
  EXPECT_THAT(lines_, testing::HasSubstr("error   c\n"));
}

TEST_F(LogTest, NullSwallowsEverything) {
  const Log log = Log::Null();
  EXPECT_FALSE(log.Enabled(LogLevel::kError));
  log.Error("nobody hears this");
}

TEST_F(LogTest, LinesOfSeveralThreadsDoNotMix) {
  const Log log = Make(LogFormat::kText);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([copy = log, t] {
      for (int i = 0; i < 100; ++i) copy.Info("tick", {{"thread", t}});
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::string without_number = lines_;
  for (const char digit : {'0', '1', '2', '3'}) {
    size_t at = 0;
    const std::string tail = std::string("thread=") + digit + "\n";
    while ((at = without_number.find(tail, at)) != std::string::npos) without_number[at + 7] = 'N';
  }
  std::string expected;
  for (int i = 0; i < 400; ++i) expected += "2026-01-01T00:00:00.000Z info    tick thread=N\n";
  EXPECT_EQ(without_number, expected);
}

TEST_F(LogTest, StandardErrorGetsJsonWhenItIsNoTerminal) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  const int saved = ::dup(STDERR_FILENO);
  ::dup2(ends[1], STDERR_FILENO);
  Log::ToStderr(clock_).Info("to the pipe");
  ::dup2(saved, STDERR_FILENO);
  ::close(saved);
  ::close(ends[1]);
  char buffer[256];
  const ssize_t length = ::read(ends[0], buffer, sizeof(buffer));
  ::close(ends[0]);
  ASSERT_GT(length, 0);
  EXPECT_EQ(std::string_view(buffer, static_cast<size_t>(length)),
            "{\"time\":\"2026-01-01T00:00:00.000Z\",\"level\":\"info\",\"msg\":\"to the pipe\"}\n");
}

}  // namespace
}  // namespace coppice
