#include "plugins/batch/extender/caller.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "base/fake_clock.h"
#include "net/fake_http_client.h"
#include "net/http_server.h"
#include "test/support/must.h"
#include "test/support/test_certificates.h"

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
  EXPECT_EQ(client->requests().size(), 10u);
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

// A real server that wants to know who asks, and the real client.
class CallerTlsTest : public testing::Test {
 protected:
  CallerTlsTest() {
    test::WriteMutualTls(authority, dir);
    server = test::MustValue(net::HttpServer::Create(
        {.max_body_bytes = 1'000,
         .tls_cert_file = dir.At("server.crt"),
         .tls_key_file = dir.At("server.key"),
         .tls_client_ca_file = dir.At("ca.crt")},
        [](const net::ServerRequest& request) {
          const std::string* token = request.Header("authorization");
          return net::ServerResponse{.body = request.body + (token ? " " + *token : "")};
        }));
  }
  Result<Reply> Ask(Config config) {
    config.url_prefix = "https://localhost:" + std::to_string(server->port());
    config.timeout = std::chrono::seconds(10);
    static const SystemClock kClock;
    const auto caller = TRY(Caller::Create(
        config, false, kClock,
        [](net::HttpClientOptions options) {
          return net::MakeHttpClient(std::move(options), kClock);
        },
        net::MakeHttpPipes));
    TRY(caller->ReadToken());
    // Several at once, too: TLS is nothing for the short way.
    auto replies = caller->PostAll("verb", 3, [](size_t i) { return std::to_string(i); });
    if (replies[0].ok()) {
      EXPECT_EQ(replies[2]->body.substr(0, 1), "2");
    }
    return caller->Post("verb", "question");
  }

  const test::TestAuthority authority;
  const test::TempDirectory dir;
  std::unique_ptr<net::HttpServer> server;
};

TEST_F(CallerTlsTest, WhoIsKnownAndTrustsTheServerIsAnswered) {
  const auto reply = Ask({.ca_file = dir.At("ca.crt"),
                          .cert_file = dir.At("client.crt"),
                          .key_file = dir.At("client.key"),
                          .token_file = dir.Write("token", "word\n")});
  ASSERT_TRUE(reply.ok()) << reply.status().message();
  EXPECT_EQ(reply->body, "question Bearer word");
}

TEST_F(CallerTlsTest, WhoShowsNothingOrAStrangersPapersIsNot) {
  EXPECT_FALSE(Ask({.ca_file = dir.At("ca.crt")}).ok());
  const test::PemPair stranger = test::TestAuthority("another").Issue("client", {});
  EXPECT_FALSE(Ask({.ca_file = dir.At("ca.crt"),
                    .cert_file = dir.Write("stranger.crt", stranger.cert),
                    .key_file = dir.Write("stranger.key", stranger.key)})
                   .ok());
}

TEST_F(CallerTlsTest, AServerThatNobodyVouchesForIsNotAsked) {
  const test::TestAuthority another("another");
  EXPECT_FALSE(Ask({.ca_file = dir.Write("another.crt", another.pem()),
                    .cert_file = dir.At("client.crt"),
                    .key_file = dir.At("client.key")})
                   .ok());
}

TEST_F(CallerTest, ATokenFileThatIsNotThereIsSaid) {
  const auto caller = Make({.url_prefix = "http://h", .token_file = "/nonexistent/token"}, nullptr);
  EXPECT_THAT(caller->ReadToken().message(), HasSubstr("/nonexistent/token"));
}

}  // namespace
}  // namespace coppice::batch::extender
