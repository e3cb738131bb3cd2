// The HTTP/2 session with bytes alone: what a library's client never sends.

#include "grpc/http2_session.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/fake_clock.h"
#include "grpc/health.h"
#include "grpc/reflection.h"
#include "health.pb.h"
#include "reflection.pb.h"
#include "test/support/http2_client.h"
#include "test/support/must.h"

namespace coppice::grpc {
namespace {

using ::testing::HasSubstr;

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
  Log log_ = Log::Null();
  ServerLoad load_{{}, clock_, log_};
  Http2Session session_{{.routes = routes_,
                         .caller = caller_,
                         .clock = clock_,
                         .load = load_,
                         .start_waiting =
                             [this](WaitingCall call) {
                               waiting_.emplace_back(call.stream, std::move(call.request));
                               load_.Return(call.held);
                             }},
                        {.max_message_bytes = 100'000}};
  Http2Client client_{session_};
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
  const auto code = [&](const Http2Client::Stream& s) { return s.headers.at("grpc-status"); };
  EXPECT_EQ(code(client_.Request("/test.Echo/Absent", Framed(""))), "12");
  EXPECT_EQ(code(client_.Request("/test.Echo/Echo", "")), "13") << "no message";
  EXPECT_EQ(code(client_.Request("/test.Echo/Echo", Framed("abc").substr(0, 6))), "13");
  EXPECT_EQ(code(client_.Request("/test.Echo/Echo", Framed("a") + Framed("b"))), "13");
  EXPECT_EQ(code(client_.Request("/test.Echo/Echo", Framed("zip", 1))), "13") << "of no encoding";
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
  session_.EndStreams(Unavailable("the server stops"));
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
  const Log log = Log::Null();
  ServerLoad load({}, clock, log);
  Http2Session session({routes, caller, clock, load, nullptr}, {});
  EXPECT_FALSE(session.Receive("GET / HTTP/1.1\r\n\r\n").ok());
}

}  // namespace
}  // namespace coppice::grpc
