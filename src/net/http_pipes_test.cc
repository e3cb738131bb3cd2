#include "net/http_pipes.h"

#include <atomic>
#include <thread>

#include "net/http_server_rig.h"

namespace coppice::net {
namespace {

using testing::HasSubstr;

// A server of a few lines that does with connections what the test wants.
class RudeServer {
 public:
  using Serve = std::function<void(int connection, int which)>;
  explicit RudeServer(Serve serve) : socket_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    ::bind(socket_, reinterpret_cast<sockaddr*>(&address), size);
    ::listen(socket_, 64);
    ::getsockname(socket_, reinterpret_cast<sockaddr*>(&address), &size);
    port_ = ntohs(address.sin_port);
    thread_ = std::thread([this, serve = std::move(serve)] {
      for (int which = 0;; ++which) {
        const int connection = ::accept(socket_, nullptr, nullptr);
        if (connection < 0) return;
        serve(connection, which);
        ::close(connection);
      }
    });
  }
  ~RudeServer() {
    ::shutdown(socket_, SHUT_RDWR);
    thread_.join();
    ::close(socket_);
  }
  uint16_t port() const { return port_; }

 private:
  int socket_;
  uint16_t port_ = 0;
  std::thread thread_;
};

std::string ReadSome(int connection) {
  char bytes[65536];
  const ssize_t length = ::recv(connection, bytes, sizeof bytes, 0);
  return length > 0 ? std::string(bytes, static_cast<size_t>(length)) : "";
}
void Say(int connection, std::string_view text) {
  (void)::send(connection, text.data(), text.size(), MSG_NOSIGNAL);
}

class HttpPipesTest : public HttpServerTest {
 protected:
  std::vector<std::optional<Result<HttpResponse>>> Ask(
      size_t count, uint16_t port, Duration timeout = std::chrono::seconds(20)) {
    const Url url{.scheme = "http", .host = "127.0.0.1", .port = port, .path = "/verb"};
    return pipes_->Ask({.url = url, .headers = {}, .bearer_token = token_, .timeout = timeout},
                       count, [](size_t i) { return "question " + std::to_string(i); });
  }

