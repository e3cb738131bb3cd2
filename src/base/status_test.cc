#include "base/status.h"

#include <gmock/gmock.h>

#include <memory>
#include <sstream>

#include "test/support/must.h"

namespace coppice {
namespace {

struct Animal {
  virtual ~Animal() = default;
};
struct Dog final : Animal {};

TEST(StatusTest, DefaultIsOk) {
  const Status status;
  EXPECT_TRUE(status.ok());
  EXPECT_EQ(status.ToString(), "OK");
  EXPECT_EQ(status, Status::Ok());
}

TEST(StatusTest, PrintsCodeAndText) {
  std::ostringstream out;
  out << NotFound("no such group");
  EXPECT_EQ(out.str(), "NotFound: no such group");
}

TEST(StatusTest, CodesHaveTheNumbersAndNamesOfGrpc) {
  EXPECT_EQ(static_cast<int>(Code::kUnauthenticated), 16);
  EXPECT_EQ(ToString(Code::kUnauthenticated), "Unauthenticated");
  EXPECT_EQ(ToString(Code::kResourceExhausted), "ResourceExhausted");
  EXPECT_EQ(ToString(static_cast<Code>(99)), "Unknown");
}

TEST(StatusTest, ContextReadsFromTheOutsideInAndKeepsTheCode) {
  const Status status = Unavailable("refused").Context("asking for page 2").Context("listing");
  EXPECT_EQ(status.code(), Code::kUnavailable);
  EXPECT_EQ(status.message(), "listing: asking for page 2: refused");
  EXPECT_TRUE(Status::Ok().Context("listing").ok());
}

TEST(ResultTest, HoldsAValueOrAFailure) {
  const Result<int> seven = 7;
  EXPECT_TRUE(seven.ok());
  EXPECT_EQ(*seven, 7);
  EXPECT_EQ(seven.code(), Code::kOk);
  const Result<int> none = NotFound("gone");
  EXPECT_FALSE(none);
  EXPECT_EQ(none.status(), NotFound("gone"));
  EXPECT_EQ(Result<int>(none).Context("reading").status().message(), "reading: gone");
  EXPECT_EQ(Result<int>(seven).Context("reading").value(), 7);
}

TEST(ResultTest, TakesWhatConvertsToItsType) {
  const auto make = []() -> Result<std::unique_ptr<Animal>> { return std::make_unique<Dog>(); };
  EXPECT_NE(MUST(make()), nullptr);
  const Result<std::string> text = "literal";
  EXPECT_EQ(*text, "literal");
}

TEST(ResultTest, MovesItsValueOut) {
  Result<std::unique_ptr<int>> result = std::make_unique<int>(3);
  const std::unique_ptr<int> taken = *std::move(result);
  EXPECT_EQ(*taken, 3);
}

TEST(ResultDeathTest, ReadingTheValueOfAFailureEndsTheProcess) {
  const Result<int> none = NotFound("gone");
  EXPECT_DEATH((void)none.value(), "status.h:[0-9]+: CHECK failed: ok\\(\\)");
}

TEST(ResultDeathTest, OkIsNotAFailure) {
  EXPECT_DEATH((void)Result<int>(Status::Ok()), "CHECK failed");
}

Result<int> Half(int number) {
  if (number % 2 != 0) return InvalidArgument("odd");
  return number / 2;
}

Result<int> Quarter(int number) { return TRY(Half(TRY(Half(number).Context("first")))); }

Status IsQuarterable(int number) {
  const int quarter = TRY(Quarter(number));
  TRY(quarter > 0 ? Status::Ok() : FailedPrecondition("not positive"));
  return Status::Ok();
}

TEST(TryTest, YieldsTheValueOrLeavesWithTheFailure) {
  EXPECT_EQ(MUST(Quarter(8)), 2);
  EXPECT_EQ(Quarter(7).status(), InvalidArgument("first: odd"));
  EXPECT_EQ(Quarter(6).status(), InvalidArgument("odd"));
}

TEST(TryTest, WorksInFunctionsThatReturnStatus) {
  EXPECT_OK(IsQuarterable(4));
  EXPECT_EQ(IsQuarterable(2).message(), "odd");
  EXPECT_EQ(IsQuarterable(0).code(), Code::kFailedPrecondition);
}

TEST(TryTest, MovesValuesThatCannotBeCopied) {
  const auto make = []() -> Result<std::unique_ptr<int>> { return std::make_unique<int>(5); };
  const auto use = [&]() -> Result<int> {
    const std::unique_ptr<int> owned = TRY(make());
    return *owned;
  };
  EXPECT_EQ(MUST(use()), 5);
}

}  // namespace
}  // namespace coppice
