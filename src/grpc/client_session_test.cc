// The client's HTTP/2 session with bytes alone: against our own server's session, and against one
// that answers as it is told, for what no good server sends.

#include "grpc/client_session.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nghttp2/nghttp2.h>
#include <zlib.h>

#include <map>
#include <string>
#include <vector>

#include "grpc/framing.h"
#include "grpc/http2_header.h"
#include "test/support/must.h"

namespace coppice::grpc {
namespace {

using ::testing::HasSubstr;

std::string Message(std::string_view bytes, char packed = 0) {
  std::string text(kPrefix, '\0');
  WritePrefix(text.data(), bytes.size());
  text[0] = packed;
  return text + std::string(bytes);
}

std::string Zipped(const std::string& text) {
  z_stream stream{};
  deflateInit2(&stream, 9, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY);
  std::string out(deflateBound(&stream, text.size()) + 64, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

using Headers = std::vector<std::pair<std::string, std::string>>;

// What a server does with every request.
struct Script {
  Headers headers = {{":status", "200"}, {"content-type", "application/grpc"}};
  std::string body;
  Headers trailers;
  std::optional<uint32_t> reset;     // instead of an answer
  bool goes_away = false;            // and has not looked at any call
  bool before_the_question = false;  // answers as soon as it has the headers
};

class ScriptedServer {
 public:
  explicit ScriptedServer(Script script) : script_(std::move(script)) {
    nghttp2_session_callbacks* callbacks = nullptr;
    nghttp2_session_callbacks_new(&callbacks);
    nghttp2_session_callbacks_set_on_header_callback(
        callbacks, [](nghttp2_session*, const nghttp2_frame*, const uint8_t* name, size_t n,
                      const uint8_t* value, size_t m, uint8_t, void* self) {
          static_cast<ScriptedServer*>(self)
              ->asked[std::string(reinterpret_cast<const char*>(name), n)] =
              std::string(reinterpret_cast<const char*>(value), m);
          return 0;
        });
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(
        callbacks,
        [](nghttp2_session*, uint8_t, int32_t, const uint8_t* data, size_t size, void* self) {
          static_cast<ScriptedServer*>(self)->request.append(reinterpret_cast<const char*>(data),
                                                             size);
          return 0;
        });
    nghttp2_session_callbacks_set_on_frame_recv_callback(
        callbacks, [](nghttp2_session*, const nghttp2_frame* frame, void* self) {
          auto& server = *static_cast<ScriptedServer*>(self);
          const bool whole = (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) != 0;
          const bool headers = frame->hd.type == NGHTTP2_HEADERS;
          if (server.script_.before_the_question ? headers : whole)
            server.Answer(frame->hd.stream_id);
          return 0;
        });
    nghttp2_session_server_new(&session_, callbacks, this);
    nghttp2_session_callbacks_del(callbacks);
    nghttp2_submit_settings(session_, NGHTTP2_FLAG_NONE, nullptr, 0);
  }
  ~ScriptedServer() { nghttp2_session_del(session_); }

  void Receive(const std::string& bytes) {
    nghttp2_session_mem_recv(session_, reinterpret_cast<const uint8_t*>(bytes.data()),
                             bytes.size());
  }
  std::string Pull() {
    std::string out;
    const uint8_t* data = nullptr;
    for (ssize_t size = 0; (size = nghttp2_session_mem_send(session_, &data)) > 0;)
      out.append(reinterpret_cast<const char*>(data), static_cast<size_t>(size));
    return out;
  }

  std::map<std::string, std::string> asked;
  std::string request;

 private:
  static std::vector<nghttp2_nv> AsNghttp2(const Headers& headers) {
    std::vector<nghttp2_nv> list;
    for (const auto& [name, value] : headers) list.push_back(Header(name, value));
    return list;
  }
  void Answer(int32_t id) {
    if (script_.goes_away) {
      nghttp2_submit_goaway(session_, NGHTTP2_FLAG_NONE, 0, NGHTTP2_NO_ERROR, nullptr, 0);
    } else if (script_.reset) {
      nghttp2_submit_rst_stream(session_, NGHTTP2_FLAG_NONE, id, *script_.reset);
    } else {
      const auto headers = AsNghttp2(script_.headers);
      nghttp2_data_provider body{};
      body.source.ptr = this;
      body.read_callback = [](nghttp2_session* session, int32_t stream, uint8_t* out, size_t size,
                              uint32_t* flags, nghttp2_data_source* source, void*) -> ssize_t {
        auto& server = *static_cast<ScriptedServer*>(source->ptr);
        const size_t n = std::min(size, server.script_.body.size() - server.sent_);
        std::copy_n(server.script_.body.data() + server.sent_, n, out);
        server.sent_ += n;
        if (server.sent_ == server.script_.body.size()) {
          *flags |= NGHTTP2_DATA_FLAG_EOF;
          if (!server.script_.trailers.empty()) {
            *flags |= NGHTTP2_DATA_FLAG_NO_END_STREAM;
            const auto trailers = AsNghttp2(server.script_.trailers);
            nghttp2_submit_trailer(session, stream, trailers.data(), trailers.size());
          }
        }
        return static_cast<ssize_t>(n);
      };
      const bool bare = script_.body.empty() && script_.trailers.empty();
      nghttp2_submit_response(session_, id, headers.data(), headers.size(), bare ? nullptr : &body);
    }
  }

  Script script_;
  size_t sent_ = 0;
  nghttp2_session* session_ = nullptr;
};

struct Played {
  std::optional<CallEnd> end;
  std::map<std::string, std::string> asked;
  std::string request;
  bool takes_calls = true;

  Code code() const { return end->answer.code(); }
  std::string message() const { return end->answer.status().message(); }
};

Played Play(Script script, std::string request = "question",
            std::optional<Duration> timeout = std::nullopt, size_t most = 1'000) {
  ScriptedServer server(std::move(script));
  ClientSession client({.authority = "somewhere:1", .tls = true, .max_message_bytes = most});
  Played played;
  MUST(client.Start({.method = "/test.Echo/Echo",
                     .request = std::move(request),
                     .timeout = timeout,
                     .end = [&](CallEnd end) {
                       EXPECT_FALSE(played.end.has_value()) << "told twice";
                       played.end = std::move(end);
                     }}));
  for (int turn = 0; turn < 10; ++turn) {
    std::string out;
    client.Pull(out, 1 << 20);
    server.Receive(out);
    if (!client.Receive(server.Pull()).ok()) break;
  }
  EXPECT_EQ(client.calls(), played.end ? 0U : 1U);
  played.asked = server.asked;
  played.request = server.request;
  played.takes_calls = client.takes_calls();
  return played;
}

const Headers kFine = {{"grpc-status", "0"}};

TEST(ClientSessionTest, AsksAsGrpcDoesAndTakesTheAnswer) {
  const Played played = Play({.body = Message("answer"), .trailers = kFine}, "question",
                             std::chrono::milliseconds(2'500));
  ASSERT_TRUE(played.end);
  EXPECT_EQ(MUST(played.end->answer), "answer");
  EXPECT_EQ(played.request, Message("question"));
  EXPECT_EQ(played.asked.at(":path"), "/test.Echo/Echo");
  EXPECT_EQ(played.asked.at(":authority"), "somewhere:1");
  EXPECT_EQ(played.asked.at(":scheme"), "https");
  EXPECT_EQ(played.asked.at("te"), "trailers");
  EXPECT_EQ(played.asked.at("content-type"), "application/grpc");
  EXPECT_EQ(played.asked.at("grpc-timeout"), "2500000u");
  EXPECT_TRUE(played.takes_calls);
}

TEST(ClientSessionTest, ARefusalCarriesItsText) {
  const Played played = Play(
      {.headers = {
           {":status", "200"}, {"grpc-status", "5"}, {"grpc-message", "50%25 of %0Athem, 100%"}}});
  EXPECT_EQ(played.code(), Code::kNotFound);
  EXPECT_EQ(played.message(), "50% of \nthem, 100%");
  EXPECT_FALSE(played.end->untouched);
  EXPECT_EQ(Play({.trailers = {{"grpc-status", "99"}}}).code(), Code::kUnknown);
  EXPECT_EQ(Play({.trailers = {{"grpc-status", "x"}}}).code(), Code::kUnknown);
}

TEST(ClientSessionTest, WhatIsNoAnswerIsSaid) {
  const auto http = [](const char* status) {
    return Play({.headers = {{":status", status}}, .body = "<html>"});
  };
  EXPECT_EQ(http("503").code(), Code::kUnavailable);
  EXPECT_THAT(http("503").message(), HasSubstr("HTTP status 503"));
  EXPECT_EQ(http("404").code(), Code::kUnimplemented);
  EXPECT_EQ(http("401").code(), Code::kUnauthenticated);
  EXPECT_EQ(http("200").code(), Code::kUnknown);
  EXPECT_THAT(Play({.headers = {{":status", "200"}, {"content-type", "text/html"}},
                    .body = "<html>",
                    .trailers = kFine})
                  .message(),
              HasSubstr("'text/html'"));
  EXPECT_EQ(Play({.trailers = kFine}).code(), Code::kUnimplemented) << "no message";
  EXPECT_EQ(Play({.body = Message("abc").substr(0, 6), .trailers = kFine}).code(), Code::kInternal);
  EXPECT_EQ(Play({.body = Message("abc").substr(0, 3), .trailers = kFine}).code(), Code::kInternal);
}

TEST(ClientSessionTest, AnAnswerIsNeverLargerThanItMayBe) {
  EXPECT_TRUE(Play({.body = Message(std::string(1'000, 'x')), .trailers = kFine}).end->answer.ok());
  const Played large = Play({.body = Message(std::string(1'001, 'x')), .trailers = kFine});
  EXPECT_EQ(large.code(), Code::kResourceExhausted);
  EXPECT_EQ(large.message(), "Received message larger than max (1001 vs. 1000)");
  const Headers gzip = {
      {":status", "200"}, {"content-type", "application/grpc+proto"}, {"grpc-encoding", "gzip"}};
  const auto packed = [&](const std::string& text) {
    return Play({.headers = gzip, .body = Message(Zipped(text), 1), .trailers = kFine});
  };
  EXPECT_EQ(MUST(packed("short").end->answer), "short");
  EXPECT_EQ(packed(std::string(1'001, 'x')).code(), Code::kResourceExhausted);
  EXPECT_EQ(Play({.body = Message("abc", 1), .trailers = kFine}).code(), Code::kInternal)
      << "compressed, and nobody says how";
  // What follows the one message is for nobody.
  EXPECT_EQ(MUST(Play({.body = Message("a") + Message("b"), .trailers = kFine}).end->answer), "a");
}

TEST(ClientSessionTest, AResetIsAnEndWithItsCode) {
  EXPECT_EQ(Play({.reset = NGHTTP2_INTERNAL_ERROR}).code(), Code::kInternal);
  EXPECT_EQ(Play({.reset = NGHTTP2_CANCEL}).code(), Code::kCancelled);
  EXPECT_EQ(Play({.reset = NGHTTP2_ENHANCE_YOUR_CALM}).code(), Code::kResourceExhausted);
  EXPECT_FALSE(Play({.reset = NGHTTP2_CANCEL}).end->untouched);
  const Played refused = Play({.reset = NGHTTP2_REFUSED_STREAM});
  EXPECT_EQ(refused.code(), Code::kUnavailable);
  EXPECT_TRUE(refused.end->untouched);
}

TEST(ClientSessionTest, AServerThatGoesAwayHasNotTouchedWhatCameAfterItsLastCall) {
  const Played played = Play({.goes_away = true});
  ASSERT_TRUE(played.end);
  EXPECT_TRUE(played.end->untouched);
  EXPECT_FALSE(played.takes_calls);
}

TEST(ClientSessionTest, AnAnswerBeforeTheQuestionIsOverEndsIt) {
  // More than the server's window takes: the rest would never be asked for.
  const Played played =
      Play({.headers = {{":status", "200"}, {"grpc-status", "8"}}, .before_the_question = true},
           std::string(1 << 20, 'q'));
  ASSERT_TRUE(played.end);
  EXPECT_EQ(played.code(), Code::kResourceExhausted);
}

TEST(ClientSessionTest, TheEndOfTheConnectionIsTheEndOfEveryCallAndSaysWhichWereSent) {
  ClientSession client({.authority = "a"});
  std::vector<bool> untouched;
  const auto start = [&] {
    return MUST(
        client.Start({.method = "/a/B", .request = "", .timeout = {}, .end = [&](CallEnd end) {
                        EXPECT_EQ(end.answer.code(), Code::kUnavailable);
                        untouched.push_back(end.untouched);
                      }}));
  };
  start();
  std::string out;
  client.Pull(out, 1 << 20);
  const int32_t given_up = start();
  client.Cancel(given_up);
  client.End(Unavailable("gone"));
  EXPECT_THAT(untouched, testing::ElementsAre(false));
  start();
  client.End(Unavailable("gone"));
  EXPECT_THAT(untouched, testing::ElementsAre(false, true));
}

TEST(FramingTest, TimesAreWrittenAsTheyAreRead) {
  using namespace std::chrono_literals;
  EXPECT_EQ(FormatTimeout(0s), "1u");
  EXPECT_EQ(FormatTimeout(1500us), "1500u");
  EXPECT_EQ(FormatTimeout(99s), "99000000u");
  EXPECT_EQ(FormatTimeout(100s), "100000m");
  EXPECT_EQ(FormatTimeout(48h), "172801S");
  for (const Duration time : {Duration(3ms), Duration(99s), Duration(1h)})
    EXPECT_EQ(ParseTimeout(FormatTimeout(time)), time);
}

}  // namespace
}  // namespace coppice::grpc
