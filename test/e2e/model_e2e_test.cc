// `coppice run` without a cluster, for as long as a process lives that nobody has a reason to
// restart. COPPICE_MODEL_DAYS makes it longer or shorter.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>

#include "test/e2e/child.h"

namespace coppice::test {
namespace {

#ifdef NDEBUG
constexpr int kDays = 100;
#else
constexpr int kDays =
    3;  // a sanitizer's build takes ten times as long, and its memory says nothing
#endif

TEST(ModelE2eTest, AHundredDaysOfTheModelTakeLittleMemory) {
  const char* wanted = std::getenv("COPPICE_MODEL_DAYS");
  const int days = wanted != nullptr ? std::atoi(wanted) : kDays;
  Child coppice(
      {COPPICE_BINARY, "run", "--speed=0", "--seed=7", "--for=" + std::to_string(24 * days) + "h"});
  EXPECT_EQ(coppice.Wait(), 0) << coppice.output();
  std::printf("%d days: at most %.1f MB\n", days, coppice.peak_mb());
#if defined(NDEBUG) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  EXPECT_LT(coppice.peak_mb(), 45);
#endif
}

// What the program says, but for how long it took to say it.
std::string DayWithGangs(const std::string& seed) {
  Child coppice({COPPICE_BINARY, "run", "--batch", "--speed=0", "--for=24h", "--seed=" + seed});
  EXPECT_EQ(coppice.Wait(), 0) << coppice.output();
  std::string text = coppice.output();
  const size_t took = text.find("simulated hours (");
  return took == std::string::npos ? text : text.erase(took, text.find(')', took) - took);
}

TEST(ModelE2eTest, ADayWithQueuesAndGangsIsToldAndIsTheSameAgain) {
  using testing::ContainsRegex;
  const std::string day = DayWithGangs("7");
  for (const char* line :
       {"A model cluster with queues and gangs", "> gang g[0-9]+ comes", "= gang g[0-9]+ starts",
        "< gang g[0-9]+ ends", "[+] .* for gang g[0-9]+", "[.] gang g[0-9]+ waits",
        "queue +weight +running +waiting", "gold +3",
        "gangs +[1-9][0-9]* came, [1-9][0-9]* started"})
    EXPECT_THAT(day, ContainsRegex(line)) << day;
  EXPECT_EQ(DayWithGangs("7"), day);
}

TEST(ModelE2eTest, GangsBesideNodePoolsAreRefusedOnTheModel) {
  Child coppice({COPPICE_BINARY, "run", "--batch", "--node-pools"});
  EXPECT_EQ(coppice.Wait(), 2);
  EXPECT_THAT(coppice.output(), testing::HasSubstr("--kubeconfig"));
}

}  // namespace
}  // namespace coppice::test
