#include "net/http_server.h"

#include <poll.h>

#include <algorithm>
#include <thread>

#include "net/http_server_rig.h"

namespace coppice::net {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::AllOf;
using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Pair;
using testing::StartsWith;

TEST_F(HttpServerTest, HandsTheRequestOverAndTheAnswerBack) {
  ServerRequest seen;
  Start(
      [&](const ServerRequest& request) {
        seen = request;
        return ServerResponse{.status = 201,
                              .content_type = "application/json",
                              .headers = {{"X-One", "1"}},
                              .body = "{}"};
      },
      {.max_body_bytes = 100});
  const std::string answer = Exchange(
      "POST /a%20b?x=1 HTTP/1.1\r\nHost: h\r\nX-Thing: Value\r\nContent-Length: 4\r\n"
      "Connection: close\r\n\r\nbody");
  EXPECT_EQ(answer,
            "HTTP/1.1 201 Created\r\nContent-Type: application/json\r\nX-One: 1\r\n"
            "Connection: close\r\nContent-Length: 2\r\n\r\n{}");
  EXPECT_EQ(seen.method, "POST");
  EXPECT_EQ(seen.path, "/a b");
  EXPECT_THAT(seen.query, ElementsAre(Pair("x", "1")));
  EXPECT_EQ(*seen.Query("x"), "1");
  EXPECT_EQ(seen.Query("y"), nullptr);
  EXPECT_EQ(*seen.Header("x-thing"), "Value");
  EXPECT_EQ(seen.Header("x-other"), nullptr);
  EXPECT_EQ(seen.body, "body");
  EXPECT_EQ(seen.peer, "127.0.0.1");
}

TEST_F(HttpServerTest, AnAnswerDoesNotWaitForTheRestOfTheNextRequest) {
  Start(Hello);
  RawClient client(server_->port());
  client.Send("GET / HTTP/1.1\r\nHost: h\r\n\r\nGET / HTTP/1.1\r\nHo");
  EXPECT_THAT(client.ReadUntil("hello\n"), HasSubstr("200 OK"));
  client.Send("st: h\r\nConnection: close\r\n\r\n");
  EXPECT_THAT(client.ReadAll(), HasSubstr("hello\n"));
}

TEST_F(HttpServerTest, KeepsTheConnectionAndTakesPipelinedRequests) {
  int calls = 0;
  Start([&](const ServerRequest&) {
    ++calls;
    return ServerResponse{.body = std::to_string(calls)};
  });
  RawClient client(server_->port());
  client.Send("GET / HTTP/1.1\r\nHost: h\r\n\r\nGET / HTTP/1.1\r\nHost: h\r\n\r\n");
  EXPECT_THAT(client.ReadUntil("\r\n\r\n2"), EndsWith("\r\n\r\n2"));
  client.Send("GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n");
  EXPECT_THAT(client.ReadAll(), EndsWith("\r\n\r\n3"));
}

TEST_F(HttpServerTest, SpeaksHttp10) {
  Start(Hello);
  EXPECT_THAT(Exchange("GET / HTTP/1.0\r\n\r\n"),
              AllOf(StartsWith("HTTP/1.0 200 OK\r\n"), EndsWith("\r\n\r\nhello\n")));
}

TEST_F(HttpServerTest, AHeadsAnswerHasTheLengthButNoBody) {
  Start(Hello);
  EXPECT_THAT(Exchange("HEAD / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n"),
              AllOf(HasSubstr("Content-Length: 6\r\n"), EndsWith("\r\n\r\n")));
}

TEST_F(HttpServerTest, ContinuesWhenExpectedTo) {
  Start([](const ServerRequest& request) { return ServerResponse{.body = request.body}; },
        {.max_body_bytes = 100});
  RawClient client(server_->port());
  client.Send(
      "PUT / HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\nExpect: 100-continue\r\nConnection: "
      "close\r\n\r\n");
  EXPECT_THAT(client.ReadUntil("\r\n\r\n"), StartsWith("HTTP/1.1 100 Continue\r\n"));
  client.Send("ok");
  EXPECT_THAT(client.ReadAll(), EndsWith("\r\n\r\nok"));
}

TEST_F(HttpServerTest, RefusesWhatIsTooLargeOrMalformed) {
  Start(Hello, {.max_header_bytes = 1'000, .max_body_bytes = 10});
  const std::string begin = "POST / HTTP/1.1\r\nHost: h\r\n";
  EXPECT_THAT(Exchange(begin + "X: " + std::string(2'000, 'x') + "\r\n\r\n"),
              StartsWith("HTTP/1.1 431"));
  EXPECT_THAT(Exchange(begin + "Content-Length: 11\r\n\r\n12345678901"),
              StartsWith("HTTP/1.1 413"));
  EXPECT_THAT(Exchange(begin + "Transfer-Encoding: chunked\r\n\r\nb\r\n12345678901\r\n0\r\n\r\n"),
              StartsWith("HTTP/1.1 413"));
  EXPECT_THAT(Exchange("nonsense\r\n\r\n"), StartsWith("HTTP/1.1 400"));
  EXPECT_THAT(Exchange("GET /../etc HTTP/1.1\r\nHost: h\r\n\r\n"),
              AllOf(StartsWith("HTTP/1.1 400"), EndsWith("the path climbs above '/'\n")));
  EXPECT_THAT(Exchange(begin + "Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n"),
              StartsWith("HTTP/1.1 400"));
}

TEST_F(HttpServerTest, ALargeUploadStillGetsToReadItsRefusal) {
  Start(Hello, {.max_body_bytes = 10});
  EXPECT_THAT(Exchange("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 200000\r\n\r\n" +
                       std::string(200'000, 'x')),
              StartsWith("HTTP/1.1 413"));
}

TEST_F(HttpServerTest, GivesUpOnWhoDawdles) {
  Start(Hello, {.max_body_bytes = 10,
                .header_timeout = milliseconds(50),
                .body_timeout = milliseconds(50),
                .idle_timeout = milliseconds(50)});
  EXPECT_EQ(Exchange(""), "") << "says nothing";
  EXPECT_EQ(Exchange("GET / HT"), "") << "half a header";
  EXPECT_EQ(Exchange("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nab"), "")
      << "half a body";
  EXPECT_THAT(Exchange("GET / HTTP/1.1\r\nHost: h\r\n\r\n"), EndsWith("hello\n"))
      << "idle afterwards";
}

TEST_F(HttpServerTest, AFailingHandlerIsAnInternalError) {
  Start([](const ServerRequest& request) -> ServerResponse {
    if (request.path == "/header") return {.headers = {{"X", "a\r\nSet-Cookie: b"}}};
    if (request.path == "/status") return {.status = 7};
    throw std::runtime_error("secret detail");
  });
  for (const std::string path : {"/throw", "/header", "/status"}) {
    EXPECT_THAT(Exchange("GET " + path + " HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n"),
                AllOf(StartsWith("HTTP/1.1 500"), EndsWith("\r\n\r\ninternal error\n")));
  }
}

TEST_F(HttpServerTest, RefusesConnectionsAboveTheLimit) {
  Start(Hello, {.max_connections = 1});
  RawClient first(server_->port());
  first.Send("GET / HTTP/1.1\r\nHost: h\r\n\r\nGET /half");  // so that it is not idle
  EXPECT_THAT(first.ReadUntil("hello\n"), EndsWith("hello\n"));
  EXPECT_EQ(Exchange("GET / HTTP/1.1\r\nHost: h\r\n\r\n"), "");
}

// Or a liveness probe could be kept out by somebody who only connects, and the process be killed.
TEST_F(HttpServerTest, WhoIsIdleLongestMakesRoomForTheNext) {
  Start(Hello, {.max_connections = 3, .header_timeout = seconds(60), .idle_timeout = seconds(60)});
  const std::string ask = "GET / HTTP/1.1\r\nHost: h\r\n\r\n";
  std::vector<std::unique_ptr<RawClient>> sitting;
  for (int i = 0; i < 3; ++i) {
    sitting.push_back(std::make_unique<RawClient>(server_->port()));
    sitting.back()->Send(ask);
    ASSERT_THAT(sitting.back()->ReadUntil("hello\n"), EndsWith("hello\n"));
  }
  RawClient probe(server_->port());
  probe.Send(ask);
  EXPECT_THAT(probe.ReadUntil("hello\n"), EndsWith("hello\n"));
  EXPECT_EQ(sitting[0]->ReadAll(), "") << "closed";
  sitting[2]->Send(ask);
  EXPECT_THAT(sitting[2]->ReadUntil("hello\n"), EndsWith("hello\n")) << "the others stay";
}

TEST_F(HttpServerTest, ABodyThatNobodyTakesIsRefusedBeforeItIsRead) {
  int calls = 0;
  Start([&](const ServerRequest& request) {
    ++calls;
    return Hello(request);
  });
  const std::string begin = "POST /metrics HTTP/1.1\r\nHost: h\r\n";
  // None of the body is sent: who read it first would wait for it, and answer after 30 seconds.
  EXPECT_THAT(Exchange(begin + "Content-Length: 1000000\r\n\r\n"), StartsWith("HTTP/1.1 413"));
  EXPECT_THAT(Exchange(begin + "Content-Length: 9\r\nExpect: 100-continue\r\n\r\n"),
              StartsWith("HTTP/1.1 413"));
  EXPECT_THAT(Exchange(begin + "Transfer-Encoding: chunked\r\n\r\n5\r\n"),
              StartsWith("HTTP/1.1 413"));
  EXPECT_EQ(calls, 0);
  EXPECT_THAT(Exchange(begin + "Content-Length: 0\r\nConnection: close\r\n\r\n"),
              EndsWith("hello\n"));
}

TEST_F(HttpServerTest, AWrongHeaderIsAnsweredBeforeTheBodyIsRead) {
  Start(Hello, {.max_body_bytes = 100});
  const std::string body = "Content-Length: 50\r\n\r\n";
  EXPECT_THAT(Exchange("PUT /../x HTTP/1.1\r\nHost: h\r\n" + body), StartsWith("HTTP/1.1 400"));
  EXPECT_THAT(Exchange("PUT / HTTP/1.1\r\n" + body), StartsWith("HTTP/1.1 400"));
}

TEST_F(HttpServerTest, TakesOneHostAndAProperOne) {
  Start(Hello);
  const auto with = [&](const std::string& hosts) {
    return Exchange("GET / HTTP/1.1\r\n" + hosts + "Connection: close\r\n\r\n");
  };
  for (const std::string good : {"Host: h\r\n", "Host: [::1]:8085\r\n", "Host:\r\n"})
    EXPECT_THAT(with(good), StartsWith("HTTP/1.1 200")) << good;
  for (const std::string bad :
       {"", "Host: a\r\nHost: a\r\n", "Host: a b\r\n", "Host: x@y\r\n", "Host: a/b\r\n"})
    EXPECT_THAT(with(bad), StartsWith("HTTP/1.1 400")) << bad;
  EXPECT_THAT(Exchange("GET / HTTP/1.0\r\n\r\n"), StartsWith("HTTP/1.0 200"));
}

TEST_F(HttpServerTest, AllConnectionsTogetherHoldNoMoreThanTheyMay) {
  Start(Hello, {.max_header_bytes = 20'000,
                .max_body_bytes = 20'000,
                .max_held_bytes = 25'000,
                .header_timeout = seconds(60),
                .body_timeout = seconds(60)});
  const std::string half =
      "POST / HTTP/1.1\r\nHost: h\r\nConnection: close\r\nContent-Length: 15000\r\n\r\n" +
      std::string(14'000, 'x');
  RawClient first(server_->port());
  first.Send(half);
  // The second does not fit beside it, whichever of them is read first.
  RawClient second(server_->port());
  second.Send(half);
  pollfd heard[] = {{first.fd(), POLLIN, 0}, {second.fd(), POLLIN, 0}};
  ASSERT_GT(::poll(heard, 2, 20'000), 0);
  EXPECT_THAT((heard[0].revents != 0 ? first : second).ReadAll(), HasSubstr(" 503 "));
  first.Close();
  second.Close();
  // What they held is free again, as soon as the server has noticed.
  const std::string whole = half + std::string(1'000, 'x');
  while (Exchange(whole).find("hello") == std::string::npos) std::this_thread::yield();
}

TEST_F(HttpServerTest, AnAnswerThatDoesNotFitAnyMoreIsRefused) {
  Start([](const ServerRequest&) { return ServerResponse{.body = std::string(20'000, 'x')}; },
        {.max_held_bytes = 10'000});
  EXPECT_THAT(Exchange("GET / HTTP/1.1\r\nHost: h\r\n\r\n"), StartsWith("HTTP/1.1 503"));
}

TEST_F(HttpServerTest, StopEndsIdleConnectionsAndStreamsAtOnce) {
  StreamBox box;
  Start([&](const ServerRequest& request) {
    return request.path == "/events" ? box.Answer() : Hello(request);
  });
  RawClient idle(server_->port());
  idle.Send("GET / HTTP/1.1\r\nHost: h\r\n\r\n");
  idle.ReadUntil("hello\n");
  RawClient silent(server_->port());
  RawClient reader(server_->port());
  reader.Send("GET /events HTTP/1.1\r\nHost: h\r\n\r\n");
  const auto stream = box.Take();
  EXPECT_TRUE(stream->Write("last"));
  const uint16_t port = server_->port();
  const auto start = std::chrono::steady_clock::now();
  server_->Stop();
  EXPECT_LT(std::chrono::steady_clock::now() - start, seconds(4)) << "the grace is five";
  EXPECT_EQ(idle.ReadAll(), "");
  EXPECT_THAT(reader.ReadAll(), EndsWith("4\r\nlast\r\n0\r\n\r\n"));
  EXPECT_FALSE(RawClient(port).connected());
  server_.reset();
  EXPECT_FALSE(stream->Write("the server is gone")) << "and the stream knows";
  stream->Close();
}

TEST_F(HttpServerTest, StopLetsARequestInFlightFinish) {
  std::mutex mutex;
  std::condition_variable wake;
  bool entered = false;
  bool leave = false;
  Start([&](const ServerRequest&) {
    std::unique_lock lock(mutex);
    entered = true;
    wake.notify_all();
    wake.wait(lock, [&] { return leave; });
    return ServerResponse{.body = "finished"};
  });
  RawClient client(server_->port());
  client.Send("GET / HTTP/1.1\r\nHost: h\r\n\r\n");
  {
    std::unique_lock lock(mutex);
    wake.wait(lock, [&] { return entered; });
  }
  std::thread stopper([&] { server_->Stop(); });
  {
    const std::lock_guard lock(mutex);
    leave = true;
    wake.notify_all();
  }
  EXPECT_THAT(client.ReadAll(), EndsWith("finished"));
  stopper.join();
}

TEST_F(HttpServerTest, StopDoesNotWaitForeverForHalfARequest) {
  Start(Hello, {.header_timeout = seconds(60), .stop_grace = milliseconds(20)});
  RawClient client(server_->port());
  client.Send("GET / HTTP/1.1\r\nHost: h\r\n\r\n");
  client.ReadUntil("hello\n");
  client.Send("GET /half");
  server_->Stop();
  EXPECT_EQ(client.ReadAll(), "");
}

TEST_F(HttpServerTest, SaysWhyItCannotListen) {
  Start(Hello);
  const auto taken = HttpServer::Create({.port = server_->port()}, Hello);
  EXPECT_EQ(taken.status(),
            Unavailable("listening on 127.0.0.1:" + std::to_string(server_->port()) +
                        ": Address already in use"));
  EXPECT_THAT(HttpServer::Create({.host = "no.such.host.invalid"}, Hello).status().message(),
              StartsWith("listening on no.such.host.invalid:0: "));
  EXPECT_EQ(HttpServer::Create({.tls_cert_file = "/x"}, Hello).status(),
            InvalidArgument("TLS needs both a certificate file and a key file"));
  EXPECT_THAT(HttpServer::Create({.tls_cert_file = "/nowhere", .tls_key_file = "/x"}, Hello)
                  .status()
                  .message(),
              HasSubstr("/nowhere"));
}

TEST_F(HttpServerTest, ListensOnEveryInterface) {
  Start(Hello, {.host = ""});
  EXPECT_THAT(Exchange("GET / HTTP/1.0\r\n\r\n"), EndsWith("hello\n"));
}

}  // namespace
}  // namespace coppice::net
