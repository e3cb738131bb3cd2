// The HTTP/2 session with bytes alone: what a library's client never sends.

#include "grpc/http2_session.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nghttp2/nghttp2.h>

#include <map>
#include <string>
#include <vector>

#include "base/fake_clock.h"
#include "grpc/health.h"
#include "grpc/reflection.h"
#include "health.pb.h"
#include "reflection.pb.h"
#include "test/support/must.h"

namespace coppice::grpc {
namespace {

using ::testing::HasSubstr;

std::string Framed(std::string_view message, char compressed = 0) {
  std::string framed(1, compressed);
  for (int shift = 24; shift >= 0; shift -= 8)
    framed += static_cast<char>(message.size() >> shift & 0xff);
  return framed.append(message);
}

struct Somebody final : Caller {
  std::vector<std::string> Names() const override { return {"somebody"}; }
  std::string Address() const override { return "here"; }
};

// A client made of nghttp2 alone, so that it can say anything.
class Client {
 public:
  struct Stream {
    std::map<std::string, std::string> headers;
    std::string body;
    bool closed = false;
    std::string to_send;
    bool hold_open = false;
  };

  explicit Client(Http2Session& server) : server_(server) {
    nghttp2_session_callbacks* callbacks = nullptr;
    nghttp2_session_callbacks_new(&callbacks);
    nghttp2_session_callbacks_set_on_header_callback(
        callbacks,
        [](nghttp2_session*, const nghttp2_frame* frame, const uint8_t* name, size_t name_size,
           const uint8_t* value, size_t value_size, uint8_t, void* me) {
          static_cast<Client*>(me)->streams[frame->hd.stream_id].headers.insert_or_assign(
              std::string(reinterpret_cast<const char*>(name), name_size),
              std::string(reinterpret_cast<const char*>(value), value_size));
          return 0;
        });
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(
        callbacks,
        [](nghttp2_session*, uint8_t, int32_t id, const uint8_t* data, size_t size, void* me) {
          static_cast<Client*>(me)->streams[id].body.append(reinterpret_cast<const char*>(data),
                                                            size);
          return 0;
        });
    nghttp2_session_callbacks_set_on_stream_close_callback(
        callbacks, [](nghttp2_session*, int32_t id, uint32_t, void* me) {
          static_cast<Client*>(me)->streams[id].closed = true;
          return 0;
        });
    nghttp2_session_client_new(&session_, callbacks, this);
    nghttp2_session_callbacks_del(callbacks);
    nghttp2_submit_settings(session_, NGHTTP2_FLAG_NONE, nullptr, 0);
  }
  ~Client() { nghttp2_session_del(session_); }

  // `hold_open`: the request goes on after the body.
  Stream& Request(const std::string& path, const std::string& body,
                  std::vector<std::pair<std::string, std::string>> more = {},
                  bool hold_open = false) {
    std::vector<std::pair<std::string, std::string>> headers{{":method", "POST"},
                                                             {":scheme", "https"},
                                                             {":path", path},
                                                             {":authority", "x"},
                                                             {"content-type", "application/grpc"},
                                                             {"te", "trailers"}};
    for (const auto& [name, value] : more) {
      std::erase_if(headers, [&, &key = name](const auto& h) { return h.first == key; });
      headers.emplace_back(name, value);
    }
    std::ranges::stable_partition(headers, [](const auto& h) { return h.first[0] == ':'; });
    std::vector<nghttp2_nv> raw;
    for (auto& [name, value] : headers) {
      raw.push_back({reinterpret_cast<uint8_t*>(name.data()),
                     reinterpret_cast<uint8_t*>(value.data()), name.size(), value.size(), 0});
    }
    const int32_t next = static_cast<int32_t>(nghttp2_session_get_next_stream_id(session_));
    Stream& stream = streams[next];
    stream.to_send = body;
    stream.hold_open = hold_open;
    nghttp2_data_provider provider{};
    provider.source.ptr = &stream;
    provider.read_callback = [](nghttp2_session*, int32_t, uint8_t* out, size_t size,
                                uint32_t* flags, nghttp2_data_source* source, void*) -> ssize_t {
      auto& sending = *static_cast<Stream*>(source->ptr);
      const size_t n = std::min(size, sending.to_send.size());
      std::copy_n(sending.to_send.begin(), n, out);
      sending.to_send.erase(0, n);
      if (sending.to_send.empty() && !sending.hold_open) *flags |= NGHTTP2_DATA_FLAG_EOF;
      if (n == 0 && sending.hold_open) return NGHTTP2_ERR_DEFERRED;
      return static_cast<ssize_t>(n);
    };
    nghttp2_submit_request(session_, nullptr, raw.data(), raw.size(), &provider, nullptr);
    Exchange();
    return stream;
  }

