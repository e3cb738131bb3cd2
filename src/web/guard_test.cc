#include "web/guard.h"

#include <gmock/gmock.h>

#include "base/fake_clock.h"

namespace coppice::web {
namespace {

net::ServerRequest Request(std::vector<std::pair<std::string, std::string>> headers,
                           std::string method = "GET", std::string path = "/api/v1/state") {
  return {.method = std::move(method), .path = std::move(path), .headers = std::move(headers)};
}

class GuardTest : public testing::Test {
 protected:
  FakeClock clock_{TimePoint(std::chrono::hours(1))};
  Guard guard_{{}, clock_};
  Guard with_token_{{.loopback = false, .token = "0123456789abcdef"}, clock_};
};

TEST_F(GuardTest, OnLoopbackOnlyNamesOfThisMachineAreAnswered) {
  for (const char* host :
       {"localhost", "localhost:8086", "127.0.0.1:8086", "[::1]:8086", "127.1.2.3"})
    EXPECT_EQ(guard_.Check(Request({{"host", host}})).why, "") << host;
  // A page at evil.example whose name now points to 127.0.0.1.
  for (const char* host : {"evil.example", "evil.example:8086", "127.0.0.1.evil.example",
                           "localhost.evil.example", "", "[::1", "10.0.0.1"})
    EXPECT_EQ(guard_.Check(Request({{"host", host}})).status, 403) << host;
  EXPECT_EQ(guard_.Check(Request({})).status, 403);
}

TEST_F(GuardTest, NamesThatWereGivenAreOurs) {
  Guard guard({.hosts = {"coppice.internal"}}, clock_);
  EXPECT_EQ(guard.Check(Request({{"host", "Coppice.Internal:8086"}})).why, "");
}

TEST_F(GuardTest, AnotherSitesPageReadsNothing) {
  const auto check = [&](std::vector<std::pair<std::string, std::string>> headers,
                         std::string path) {
    headers.emplace_back("host", "localhost:8086");
    return guard_.Check(Request(std::move(headers), "GET", std::move(path))).status;
  };
  EXPECT_EQ(check({{"sec-fetch-site", "cross-site"}}, "/api/v1/state"), 403);
  EXPECT_EQ(check({{"sec-fetch-site", "same-site"}}, "/api/v1/state"), 403);
  EXPECT_EQ(check({{"sec-fetch-site", "cross-site"}, {"sec-fetch-mode", "navigate"}}, "/"), 0)
      << "a link from elsewhere may lead here";
  EXPECT_EQ(
      check({{"sec-fetch-site", "cross-site"}, {"sec-fetch-mode", "navigate"}}, "/api/v1/state"),
      403);
  EXPECT_EQ(check({{"origin", "http://evil.example"}}, "/api/v1/state"), 403);
  EXPECT_EQ(check({{"origin", "http://localhost:8086"}, {"sec-fetch-site", "same-origin"}},
                  "/api/v1/state"),
            0);
}

TEST_F(GuardTest, AFormOfAnotherSiteCannotPost) {
  EXPECT_EQ(
      guard_.Check(Request({{"host", "localhost"}, {"content-type", "text/plain"}}, "POST")).status,
      415);
  EXPECT_EQ(guard_.Check(Request({{"host", "localhost"}}, "POST")).status, 415);
  EXPECT_EQ(
      guard_.Check(Request({{"host", "localhost"}, {"content-type", "application/json"}}, "POST"))
          .why,
      "");
  EXPECT_EQ(
      guard_
          .Check(Request(
              {{"host", "localhost"}, {"content-type", "application/json"}, {"origin", "null"}},
              "POST"))
          .status,
      403);
  EXPECT_EQ(guard_.Check(Request({{"host", "localhost"}}, "DELETE")).status, 405);
}

TEST_F(GuardTest, WithATokenNothingIsToldWithoutIt) {
  EXPECT_EQ(with_token_.Check(Request({{"host", "anything"}})).why, "");
  EXPECT_EQ(with_token_.CheckReader(Request({})).status, 401);
  EXPECT_EQ(with_token_.CheckReader(Request({{"authorization", "Bearer 0123456789abcdeF"}})).status,
            401);
  EXPECT_EQ(
      with_token_.CheckReader(Request({{"authorization", "Bearer 0123456789abcdef0"}})).status,
      401);
  EXPECT_EQ(with_token_.CheckReader(Request({{"authorization", "Bearer 0123456789abcdef"}})).why,
            "");
}

TEST_F(GuardTest, ASessionLastsForHalfADay) {
  const auto answer = with_token_.LogIn(Request({}), "0123456789abcdef");
  ASSERT_EQ(answer.status, 200);
  ASSERT_EQ(answer.headers.size(), 1u);
  const std::string& cookie = answer.headers.front().second;
  EXPECT_THAT(cookie, testing::HasSubstr("HttpOnly; SameSite=Strict"));
  const std::string sent = "a=b; " + cookie.substr(0, cookie.find(';'));
  EXPECT_EQ(with_token_.CheckReader(Request({{"cookie", sent}})).why, "");
  clock_.Advance(std::chrono::hours(13));
  EXPECT_EQ(with_token_.CheckReader(Request({{"cookie", sent}})).status, 401);
  EXPECT_EQ(with_token_.CheckReader(Request({{"cookie", "coppice_session="}})).status, 401);
}

TEST_F(GuardTest, WhoGuessesIsSlowedDown) {
  EXPECT_EQ(with_token_.LogIn(Request({}), "wrong").status, 401);
  EXPECT_EQ(with_token_.LogIn(Request({}), "0123456789abcdef").status, 429);
  clock_.Advance(std::chrono::seconds(1));
  EXPECT_EQ(with_token_.LogIn(Request({}), "0123456789abcdef").status, 200);
}

TEST_F(GuardTest, AClockThatWasSetBackDoesNotKeepTheDoorShut) {
  EXPECT_EQ(with_token_.LogIn(Request({}), "wrong").status, 401);
  clock_.Advance(-std::chrono::hours(1));
  EXPECT_EQ(with_token_.LogIn(Request({}), "0123456789abcdef").status, 200);
}

}  // namespace
}  // namespace coppice::web
