#include "wire/api_error.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "wire/wire.h"

namespace coppice::wire {
namespace {

struct ErrorCase {
  const char* name;
  int http_status;
  const char* reason;
  Code code;
};

class ApiErrorTest : public testing::TestWithParam<ErrorCase> {};

TEST_P(ApiErrorTest, BecomesTheCode) {
  const ApiError error{.http_status = GetParam().http_status, .reason = GetParam().reason};
  EXPECT_EQ(error.ToStatus().code(), GetParam().code);
}

INSTANTIATE_TEST_SUITE_P(Rows, ApiErrorTest,
                         testing::ValuesIn(std::vector<ErrorCase>{
                             {"ConflictMeansTryAgain", 409, "Conflict", Code::kAborted},
                             {"ExistsIsNoConflict", 409, "AlreadyExists", Code::kAlreadyExists},
                             {"ExpiredMeansListAgain", 410, "Expired", Code::kOutOfRange},
                             {"ABudgetIsExhausted", 429, "TooManyRequests",
                              Code::kResourceExhausted},
                             {"AnyOtherServerTroubleIsUnavailable", 502, "", Code::kUnavailable},
                             {"AnyOtherRefusalIsOurFault", 418, "", Code::kInvalidArgument},
                         }),
                         [](const auto& row) { return row.param.name; });

TEST(ApiErrorTest, ARefusedEvictionNamesTheBudget) {
  model::ApiStatus status{.message = "no", .reason = "TooManyRequests", .code = 429};
  status.details =
      model::StatusDetails{.causes = {{.reason = "DisruptionBudget", .message = "the budget web"}}};
  const ApiError error =
      ErrorFromAnswer(429, "application/vnd.kubernetes.protobuf", "", ToEnvelope(status));
  EXPECT_TRUE(error.HasCause("DisruptionBudget"));
  EXPECT_FALSE(error.retry_after.has_value());
  EXPECT_EQ(error.ToStatus().message(), "TooManyRequests: no");
}

TEST(ApiErrorTest, TheHeaderCountsForMoreThanTheBody) {
  model::ApiStatus status{.code = 504};
  status.details = model::StatusDetails{.retry_after_seconds = 1};
  const ApiError error = ErrorFromAnswer(504, "application/json", "7", ToJson(status));
  EXPECT_EQ(error.retry_after, std::chrono::seconds(7));
}

TEST(ApiErrorTest, PlainTextAndGarbageStillMakeAnError) {
  const ApiError text =
      ErrorFromAnswer(404, "text/plain; charset=utf-8", "", "404 page not found\n");
  EXPECT_EQ(text.ToStatus(), NotFound("HTTP status 404: 404 page not found"));
  const ApiError garbage = ErrorFromAnswer(503, "application/json", "soon", "<html>");
  EXPECT_EQ(garbage.ToStatus(), Unavailable("HTTP status 503"));
}

}  // namespace
}  // namespace coppice::wire
