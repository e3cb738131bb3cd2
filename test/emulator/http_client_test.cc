// net/http_client against a server that misbehaves. Here and not beside it, because the server that
// can is.

#include "net/http_client.h"

#include <gmock/gmock.h>

#include <atomic>
#include <cstdlib>
#include <thread>

#include "net/fake_http_client.h"
#include "test/emulator/wire_server.h"
#include "test/support/must.h"

namespace coppice::net {
namespace {

using emulator::Request;
using emulator::Response;
using emulator::WireServer;
using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::HasSubstr;
using testing::Not;

class HttpClientTest : public testing::Test {
 protected:
  HttpClientTest()
      : server_(MUST(WireServer::Start("127.0.0.1", 0, clock_, [this](const Request& request) {
          ++requests_;
          last_ = request;
          return answer_;
        }))) {}

  std::unique_ptr<HttpClient> Client(HttpClientOptions options = {}) {
    if (!options.proxy) options.proxy = "";
    return MUST(MakeHttpClient(std::move(options), clock_));
  }
  Deadline Soon() { return Deadline::In(clock_, seconds(10)); }
  HttpRequest Get(const std::string& path = "/") { return {.url = server_->url() + path}; }
  HttpRequest Post(const std::string& body) {
    return {.method = "POST", .url = server_->url() + "/", .body = body};
  }