  Secret token_;
  std::unique_ptr<HttpPipes> pipes_ = MakeHttpPipes({});
};

TEST_F(HttpPipesTest, EveryQuestionGetsItsOwnAnswer) {
  Start(
      [](const ServerRequest& request) {
        return ServerResponse{.body = request.path + " " + request.body};
      },
      {.max_body_bytes = 1000});
  for (const size_t count : {size_t{1}, size_t{40}, size_t{3'000}}) {
    const auto answers = Ask(count, server_->port());
    ASSERT_EQ(answers.size(), count);
    for (size_t i = 0; i < count; ++i) {
      ASSERT_TRUE(answers[i] && answers[i]->ok()) << i;
      EXPECT_EQ((*answers[i])->body, "/verb question " + std::to_string(i));
    }
  }
}

TEST_F(HttpPipesTest, TheTokenIsSent) {
  token_ = Secret("word");
  Start(
      [](const ServerRequest& request) {
        const std::string* got = request.Header("authorization");
        return ServerResponse{.body = got ? *got : "none"};
      },
      {.max_body_bytes = 1000});
  EXPECT_EQ((*Ask(1, server_->port())[0])->body, "Bearer word");
}

TEST_F(HttpPipesTest, ARefusalIsAnAnswerAndARedirectIsForOthers) {
  Start(
      [](const ServerRequest& request) {
        if (request.body == "question 1") return ServerResponse{.status = 404, .body = "no"};
        if (request.body == "question 2")
          return ServerResponse{.status = 307, .headers = {{"Location", "/elsewhere"}}};
        return ServerResponse{.body = "yes"};
      },
      {.max_body_bytes = 1000});
  const auto answers = Ask(20, server_->port());
  EXPECT_EQ((*answers[0])->status, 200);
  EXPECT_EQ((*answers[1])->status, 404);
  EXPECT_FALSE(answers[2]);
  EXPECT_EQ((*answers[19])->body, "yes");
}

TEST_F(HttpPipesTest, AServerThatClosesAfterEachAnswerIsNeverSentTwoAtOnce) {
  std::atomic<int> ahead = 0;
  RudeServer server([&](int connection, int) {
    const std::string request = ReadSome(connection);
    if (request.find("question", request.find("question") + 1) != std::string::npos) ++ahead;
    Say(connection, "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok");
  });
  const auto answers = Ask(30, server.port());
  for (const auto& answer : answers) EXPECT_TRUE(answer && answer->ok());
  EXPECT_EQ(ahead, 0);
}

// The first of a connection shows that it is kept; then it dies with the others unanswered.
TEST_F(HttpPipesTest, QuestionsOfAConnectionThatDiesAreAskedOnceMore) {
  RudeServer server([&](int connection, int which) {
    const std::string good = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
    if (which == 0) {
      ReadSome(connection);
      Say(connection, good);
      ReadSome(connection);
      return;
    }
    for (std::string request = ReadSome(connection); !request.empty();
         request = ReadSome(connection)) {
      for (size_t at = request.find("POST "); at != std::string::npos;
           at = request.find("POST ", at + 1))
        Say(connection, good);
    }
  });
  pipes_ = MakeHttpPipes({.connections = 1});
  const auto answers = Ask(20, server.port());
  pipes_.reset();  // the server waits for the end of the connection
  for (const auto& answer : answers) EXPECT_TRUE(answer && answer->ok());
}

TEST_F(HttpPipesTest, WhoeverAlwaysHangsUpLeavesThemUnanswered) {
  RudeServer server([&](int connection, int) { ReadSome(connection); });
  for (const auto& answer : Ask(5, server.port())) EXPECT_FALSE(answer);
}

TEST_F(HttpPipesTest, WhoeverIsLateIsLateAndTheOthersAreAnswered) {
  std::atomic<bool> done = false;
  RudeServer server([&](int connection, int) {
    ReadSome(connection);
    while (!done) std::this_thread::yield();
  });
  const auto answers = Ask(3, server.port(), std::chrono::milliseconds(50));
  done = true;
  for (const auto& answer : answers) {
    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->status().code(), Code::kDeadlineExceeded);
    EXPECT_THAT(answer->status().message(), HasSubstr("/verb: no answer in time"));
  }
}

TEST_F(HttpPipesTest, NobodyThereIsForOthersToSay) {
  Start(Hello);
  const uint16_t port = server_->port();
  server_.reset();
  for (const auto& answer : Ask(40, port)) EXPECT_FALSE(answer);
}

TEST_F(HttpPipesTest, WhatIsNoHttpOrTooLongIsForOthersToSay) {
  for (const std::string_view text :
       {"SSH-2.0-OpenSSH\r\n\r\n", "HTTP/1.1 200 OK\r\n\r\nuntil the end",
        "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 2\r\n\r\nok",
        "HTTP/1.1 200 OK\r\nContent-Length: 99999999\r\n\r\n"}) {
    RudeServer server([&](int connection, int) {
      ReadSome(connection);
      Say(connection, text);
    });
    EXPECT_FALSE(Ask(1, server.port())[0]) << text;
  }
}

TEST_F(HttpPipesTest, AnAnswerInPiecesIsPutTogether) {
  RudeServer server([&](int connection, int) {
    ReadSome(connection);
    for (const std::string_view piece :
         {"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 2", "00 OK\r\nTransfer-Encoding: chunked\r\n",
          "\r\n3\r\nabc\r\n", "2\r\nde\r\n0\r\n\r\n"}) {
      Say(connection, piece);
      std::this_thread::yield();
    }
  });
  EXPECT_EQ((*Ask(1, server.port())[0])->body, "abcde");
}

}  // namespace
}  // namespace coppice::net
