#include "grpc/interceptors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <vector>

#include "base/fake_clock.h"

namespace coppice::grpc {
namespace {

using ::testing::HasSubstr;

class NamedCaller final : public Caller {
 public:
  explicit NamedCaller(std::vector<std::string> names) : names_(std::move(names)) {}
  std::vector<std::string> Names() const override { return names_; }
  std::string Address() const override { return "ipv4:127.0.0.1:1"; }

 private:
  std::vector<std::string> names_;
};

class InterceptorsTest : public testing::Test {
 protected:
  Answer Run(Handler handler) {
    const InterceptorOptions options{.clock = clock_, .log = log_, .metrics = metrics_};
    const Service service = Intercept(
        {.name = "p.S", .methods = {{.name = "M", .handler = std::move(handler)}}}, options);
    const NamedCaller caller({"autoscaler"});
    return service.methods[0].handler({.method = "/p.S/M", .request = "", .caller = &caller});
  }

  FakeClock clock_;
  std::string lines_;
  Log log_{clock_, [this](std::string_view line) { lines_ += line; }, LogFormat::kJson};
  Metrics metrics_;
};

TEST_F(InterceptorsTest, ACrashIsAnsweredCountedAndLogged) {
  const Answer answer =
      Run([](const Call&) -> Answer { throw std::runtime_error("secret detail"); });

  EXPECT_EQ(answer.status.code(), Code::kInternal);
  EXPECT_THAT(answer.status.message(), Not(HasSubstr("secret detail")));
  EXPECT_THAT(metrics_.Render(),
              HasSubstr("autoscaler_grpc_requests_total{code=\"Internal\",method=\"/p.S/M\"} 1"));
  EXPECT_THAT(lines_, HasSubstr("secret detail"));
  EXPECT_THAT(lines_, HasSubstr("call failed"));
}

TEST_F(InterceptorsTest, SomethingThatIsNoExceptionClassIsCaughtToo) {
  EXPECT_EQ(Run([](const Call&) -> Answer { throw 7; }).status.code(), Code::kInternal);
}

TEST_F(InterceptorsTest, AnOrdinaryAnswerIsCountedAndNotLogged) {
  EXPECT_TRUE(Run([](const Call&) -> Answer { return std::string("x"); }).status.ok());
  EXPECT_THAT(metrics_.Render(), HasSubstr("code=\"OK\""));
  EXPECT_EQ(lines_, "");
}

TEST_F(InterceptorsTest, AMethodThatIsNotOfferedIsNoNews) {
  Run([](const Call&) -> Answer { return Unimplemented("no prices"); });
  EXPECT_EQ(lines_, "");
}

}  // namespace
}  // namespace coppice::grpc