  SystemClock clock_;
  Response answer_{.body = "hello"};
  std::atomic<int> requests_ = 0;
  Request last_;
  std::unique_ptr<WireServer> server_;
};

TEST_F(HttpClientTest, SendsMethodHeadersTokenAndBody) {
  answer_ = {.status = 418, .headers = {{"X-Mixed-Case", " v "}}, .body = "teapot"};
  auto request = Post("payload");
  request.method = "PATCH";
  request.headers = {{"X-Own", "1"}, {"Content-Type", "application/json"}};
  request.bearer_token = Secret("t0ken");
  const auto answer = MUST(Client({.user_agent = "me"})->Send(request, Soon()));
  EXPECT_EQ(answer.status, 418) << "an answer, whatever the status";
  EXPECT_EQ(answer.body, "teapot");
  ASSERT_NE(answer.Header("x-mixed-case"), nullptr);
  EXPECT_EQ(*answer.Header("x-mixed-case"), "v");
  EXPECT_EQ(last_.method, "PATCH");
  EXPECT_EQ(last_.body, "payload");
  EXPECT_EQ(*last_.Header("authorization"), "Bearer t0ken");
  EXPECT_EQ(*last_.Header("user-agent"), "me");
  EXPECT_EQ(*last_.Header("x-own"), "1");
  EXPECT_EQ(last_.Header("expect"), nullptr);
}

TEST_F(HttpClientTest, ABodyWithEveryByteArrives) {
  std::string body;
  for (int i = 0; i < 300'000; ++i) body += static_cast<char>(i * 7);
  ASSERT_OK(Client()->Send(Post(body), Soon()));
  EXPECT_EQ(last_.body, body);
}

TEST_F(HttpClientTest, ReusesAConnectionAndForgetsTheRequestBefore) {
  const auto client = Client();
  auto first = Post("x");
  first.bearer_token = Secret("t0ken");
  ASSERT_OK(client->Send(first, Soon()));
  ASSERT_OK(client->Send(Get(), Soon()));
  EXPECT_EQ(server_->connections(), 1);
  EXPECT_EQ(last_.method, "GET");
  EXPECT_EQ(last_.Header("authorization"), nullptr) << "a token is for one request";
  EXPECT_EQ(last_.body, "");
}

TEST_F(HttpClientTest, APostOnAConnectionThatDiesIsSentOnce) {
  const auto client = Client();
  ASSERT_OK(client->Send(Get(), Soon()));
  answer_.ending = Response::Ending::kClose;
  for (const std::string body : {"create", ""}) {
    requests_ = 0;
    const auto result = client->Send(Post(body), Soon());
    EXPECT_EQ(result.code(), Code::kUnavailable) << result.status();
    EXPECT_EQ(requests_, 1) << "body '" << body << "'";
    answer_.ending = Response::Ending::kAnswer;
    ASSERT_OK(client->Send(Get(), Soon()));
    answer_.ending = Response::Ending::kClose;
  }
}

TEST_F(HttpClientTest, KeepsTheDeadlineAndItsOwnLimit) {
  answer_.ending = Response::Ending::kHang;
  const TimePoint start = clock_.Now();
  EXPECT_EQ(Client()->Send(Get(), Deadline::In(clock_, milliseconds(50))).code(),
            Code::kDeadlineExceeded);
  EXPECT_EQ(Client({.request_timeout = milliseconds(50)})->Send(Get(), Soon()).code(),
            Code::kDeadlineExceeded);
  EXPECT_EQ(Client()->Send(Get(), Deadline{clock_.Now()}).code(), Code::kDeadlineExceeded);
  EXPECT_LT(clock_.Now() - start, seconds(5));
}

TEST_F(HttpClientTest, RefusesAnswersThatAreTooLong) {
  answer_.body = std::string(2000, 'x');
  EXPECT_EQ(Client({.max_body_bytes = 1000})->Send(Get(), Soon()).code(), Code::kResourceExhausted);
  EXPECT_OK(Client({.max_body_bytes = 2000})->Send(Get(), Soon()));
  answer_.headers = {{"X-Long", std::string(2000, 'x')}};
  EXPECT_EQ(Client({.max_header_bytes = 1000})->Send(Get(), Soon()).code(),
            Code::kResourceExhausted);
}

TEST_F(HttpClientTest, AnAnswerThatIsCutIsNoAnswer) {
  answer_ = {.body = std::string(1000, 'x'), .ending = Response::Ending::kTruncate};
  EXPECT_EQ(Client()->Send(Get(), Soon()).code(), Code::kUnavailable);
}

TEST_F(HttpClientTest, FollowsNoRedirectUnlessAsked) {
  answer_ = {.status = 302, .headers = {{"Location", "/elsewhere"}}};
  EXPECT_EQ(MUST(Client()->Send(Get(), Soon())).status, 302);
  EXPECT_EQ(requests_, 1);
  EXPECT_EQ(Client({.max_redirects = 3})->Send(Get(), Soon()).code(), Code::kUnavailable)
      << "a circle ends";
  EXPECT_EQ(last_.path, "/elsewhere");
}

TEST_F(HttpClientTest, GoesThroughTheProxyThatItIsTold) {
  const auto client = Client({.proxy = server_->url()});
  ASSERT_OK(client->Send({.url = "http://cloud.invalid/path"}, Soon()));
  EXPECT_EQ(*last_.Header("host"), "cloud.invalid");
}

TEST_F(HttpClientTest, GoesThroughTheProxyOfTheEnvironment) {
  ::setenv("http_proxy", server_->url().c_str(), 1);
  const auto client = MUST(MakeHttpClient({}, clock_));
  const auto answer = client->Send({.url = "http://cloud.invalid/path"}, Soon());
  ::unsetenv("http_proxy");
  ASSERT_OK(answer);
  EXPECT_EQ(*last_.Header("host"), "cloud.invalid");
}

TEST_F(HttpClientTest, ErrorsShowTheAddressAndNoSecret) {
  HttpRequest request{.method = "DELETE", .url = "http://user:pa55@127.0.0.1:1/path?key=pa55"};
  request.bearer_token = Secret("pa55");
  const auto result = Client()->Send(request, Soon());
  EXPECT_EQ(result.code(), Code::kUnavailable);
  EXPECT_THAT(result.status().message(), HasSubstr("DELETE http://127.0.0.1:1/path: "));
  EXPECT_THAT(result.status().message(), Not(HasSubstr("pa55")));
}

TEST_F(HttpClientTest, RefusesWhatWouldSmuggleAHeader) {
  const auto client = Client();
  auto request = Get();
  request.headers = {{"X", "a\r\nY: b"}};
  EXPECT_EQ(client->Send(request, Soon()).code(), Code::kInvalidArgument);
  request = Get();
  request.bearer_token = Secret("token\n");
  EXPECT_EQ(client->Send(request, Soon()).code(), Code::kInvalidArgument);
  EXPECT_EQ(client->Send({.method = "G T", .url = server_->url()}, Soon()).code(),
            Code::kInvalidArgument);
  EXPECT_EQ(client->Send({.url = "file:///etc/passwd"}, Soon()).code(), Code::kInvalidArgument);
  EXPECT_EQ(client->Send({.url = "nonsense:////"}, Soon()).code(), Code::kInvalidArgument);
  EXPECT_EQ(requests_, 0);
}

TEST_F(HttpClientTest, ManyThreadsMaySend) {
  const auto client = Client();
  std::atomic<int> good = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 20; ++i)
        good += client->Send({.url = server_->url()}, Soon()).ok() ? 1 : 0;
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(good, 160);
  EXPECT_LE(server_->connections(), 8);
}

TEST(RetryAfterTest, IsSecondsOrADate) {
  const TimePoint now(seconds(1'767'225'600));  // 2026-01-01T00:00:00Z
  EXPECT_EQ(ParseRetryAfter("7", now), seconds(7));
  EXPECT_EQ(ParseRetryAfter(" 7 ", now), seconds(7));
  EXPECT_EQ(ParseRetryAfter("-5", now), seconds(0));
  EXPECT_EQ(ParseRetryAfter("Thu, 01 Jan 2026 00:00:30 GMT", now), seconds(30));
  EXPECT_EQ(ParseRetryAfter("Wed, 31 Dec 2025 00:00:00 GMT", now), seconds(0));
  EXPECT_EQ(ParseRetryAfter("999999999999", now), std::chrono::hours(24));
  EXPECT_EQ(ParseRetryAfter("soon", now), std::nullopt);
  EXPECT_EQ(ParseRetryAfter("", now), std::nullopt);
}

}  // namespace
}  // namespace coppice::net
