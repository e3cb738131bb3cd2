#include "plugins/batch/extender/caller.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "base/fake_clock.h"
#include "net/fake_http_client.h"

namespace coppice::batch::extender {
namespace {

using net::HttpRequest;
using net::HttpResponse;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

struct CallerTest : testing::Test {
  std::shared_ptr<Caller> Make(Config config, net::FakeHttpClient::Handler handler) {
    return Caller::Create(config, false, clock,
                          [&](net::HttpClientOptions) {
                            auto fake = std::make_unique<net::FakeHttpClient>(std::move(handler));
                            client = fake.get();
                            return Result<std::unique_ptr<net::HttpClient>>(std::move(fake));
                          })
        .value();
  }

  FakeClock clock;
  net::FakeHttpClient* client = nullptr;
};

TEST_F(CallerTest, SlashesBeforeTheVerbAreTheVerbsOwn) {
  const auto caller = Make({.url_prefix = "http://h/a///"}, nullptr);
  client->Push(200, "{}");
  client->Push(200, "{}");
  EXPECT_TRUE(caller->Post("v", "b").ok());
  EXPECT_TRUE(caller->Post("/v", "b").ok());
  EXPECT_EQ(client->requests()[0].url, "http://h/a/v");
  EXPECT_EQ(client->requests()[1].url, "http://h/a//v");
}

TEST_F(CallerTest, NothingButTwoHundredIsAnAnswer) {
  const auto caller = Make({.url_prefix = "http://h"}, nullptr);
  for (const int status : {201, 204, 404, 500}) {
    client->Push(status, "{}");
    EXPECT_EQ(caller->Post("v", "").status().message(),
              "failed v with extender at URL http://h/v, code " + std::to_string(status));
  }
}

TEST_F(CallerTest, ATemporaryRedirectIsPostedAgainAndAnotherOneIsAskedFor) {
  const auto caller = Make({.url_prefix = "http://h"}, nullptr);
  client->Push(307, "", {{"location", "/x"}});
  client->Push(302, "", {{"location", "/y"}});
  client->Push(200, "done");
  EXPECT_EQ(caller->Post("v", "body").value().body, "done");
  const auto requests = client->requests();
  EXPECT_EQ(requests[1].method, "POST");
  EXPECT_EQ(requests[1].url, "http://h/x");
  EXPECT_EQ(requests[1].body, "body");
  EXPECT_THAT(requests[1].headers,
              ElementsAre(Pair("Content-Type", "application/json"), Pair("Referer", "http://h/v")));
  EXPECT_EQ(requests[2].method, "GET");
  EXPECT_EQ(requests[2].body, "");
  EXPECT_THAT(requests[2].headers, ElementsAre(Pair("Referer", "http://h/x")));
}

TEST_F(CallerTest, ALoopOfRedirectsEnds) {
  const auto caller = Make({.url_prefix = "http://h"}, [](const HttpRequest&, Deadline) {
    return HttpResponse{.status = 307, .headers = {{"location", "/v"}}};
  });
  EXPECT_THAT(caller->Post("v", "").status().message(), HasSubstr("10 redirects"));
  EXPECT_EQ(client->requests().size(), 11u);
}

TEST_F(CallerTest, ARedirectWithoutALocationIsAFailure) {
  const auto caller = Make({.url_prefix = "http://h"}, nullptr);
  client->Push(302, "");
  EXPECT_FALSE(caller->Post("v", "").ok());
}

TEST_F(CallerTest, AtMostSixteenAreUnderWayAndAnswersKeepTheirOrder) {
  std::atomic<int> now{0};
  std::atomic<int> most{0};
  const auto caller = Make({.url_prefix = "http://h"}, [&](const HttpRequest& request, Deadline) {
    const int under_way = ++now;
    int seen = most;
    while (under_way > seen && !most.compare_exchange_weak(seen, under_way)) {
    }
    std::this_thread::yield();
    --now;
    return HttpResponse{.status = 200, .body = request.body};
  });
  const auto replies = caller->PostAll("v", 200, [](size_t i) { return std::to_string(i); });
  ASSERT_EQ(replies.size(), 200u);
  for (size_t i = 0; i < replies.size(); ++i) EXPECT_EQ(replies[i]->body, std::to_string(i));
  EXPECT_LE(most, 16);
}

TEST_F(CallerTest, FailuresInARowEndTheAskingForAWhile) {
  const auto caller = Make(
      {.url_prefix = "http://h", .breaker_failures = 3, .breaker_pause = std::chrono::seconds(5)},
      [](const HttpRequest&, Deadline) { return Unavailable("connection refused"); });
  for (int i = 0; i < 10; ++i) EXPECT_FALSE(caller->Post("v", "").ok());
  EXPECT_EQ(client->requests().size(), 3u);
  EXPECT_EQ(caller->breaker_state(), Breaker::State::kOpen);
  clock.Advance(std::chrono::seconds(5));
  EXPECT_THAT(caller->Post("v", "").status().message(), HasSubstr("connection refused"));
  EXPECT_EQ(client->requests().size(), 4u);
}

TEST_F(CallerTest, ATokenFileThatIsNotThereIsSaid) {
  const auto caller = Make({.url_prefix = "http://h", .token_file = "/nonexistent/token"}, nullptr);
  EXPECT_THAT(caller->ReadToken().message(), HasSubstr("/nonexistent/token"));
}

}  // namespace
}  // namespace coppice::batch::extender