  // Ends a request that was held open.
  void End(Stream& stream) {
    stream.hold_open = false;
    for (auto& [id, one] : streams) {
      if (&one == &stream) nghttp2_session_resume_data(session_, id);
    }
    Exchange();
  }

  void Exchange() {
    for (bool moved = true; moved;) {
      moved = false;
      const uint8_t* data = nullptr;
      for (ssize_t n = 0; (n = nghttp2_session_mem_send(session_, &data)) > 0; moved = true) {
        EXPECT_OK(server_.Receive({reinterpret_cast<const char*>(data), static_cast<size_t>(n)}));
      }
      std::string out;
      if (server_.Pull(out, 1 << 16)) {
        moved = true;
        nghttp2_session_mem_recv(session_, reinterpret_cast<const uint8_t*>(out.data()),
                                 out.size());
      }
    }
  }

  std::map<int32_t, Stream> streams;

 private:
  Http2Session& server_;
  nghttp2_session* session_ = nullptr;
};

class Http2SessionTest : public testing::Test {
 protected:
  Http2SessionTest() {
    routes_.Add({.path = "/test.Echo/Echo",
                 .unary = [](const Call& call) -> Answer { return std::string(call.request); }});
    routes_.Add({.path = "/test.Echo/Fail",
                 .unary = [](const Call&) -> Answer { return NotFound("50% of \nthem"); }});
    routes_.Add({.path = "/test.Echo/Wait", .unary = nullptr, .waits = true});
    health_.AddTo(routes_);
    AddReflection(routes_, {"grpc.health.v1.Health"});
  }

