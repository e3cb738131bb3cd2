// Compressed messages as gRPC's specification has them.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include <string>

#include "base/fake_clock.h"
#include "grpc/gzip.h"
#include "grpc/health.h"
#include "grpc/http2_session.h"
#include "test/support/http2_client.h"

namespace coppice::grpc {
namespace {

using ::testing::HasSubstr;

std::string Gzip(const std::string& text) {
  z_stream stream{};
  deflateInit2(&stream, 9, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY);
  std::string out(deflateBound(&stream, text.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

TEST(GunzipTest, TakesWhatGzipMakes) {
  for (const size_t size : {0UL, 1UL, 4'095UL, 4'096UL, 100'000UL}) {
    const std::string text(size, 'x');
    EXPECT_EQ(MUST(Gunzip(Gzip(text), 100'000)), text) << size;
  }
  EXPECT_EQ(MUST(Gunzip(Gzip("one") + Gzip("") + Gzip("two"), 6)), "onetwo") << "several members";
}

TEST(GunzipTest, StopsAtTheLimit) {
  const std::string bomb = Gzip(std::string(50'000'000, '\0'));
  ASSERT_LT(bomb.size(), 60'000U);
  EXPECT_EQ(Gunzip(bomb, 1'000'000).code(), Code::kResourceExhausted);
  EXPECT_EQ(Gunzip(Gzip("1234"), 3).code(), Code::kResourceExhausted);
  EXPECT_OK(Gunzip(Gzip("123"), 3));
  EXPECT_EQ(Gunzip(Gzip("1"), 0).code(), Code::kResourceExhausted);
}

TEST(GunzipTest, SaysWhatIsNoGzip) {
  const std::string whole = Gzip("hello hello hello");
  EXPECT_EQ(Gunzip("", 100).code(), Code::kInternal);
  EXPECT_EQ(Gunzip("hello", 100).code(), Code::kInternal);
  EXPECT_EQ(Gunzip(whole.substr(0, whole.size() - 1), 100).code(), Code::kInternal);
  EXPECT_EQ(Gunzip(whole + "x", 100).code(), Code::kInternal);
  std::string wrong = whole;
  wrong[wrong.size() - 6] ^= 1;  // of the checksum
  EXPECT_EQ(Gunzip(wrong, 100).code(), Code::kInternal);
}

class CompressionTest : public testing::Test {
 protected:
  CompressionTest() {
    routes_.Add({.path = "/test.Echo/Echo",
                 .unary = [](const Call& call) -> Answer { return std::string(call.request); }});
    routes_.Add({.path = "/test.Echo/Wait", .unary = nullptr, .waits = true});
    health_.AddTo(routes_);
  }
  const Http2Client::Stream& Ask(const std::string& body, const std::string& encoding,
                                 const std::string& path = "/test.Echo/Echo") {
    std::vector<std::pair<std::string, std::string>> headers;
    if (!encoding.empty()) headers.emplace_back("grpc-encoding", encoding);
    return client_.Request(path, body, headers);
  }
  static std::string CodeOf(const Http2Client::Stream& s) { return s.headers.at("grpc-status"); }

  FakeClock clock_;
  Log log_ = Log::Null();
  ServerLoad load_{{.max_bytes = 150'000}, clock_, log_};
  Somebody caller_;
  Health health_{{"test.Echo"}};
  Routes routes_;
  std::vector<std::string> waiting_;
  Http2Session session_{{.routes = routes_,
                         .caller = caller_,
                         .clock = clock_,
                         .load = load_,
                         .start_waiting =
                             [this](WaitingCall call) {
                               load_.Return(call.held);
                               waiting_.push_back(std::move(call.request));
                             }},
                        {.max_message_bytes = 100'000}};
  Http2Client client_{session_};
};

TEST_F(CompressionTest, EveryAnswerSaysWhatIsTaken) {
  const auto& answer = Ask(Framed("x"), "");
  EXPECT_EQ(answer.headers.at("grpc-accept-encoding"), "identity,gzip");
  EXPECT_FALSE(answer.headers.contains("grpc-encoding")) << "answers are sent as they are";
}

TEST_F(CompressionTest, TakesGzipInUnaryCallsAndStreams) {
  const std::string text(90'000, 'z');
  EXPECT_EQ(Ask(Framed(Gzip(text), 1), "gzip").body, Framed(text));
  EXPECT_EQ(Ask(Framed("as it is", 0), "gzip").body, Framed("as it is"));
  EXPECT_EQ(Ask(Framed("as it is", 0), "identity").body, Framed("as it is"));
  Ask(Framed(Gzip("order"), 1), "gzip", "/test.Echo/Wait");
  EXPECT_EQ(waiting_, std::vector<std::string>{"order"});
  EXPECT_EQ(Ask(Framed(Gzip(""), 1), "gzip", "/grpc.health.v1.Health/Watch").body,
            Framed("\x08\x02"));
}

TEST_F(CompressionTest, AnUnknownEncodingIsUnimplementedAndTheAnswerNamesTheKnown) {
  const auto& refused = Ask(Framed("xxxx", 1), "snappy");
  EXPECT_EQ(CodeOf(refused), "12");
  EXPECT_EQ(refused.headers.at("grpc-accept-encoding"), "identity,gzip");
}

TEST_F(CompressionTest, TheFlagWithoutAnEncodingIsAnInternalError) {
  EXPECT_EQ(CodeOf(Ask(Framed(Gzip("x"), 1), "")), "13");
  EXPECT_EQ(CodeOf(Ask(Framed(Gzip("x"), 1), "identity")), "13");
  EXPECT_EQ(CodeOf(Ask(Framed("x", 2), "gzip")), "13");
  EXPECT_EQ(CodeOf(Ask(Framed("no gzip", 1), "gzip")), "13");
  EXPECT_EQ(CodeOf(Ask(Framed(Gzip("x"), 1), "", "/grpc.health.v1.Health/Watch")), "13");
}

TEST_F(CompressionTest, ABombIsRefusedAtTheMessageLimit) {
  const auto& refused = Ask(Framed(Gzip(std::string(10'000'000, '\0')), 1), "gzip");
  EXPECT_EQ(CodeOf(refused), "8");
  EXPECT_THAT(refused.headers.at("grpc-message"), HasSubstr("100000"));
  EXPECT_EQ(load_.refused(Refusal::kTooLarge), 1U);
  const auto& stream =
      Ask(Framed(Gzip(std::string(10'000'000, '\0')), 1), "gzip", "/grpc.health.v1.Health/Watch");
  EXPECT_EQ(CodeOf(stream), "8");
}

TEST_F(CompressionTest, WhatItBecomesCountsForTheServerToo) {
  ASSERT_TRUE(load_.Take(100'000));
  EXPECT_EQ(CodeOf(Ask(Framed(Gzip(std::string(90'000, 'z')), 1), "gzip")), "8");
  EXPECT_EQ(load_.refused(Refusal::kBytes), 1U);
  load_.Return(100'000);
  EXPECT_EQ(load_.held(), 0U) << "an open watch is none of ours";
}

}  // namespace
}  // namespace coppice::grpc
