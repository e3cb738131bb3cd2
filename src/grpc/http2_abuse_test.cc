// What a hostile client may send, one test per way to make a server hold or do too much. The client
// is made of nghttp2 or of bytes alone, the time is the test's.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "grpc/abuse_rig.h"
#include "grpc/framing.h"
#include "reflection.pb.h"

namespace coppice::grpc {
namespace {

using ::testing::AllOf;
using ::testing::Ge;
using ::testing::HasSubstr;
using ::testing::Le;
using ::testing::SizeIs;

const std::string kReflection = "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo";

std::string ReflectionRequest() {
  ::grpc::reflection::v1::ServerReflectionRequest request;
  request.set_file_containing_symbol("grpc.health.v1.Health");
  return Framed(request.SerializeAsString());
}

using Http2AbuseTest = AbuseTest;

// ---- What is held for a client that does not read

TEST_F(Http2AbuseTest, WhoAsksReflectionAndDoesNotReadIsCutOffWithAReason) {
  const auto session = Session();
  Http2Client client(*session, {{NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, 0}});
  auto& stream = client.Request(kReflection, "", {}, true);
  const std::string ask = Repeat(ReflectionRequest(), 100);
  size_t most = 0;
  for (int i = 0; i < 200 && !stream.closed; ++i) {
    client.Write(stream, ask);
    most = std::max(most, load_.held());
  }
  EXPECT_TRUE(stream.closed);
  EXPECT_EQ(stream.error, uint32_t{NGHTTP2_ENHANCE_YOUR_CALM});
  EXPECT_LE(most, 700'000U);
  EXPECT_EQ(load_.refused(Refusal::kNotReading), 1U);
  EXPECT_THAT(lines_, AllOf(HasSubstr("client_does_not_read"), HasSubstr("ServerReflection")));
  EXPECT_THAT(metrics_.Render(),
              HasSubstr("p_grpc_refused_total{reason=\"client_does_not_read\"} 1"));
  EXPECT_EQ(load_.held(), 0U);
}

TEST_F(Http2AbuseTest, WhoAsksMuchAtOnceAndReadsGetsItAll) {
  const auto session = Session();
  Http2Client client(*session);
  auto& stream = client.Request(kReflection, Repeat(ReflectionRequest(), 2'000));
  EXPECT_TRUE(stream.closed);
  EXPECT_EQ(stream.headers.at("grpc-status"), "0");
  const size_t one = LengthOf(stream.body) + kPrefix;
  EXPECT_EQ(stream.body.size(), 2'000 * one);
  EXPECT_GT(stream.body.size(), SessionLimits().max_queued_bytes) << "or it shows nothing";
  EXPECT_EQ(load_.held(), 0U);
}

TEST_F(Http2AbuseTest, AWatchThatNobodyReadsIsCutOff) {
  const auto session = Session();
  Http2Client client(*session, {{NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, 0}});
  auto& watch = client.Request("/grpc.health.v1.Health/Watch", Framed(""), {}, true);
  for (int i = 0; i < 100'000 && !watch.closed; ++i) {
    health_.Set(i % 2 == 0);
    health_.Tell();
    client.Exchange();
    ASSERT_LE(load_.held(), 300'000U);
  }
  EXPECT_TRUE(watch.closed);
  EXPECT_EQ(load_.refused(Refusal::kNotReading), 1U);
}

TEST_F(Http2AbuseTest, AnswersThatNobodyTakesAreBoundedAndThenGivenUp) {
  const auto session = Session();
  Http2Client client(*session, {{NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, 0}});
  for (int i = 0; i < 20; ++i) client.Request("/test.Echo/Big", Framed(""));
  EXPECT_LE(load_.held(), kMaxHeld);
  EXPECT_THAT(load_.refused(Refusal::kBytes), AllOf(Ge(9U), Le(11U))) << "of 90 kB, ten fit";
  const auto& last = client.streams.rbegin()->second;
  EXPECT_EQ(last.headers.at("grpc-status"), "8");
  EXPECT_EQ(client.streams.begin()->second.closed, false);

  Ticks(*session, 62);
  client.Exchange();
  EXPECT_EQ(client.streams.begin()->second.error, uint32_t{NGHTTP2_ENHANCE_YOUR_CALM});
  EXPECT_EQ(load_.held(), 0U);
}

// ---- What all connections hold together

TEST_F(Http2AbuseTest, RequestsOfAllConnectionsShareOneBudget) {
  std::vector<std::unique_ptr<Http2Session>> sessions;
  std::vector<std::unique_ptr<Http2Client>> clients;
  const std::string half = Framed(std::string(400'000, 'x')).substr(0, 390'000);
  for (int i = 0; i < 3; ++i) {
    sessions.push_back(Session());
    clients.push_back(std::make_unique<Http2Client>(*sessions.back()));
    clients.back()->Request("/test.Echo/Echo", half, {}, true);
  }
  const auto& third = clients[2]->streams.begin()->second;
  EXPECT_EQ(third.headers.at("grpc-status"), "8");
  EXPECT_THAT(third.headers.at("grpc-message"), HasSubstr("1000000 of all"));
  EXPECT_LE(load_.held(), kMaxHeld);
  EXPECT_EQ(load_.refused(Refusal::kBytes), 1U);

  clients[0].reset();
  sessions[0].reset();
  EXPECT_EQ(clients[2]
                ->Request("/test.Echo/Echo", Framed(std::string(300'000, 'y')))
                .headers.at("grpc-status"),
            "0")
      << "there is room again";
}

TEST_F(Http2AbuseTest, WithoutRoomACallIsRefusedSoThatItMayBeTriedAgain) {
  const auto session = Session();
  Http2Client client(*session);
  ASSERT_TRUE(load_.Take(kMaxHeld - 1'000));
  const auto& refused = client.Request("/test.Echo/Echo", Framed(""));
  EXPECT_TRUE(refused.closed);
  EXPECT_EQ(refused.error, uint32_t{NGHTTP2_REFUSED_STREAM});
  load_.Return(kMaxHeld - 1'000);
  EXPECT_EQ(client.Request("/test.Echo/Echo", Framed("on")).body, Framed("on"));
  EXPECT_EQ(load_.held(), 0U);
}

TEST_F(Http2AbuseTest, ARequestThatDoesNotComeToItsEndIsGivenUp) {
  const auto session = Session();
  Http2Client client(*session);
  auto& slow = client.Request("/test.Echo/Echo", Framed("abc").substr(0, 6), {}, true);
  Ticks(*session, 60);
  client.Exchange();
  EXPECT_FALSE(slow.closed);
  Ticks(*session, 1);
  client.Exchange();
  EXPECT_TRUE(slow.closed) << "also towards us: what it still sends is not taken";
  EXPECT_EQ(slow.headers.at("grpc-status"), "4");
  EXPECT_EQ(load_.held(), 0U);
  EXPECT_EQ(load_.refused(Refusal::kSlowRequest), 1U);
}

TEST_F(Http2AbuseTest, MoreStreamsThanAllowedAreNotTaken) {
  const auto session = Session({.max_message_bytes = 100'000, .max_streams = 10});
  ASSERT_OK(session->Receive(kHello));
  const std::string headers = CallHeaders("/test.Echo/Wait");
  std::string all;
  for (uint32_t id = 1; id < 200; id += 2)
    all += Frame(NGHTTP2_HEADERS, NGHTTP2_FLAG_END_HEADERS, id, headers);
  (void)session->Receive(all);
  EXPECT_LE(session->calls(), 10U);
  EXPECT_LE(load_.held(), 50'000U);
}

TEST_F(Http2AbuseTest, HeadersThatDoNotEndAreNoCallYet) {
  const auto session = Session();
  ASSERT_OK(
      session->Receive(kHello + Frame(NGHTTP2_HEADERS, 0, 1, CallHeaders("/test.Echo/Wait"))));
  Ticks(*session, 100);
  EXPECT_EQ(session->calls(), 1U);
  ASSERT_OK(session->Receive(Frame(NGHTTP2_CONTINUATION, NGHTTP2_FLAG_END_HEADERS, 1, "") +
                             Frame(NGHTTP2_DATA, NGHTTP2_FLAG_END_STREAM, 1, Framed("x"))));
  EXPECT_THAT(waiting_, SizeIs(1));
}

// ---- Who may call

TEST_F(Http2AbuseTest, WhoIsNotAllowedGetsNothingFromHealthAndReflectionEither) {
  const auto session = Session();
  session->Forbid(PermissionDenied("not you"));
  Http2Client client(*session);
  for (const std::string& path :
       {std::string("/test.Echo/Echo"), std::string("/grpc.health.v1.Health/Check"),
        std::string("/grpc.health.v1.Health/Watch"), kReflection}) {
    const auto& refused = client.Request(path, Framed(std::string(300'000, 'x')), {}, true);
    EXPECT_EQ(refused.headers.at("grpc-status"), "7") << path;
    EXPECT_EQ(refused.headers.at("grpc-message"), "not you");
    EXPECT_TRUE(refused.closed);
    EXPECT_EQ(load_.held(), 0U) << "nothing of it was kept";
  }
  EXPECT_EQ(calls_, 0);
  EXPECT_EQ(load_.refused(Refusal::kNotAllowed), 4U);
}

// ---- Calls that nobody waits for

TEST_F(Http2AbuseTest, ACallWhoseDeadlinePassedWhileItWasSentIsNotStarted) {
  const auto session = Session();
  Http2Client client(*session);
  auto& late = client.Request("/test.Echo/Echo", Framed("abc").substr(0, 6),
                              {{"grpc-timeout", "100m"}}, true);
  clock_.Advance(std::chrono::milliseconds(101));
  client.Write(late, "bc");
  client.End(late);
  EXPECT_EQ(late.headers.at("grpc-status"), "4");
  EXPECT_EQ(calls_, 0);
  EXPECT_EQ(load_.refused(Refusal::kExpired), 1U);
}

TEST_F(Http2AbuseTest, AWaitingCallLearnsThatItsClientGaveUp) {
  const auto session = Session();
  Http2Client client(*session);
  auto& one = client.Request("/test.Echo/Wait", Framed("x"));
  client.Request("/test.Echo/Wait", Framed("y"));
  ASSERT_THAT(waiting_, SizeIs(2));
  client.Reset(one);
  EXPECT_TRUE(*waiting_[0]);
  EXPECT_FALSE(*waiting_[1]);
}

// ---- Going away

TEST_F(Http2AbuseTest, GoAwayComesInTwoStepsAndWhatWasSentInBetweenIsServed) {
  const auto session = Session();
  ASSERT_OK(session->Receive(kHello));
  std::string out;
  session->Pull(out, 1 << 20);
  session->GoAway();
  EXPECT_TRUE(session->going_away());
  out.clear();
  session->Pull(out, 1 << 20);
  auto frames = FramesOf(out);
  ASSERT_THAT(frames, SizeIs(2));
  EXPECT_EQ(frames[0].type, NGHTTP2_GOAWAY);
  EXPECT_EQ(frames[0].payload.substr(0, 4), Number(INT32_MAX));
  EXPECT_EQ(frames[1].type, NGHTTP2_PING);

  // Sent before the client had read that.
  ASSERT_OK(session->Receive(
      Frame(NGHTTP2_HEADERS, NGHTTP2_FLAG_END_HEADERS, 1, CallHeaders("/test.Echo/Wait")) +
      Frame(NGHTTP2_DATA, NGHTTP2_FLAG_END_STREAM, 1, Framed("x"))));
  ASSERT_THAT(waiting_, SizeIs(1));
  ASSERT_OK(session->Receive(Frame(NGHTTP2_PING, NGHTTP2_FLAG_ACK, 0, frames[1].payload)));
  EXPECT_FALSE(session->going_away());
  out.clear();
  session->Pull(out, 1 << 20);
  frames = FramesOf(out);
  ASSERT_THAT(frames, SizeIs(1));
  EXPECT_EQ(frames[0].payload.substr(0, 4), Number(1)) << "the call in between counts";
  EXPECT_FALSE(session->done());
  session->Answer(1, std::string("done"));
  session->Pull(out, 1 << 20);
  EXPECT_TRUE(session->done());
}

TEST_F(Http2AbuseTest, AClientThatDoesNotAnswerThePingIsNotWaitedForLong) {
  const auto session = Session();
  ASSERT_OK(session->Receive(kHello));
  session->GoAway();
  std::string out;
  session->Pull(out, 1 << 20);
  Ticks(*session, 1);
  EXPECT_TRUE(session->going_away());
  Ticks(*session, 1);
  EXPECT_FALSE(session->going_away());
  session->Pull(out, 1 << 20);
  EXPECT_TRUE(session->done());
}

TEST_F(Http2AbuseTest, WhileItEndsNoNewStreamBegins) {
  const auto session = Session();
  Http2Client client(*session);
  session->EndStreams(Unavailable("the server stops"));
  EXPECT_EQ(client.Request("/grpc.health.v1.Health/Watch", Framed("")).headers.at("grpc-status"),
            "14");
  EXPECT_EQ(client.Request("/test.Echo/Echo", Framed("a")).headers.at("grpc-status"), "0");
}

}  // namespace
}  // namespace coppice::grpc