  FakeClock clock_;
  Somebody caller_;
  Health health_{{"test.Echo"}};
  Routes routes_;
  std::vector<std::pair<int32_t, std::string>> waiting_;
  Http2Session session_{routes_,
                        caller_,
                        clock_,
                        [this](int32_t stream, const Route&, std::string request, Deadline) {
                          waiting_.emplace_back(stream, std::move(request));
                        },
                        {.max_message_bytes = 100'000}};
  Client client_{session_};
};

TEST_F(Http2SessionTest, AnswersWithMessageAndTrailers) {
  const auto& answer = client_.Request("/test.Echo/Echo", Framed("hello"));
  EXPECT_EQ(answer.body, Framed("hello"));
  EXPECT_EQ(answer.headers.at("grpc-status"), "0");
  EXPECT_EQ(answer.headers.at(":status"), "200");
  EXPECT_TRUE(answer.closed);
  EXPECT_EQ(session_.calls(), 0U);
}

TEST_F(Http2SessionTest, ARefusalCarriesItsTextEncoded) {
  const auto& answer = client_.Request("/test.Echo/Fail", Framed(""));
  EXPECT_EQ(answer.headers.at("grpc-status"), "5");
  EXPECT_EQ(answer.headers.at("grpc-message"), "50%25 of %0Athem");
}

TEST_F(Http2SessionTest, SaysWhatIsWrongWithARequest) {
  const auto code = [&](const Client::Stream& s) { return s.headers.at("grpc-status"); };
  EXPECT_EQ(code(client_.Request("/test.Echo/Absent", Framed(""))), "12");
  EXPECT_EQ(code(client_.Request("/test.Echo/Echo", "")), "13") << "no message";
  EXPECT_EQ(code(client_.Request("/test.Echo/Echo", Framed("abc").substr(0, 6))), "13");
  EXPECT_EQ(code(client_.Request("/test.Echo/Echo", Framed("a") + Framed("b"))), "13");
  EXPECT_EQ(code(client_.Request("/test.Echo/Echo", Framed("zip", 1))), "12");
  const auto& large = client_.Request("/test.Echo/Echo", Framed(std::string(100'001, 'x')));
  EXPECT_EQ(code(large), "8");
  EXPECT_THAT(large.headers.at("grpc-message"), HasSubstr("100001"));
  EXPECT_EQ(client_.Request("/", "", {{":method", "GET"}}).headers.at(":status"), "405");
  EXPECT_EQ(client_.Request("/", "", {{"content-type", "text/html"}}).headers.at(":status"), "415");
}

TEST_F(Http2SessionTest, HeadersWithoutEndAreNotCollected) {
  std::vector<std::pair<std::string, std::string>> many;
  for (int i = 0; i < 100; ++i) many.emplace_back("x-" + std::to_string(i), std::string(500, 'x'));
  const auto& answer = client_.Request("/test.Echo/Echo", Framed(""), many);
  EXPECT_TRUE(answer.closed);
  EXPECT_FALSE(answer.headers.contains("grpc-status")) << "reset";
  EXPECT_EQ(client_.Request("/test.Echo/Echo", Framed("on")).body, Framed("on"));
}

TEST_F(Http2SessionTest, ALateAnswerReachesItsCallAndNoOther) {
  const auto& slow = client_.Request("/test.Echo/Wait", Framed("order"));
  const auto& quick = client_.Request("/test.Echo/Echo", Framed("q"));
  EXPECT_EQ(quick.body, Framed("q"));
  ASSERT_EQ(waiting_.size(), 1U);
  EXPECT_EQ(waiting_[0].second, "order");
  session_.Answer(waiting_[0].first, std::string("done"));
  session_.Answer(waiting_[0].first + 2'000, std::string("nobody asked"));
  client_.Exchange();
  EXPECT_EQ(slow.body, Framed("done"));
}

TEST_F(Http2SessionTest, WatchTellsEveryChangeOnce) {
  ::grpc::health::v1::HealthCheckRequest request;
  request.set_service("test.Echo");
  auto& watch =
      client_.Request("/grpc.health.v1.Health/Watch", Framed(request.SerializeAsString()));
  const auto status = [](int s) { return Framed(std::string("\x08") + static_cast<char>(s)); };
  EXPECT_EQ(watch.body, status(2));
  health_.Set(true);
  health_.Tell();
  health_.Tell();
  client_.Exchange();
  EXPECT_EQ(watch.body, status(2) + status(1));
  EXPECT_FALSE(watch.closed);
}

// Nobody ends a watch but its client, and who balances load keeps one for as long as it lives.
TEST_F(Http2SessionTest, GoAwayEndsWatchesAfterWhatTheyHadToTell) {
  health_.Set(true);
  const auto& watch = client_.Request("/grpc.health.v1.Health/Watch", Framed(""));
  EXPECT_FALSE(watch.closed);
  health_.Set(false);
  health_.Tell();
  session_.GoAway();
  client_.Exchange();
  EXPECT_EQ(watch.body, Framed("\x08\x01") + Framed("\x08\x02"));
  EXPECT_TRUE(watch.closed);
  EXPECT_EQ(watch.headers.at("grpc-status"), "14");
}

TEST_F(Http2SessionTest, ReflectionDescribesAServiceUnderBothNames) {
  for (const std::string version : {"v1", "v1alpha"}) {
    ::grpc::reflection::v1::ServerReflectionRequest request;
    request.set_file_containing_symbol("grpc.health.v1.Health");
    const std::string bytes = request.SerializeAsString();
    auto& stream =
        client_.Request("/grpc.reflection." + version + ".ServerReflection/ServerReflectionInfo",
                        Framed(bytes) + Framed(bytes), {}, true);
    EXPECT_FALSE(stream.closed) << "the client may ask more";
    ::grpc::reflection::v1::ServerReflectionResponse answer;
    ASSERT_TRUE(answer.ParseFromString(stream.body.substr(5, (stream.body.size() - 10) / 2)));
    EXPECT_EQ(answer.file_descriptor_response().file_descriptor_proto_size(), 1);
    client_.End(stream);
    EXPECT_TRUE(stream.closed);
    EXPECT_EQ(stream.headers.at("grpc-status"), "0");
  }
}

TEST_F(Http2SessionTest, AfterGoAwayTheOldCallsEndAndNoNewOneStarts) {
  const auto& slow = client_.Request("/test.Echo/Wait", Framed("order"));
  session_.GoAway();
  client_.Exchange();
  EXPECT_FALSE(session_.done());
  session_.Answer(waiting_[0].first, std::string("done"));
  client_.Exchange();
  EXPECT_EQ(slow.body, Framed("done"));
  EXPECT_TRUE(session_.done());
}

TEST(Http2SessionBytesTest, WhatIsNotHttp2IsAnError) {
  Routes routes;
  const Somebody caller;
  const FakeClock clock;
  Http2Session session(routes, caller, clock, nullptr, {});
  EXPECT_FALSE(session.Receive("GET / HTTP/1.1\r\n\r\n").ok());
}

}  // namespace
}  // namespace coppice::grpc
