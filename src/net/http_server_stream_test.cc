// Answers that stay open, and answers of any size.

#include <poll.h>

#include <algorithm>
#include <thread>

#include "net/http_server_rig.h"

namespace coppice::net {
namespace {

using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

TEST_F(HttpServerTest, StreamsWhileOthersAreServed) {
  StreamBox box;
  Start([&](const ServerRequest& request) {
    return request.path == "/events" ? box.Answer() : Hello(request);
  });
  RawClient client(server_->port());
  client.Send("GET /events HTTP/1.1\r\nHost: h\r\n\r\n");
  const auto stream = box.Take();
  EXPECT_TRUE(stream->Write("data: 1\n\n"));
  EXPECT_THAT(client.ReadUntil("9\r\ndata: 1\n\n\r\n"),
              AllOf(HasSubstr("Content-Type: text/event-stream\r\n"),
                    HasSubstr("Transfer-Encoding: chunked\r\n")));
  EXPECT_THAT(Exchange("GET / HTTP/1.0\r\n\r\n"), EndsWith("hello\n"));
  EXPECT_TRUE(stream->Write("data: 2\n\n"));
  stream->Close();
  EXPECT_FALSE(stream->Write("too late"));
  EXPECT_EQ(client.ReadAll(), "9\r\ndata: 2\n\n\r\n0\r\n\r\n");
}

TEST_F(HttpServerTest, MoreStreamsThanItMayHaveAreRefused) {
  StreamBox box;
  Start([&](const ServerRequest&) { return box.Answer(); }, {.max_streams = 1});
  RawClient client(server_->port());
  client.Send("GET / HTTP/1.1\r\nHost: h\r\n\r\n");
  const auto stream = box.Take();
  EXPECT_THAT(Exchange("GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n"),
              StartsWith("HTTP/1.1 503"));
  stream->Close();
  client.ReadAll();
}

TEST_F(HttpServerTest, StreamsToHttp10WithoutChunks) {
  StreamBox box;
  Start([&](const ServerRequest&) { return box.Answer(); });
  RawClient client(server_->port());
  client.Send("GET / HTTP/1.0\r\n\r\n");
  const auto stream = box.Take();
  EXPECT_TRUE(stream->Write("plain"));
  stream->Close();
  EXPECT_THAT(client.ReadAll(), EndsWith("\r\n\r\nplain"));
}

TEST_F(HttpServerTest, AStreamNoticesThatItsReaderLeft) {
  StreamBox box;
  Start([&](const ServerRequest&) { return box.Answer(); });
  RawClient client(server_->port());
  client.Send("GET / HTTP/1.1\r\nHost: h\r\n\r\n");
  const auto stream = box.Take();
  client.Close();
  while (stream->Write("x")) std::this_thread::yield();
}

TEST_F(HttpServerTest, ASlowReaderIsGivenUp) {
  StreamBox box;
  Start([&](const ServerRequest&) { return box.Answer(); }, {.max_stream_backlog = 100'000});
  RawClient client(server_->port());
  client.Send("GET / HTTP/1.1\r\nHost: h\r\n\r\n");
  const auto stream = box.Take();
  const std::string piece(10'000, 'x');
  // The kernel takes a few megabytes of it; the rest is bounded.
  size_t written = 0;
  while (stream->Write(piece)) ASSERT_LT(++written, 10'000u);
  EXPECT_FALSE(stream->Write("x"));
}

// Pieces of a megabyte each, so many of them; says when it is let go of.
class Pieces {
 public:
  explicit Pieces(size_t count) : left_(count) {}
  void Give(std::shared_ptr<ServerStream> stream) {
    const std::shared_ptr<void> held(nullptr, [this](void*) {
      const std::lock_guard lock(mutex_);
      let_go_ = true;
      wake_.notify_all();
    });
    stream->WriteFrom([this, held](std::string& piece) {
      if (left_ == 0) return;
      --left_;
      ++asked_;
      piece.append(1'000'000, 'x');
    });
  }
  void WaitUntilLetGo() {
    std::unique_lock lock(mutex_);
    wake_.wait(lock, [this] { return let_go_; });
  }
  size_t asked() const { return asked_; }  // when it has been let go of

 private:
  size_t left_;
  size_t asked_ = 0;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool let_go_ = false;
};

TEST_F(HttpServerTest, AnAnswerOfAnySizeComesAtTheReadersSpeed) {
  Pieces pieces(50);
  Start([&](const ServerRequest&) {
    return ServerResponse{.stream = [&](auto stream) { pieces.Give(std::move(stream)); }};
  });
  const std::string answer = Exchange("GET / HTTP/1.0\r\n\r\n");
  const std::string body = answer.substr(answer.find("\r\n\r\n"));
  EXPECT_EQ(std::ranges::count(body, 'x'), 50'000'000);
  pieces.WaitUntilLetGo();
}

TEST_F(HttpServerTest, WhatNobodyReadsIsNotMade) {
  Pieces pieces(1'000);
  Start([&](const ServerRequest&) {
    return ServerResponse{.stream = [&](auto stream) { pieces.Give(std::move(stream)); }};
  });
  RawClient client(server_->port());
  client.Send("GET / HTTP/1.1\r\nHost: h\r\n\r\n");
  client.ReadUntil("xxxx");
  client.Close();
  pieces.WaitUntilLetGo();
  EXPECT_LT(pieces.asked(), 100U);  // what the kernel takes
}

TEST_F(HttpServerTest, AnAnswerThatIsStoppedInTheMiddleDoesNotLookWhole) {
  Pieces pieces(1'000);
  Start([&](const ServerRequest&) {
    return ServerResponse{.stream = [&](auto stream) { pieces.Give(std::move(stream)); }};
  });
  RawClient client(server_->port());
  client.Send("GET / HTTP/1.1\r\nHost: h\r\n\r\n");
  client.ReadUntil("xxxx");
  std::thread stops([&] { server_->Stop(); });
  EXPECT_THAT(client.ReadAll(), Not(EndsWith("0\r\n\r\n")));
  stops.join();
}

}  // namespace
}  // namespace coppice::net
