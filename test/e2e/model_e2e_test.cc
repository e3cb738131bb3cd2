// `coppice run` without a cluster, for as long as a process lives that nobody has a reason to
// restart. COPPICE_MODEL_DAYS makes it longer or shorter.

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

}  // namespace
}  // namespace coppice::test
