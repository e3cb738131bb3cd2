#include "host/api_errors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/fake_clock.h"

namespace coppice::host {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

TEST(ApiErrorsTest, TheSameRequestAgainIsOneEntryThatHasBeenCountedTwice) {
  Metrics metrics;
  FakeClock clock;
  ApiErrors errors(metrics, clock);
  errors.Note({.method = "PUT", .path = "/api/v1/nodes/n1", .status = 500, .why = "no"});
  errors.Note({.method = "WATCH", .path = "/api/v1/pods", .why = "refused"});
  clock.Advance(std::chrono::seconds(5));
  errors.Note({.method = "PUT", .path = "/api/v1/nodes/n1", .status = 500, .why = "still no"});
  const auto last = errors.Last();
  ASSERT_THAT(last, SizeIs(2));
  EXPECT_EQ(last[0].path, "/api/v1/nodes/n1");
  EXPECT_EQ(last[0].times, 2u);
  EXPECT_EQ(last[0].why, "still no");
  EXPECT_EQ(last[0].at, clock.Now());
  EXPECT_THAT(metrics.Render(),
              HasSubstr("coppice_api_request_failures_total{method=\"PUT\",status=\"500\"} 2"));
}

TEST(ApiErrorsTest, OfManyTheLastAreKept) {
  Metrics metrics;
  const FakeClock clock;
  ApiErrors errors(metrics, clock);
  for (int i = 0; i < 100; ++i)
    errors.Note({.method = "GET", .path = "/" + std::to_string(i), .why = std::string(5'000, 'x')});
  const auto last = errors.Last();
  ASSERT_THAT(last, SizeIs(ApiErrors::kKept));
  EXPECT_EQ(last.front().path, "/99");
  EXPECT_LT(last.front().why.size(), 1'000u);
}

}  // namespace
}  // namespace coppice::host
