// What a hostile client may send, one test per way to make a server hold or do too much. The client
// is made of nghttp2 or of bytes alone, the time is the test's.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "base/fake_clock.h"
#include "grpc/framing.h"
#include "grpc/health.h"
#include "grpc/http2_session.h"
#include "grpc/reflection.h"
#include "reflection.pb.h"
#include "test/support/http2_client.h"

namespace coppice::grpc {
namespace {

using ::testing::AllOf;
using ::testing::Ge;
using ::testing::HasSubstr;
using ::testing::Le;
using ::testing::SizeIs;

constexpr size_t kMaxHeld = 1'000'000;
const std::string kReflection = "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo";

std::string ReflectionRequest() {
  ::grpc::reflection::v1::ServerReflectionRequest request;
  request.set_file_containing_symbol("grpc.health.v1.Health");
  return Framed(request.SerializeAsString());
}

std::string Repeat(const std::string& text, size_t times) {
  std::string all;
  while (times-- > 0) all += text;
  return all;
}

class Http2AbuseTest : public testing::Test {
 protected:
  Http2AbuseTest() {
    routes_.Add({.path = "/test.Echo/Echo", .unary = [this](const Call& call) -> Answer {
                   ++calls_;
                   return std::string(call.request);
                 }});
    routes_.Add({.path = "/test.Echo/Big",
                 .unary = [](const Call&) -> Answer { return std::string(90'000, 'b'); }});
    routes_.Add({.path = "/test.Echo/Wait", .unary = nullptr, .waits = true});
    health_.AddTo(routes_);
    AddReflection(routes_, {"grpc.health.v1.Health"});
  }

  std::unique_ptr<Http2Session> Session(SessionLimits limits = {.max_message_bytes = 400'000}) {
    return std::make_unique<Http2Session>(
        Http2Session::Parts{.routes = routes_,
                            .caller = caller_,
                            .clock = clock_,
                            .load = load_,
                            .start_waiting =
                                [this](WaitingCall call) {
                                  load_.Return(call.held);
                                  waiting_.push_back(std::move(call.given_up));
                                }},
        limits);
  }

  void Ticks(Http2Session& session, int n) {
    for (int i = 0; i < n; ++i) {
      clock_.Advance(std::chrono::seconds(1));
      session.Tick();
    }
  }

  FakeClock clock_;
  std::string lines_;
  Log log_{clock_, [this](std::string_view line) { lines_ += line; }, LogFormat::kJson};
  Metrics metrics_;
  ServerLoad load_{
      {.max_bytes = kMaxHeld, .metrics = &metrics_, .metric_prefix = "p_"}, clock_, log_};
  Somebody caller_;
  Health health_{{"test.Echo"}};
  Routes routes_;
  int calls_ = 0;
  std::vector<std::shared_ptr<const std::atomic<bool>>> waiting_;
};

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

// ---- Frames that ask for nothing

class FloodTest : public Http2AbuseTest {
 protected:
  // Sends `frame` until the session has had enough, with nothing read in between; how many it took.
  int Flood(const std::function<std::string(int)>& frame, int most = 100'000) {
    session_ = Session();
    EXPECT_OK(session_->Receive(kHello));
    for (int i = 0; i < most; ++i) {
      problem_ = session_->Receive(frame(i));
      std::string out;
      session_->Pull(out, 1 << 20);
      for (const FrameSeen& seen : FramesOf(out)) {
        if (seen.type == NGHTTP2_GOAWAY) goaway_ = seen.payload;
      }
      if (!problem_.ok()) return i;
    }
    return most;
  }
  void ExpectCalmness(const std::string& why) const {
    EXPECT_EQ(problem_, ResourceExhausted(why));
    ASSERT_GT(goaway_.size(), 8U);
    EXPECT_EQ(goaway_.substr(4, 4), Number(NGHTTP2_ENHANCE_YOUR_CALM));
    EXPECT_EQ(goaway_.substr(8), why);
    EXPECT_EQ(load_.refused(Refusal::kFlood), 1U);
  }

  std::unique_ptr<Http2Session> session_;
  Status problem_;
  std::string goaway_;
};

TEST_F(FloodTest, Pings) {
  EXPECT_LE(Flood([](int) { return Frame(NGHTTP2_PING, 0, 0, "12345678"); }), 250);
  ExpectCalmness("too many PING frames");
}

TEST_F(FloodTest, Settings) {
  EXPECT_LE(Flood([](int) { return Frame(NGHTTP2_SETTINGS, 0, 0, ""); }), 250);
  ExpectCalmness("too many SETTINGS frames");
}

TEST_F(FloodTest, Priorities) {
  EXPECT_LE(Flood([](int) { return Frame(NGHTTP2_PRIORITY, 0, 1, Number(0) + "\x10"); }), 250);
  ExpectCalmness("too many PRIORITY frames");
}

// The headers of a call, as literals that leave no trace in the table.
std::string CallHeaders() {
  const auto literal = [](std::string_view name, std::string_view value) {
    std::string field(1, '\0');
    field += static_cast<char>(name.size());
    field += name;
    field += static_cast<char>(value.size());
    return field.append(value);
  };
  return literal(":method", "POST") + literal(":scheme", "https") +
         literal(":path", "/test.Echo/Wait") + literal(":authority", "x") +
         literal("content-type", "application/grpc");
}

// CVE-2023-44487: a call and its reset, and again.
TEST_F(FloodTest, RapidResets) {
  const std::string headers = CallHeaders();
  EXPECT_LE(Flood([&](int i) {
              const auto id = static_cast<uint32_t>(2 * i + 1);
              return Frame(NGHTTP2_HEADERS, NGHTTP2_FLAG_END_HEADERS, id, headers) +
                     Frame(NGHTTP2_RST_STREAM, 0, id, Number(NGHTTP2_CANCEL));
            }),
            1'100);
  ExpectCalmness("too many RST_STREAM frames");
  EXPECT_LE(session_->calls(), 1U) << "but for the last, they are gone";
  session_.reset();
  EXPECT_EQ(load_.held(), 0U);
}

TEST_F(FloodTest, EmptyData) {
  const std::string headers = CallHeaders();
  EXPECT_LE(Flood([&](int i) {
              return i == 0 ? Frame(NGHTTP2_HEADERS, NGHTTP2_FLAG_END_HEADERS, 1, headers)
                            : Frame(NGHTTP2_DATA, 0, 1, "");
            }),
            250);
  ExpectCalmness("too many empty DATA frames");
}

// CVE-2024-28182: a header block that never ends.
TEST_F(FloodTest, Continuations) {
  EXPECT_LE(Flood([](int i) {
              return i == 0 ? Frame(NGHTTP2_HEADERS, 0, 1, "")
                            : Frame(NGHTTP2_CONTINUATION, 0, 1, std::string(1, '\0') + "\1a\1b");
            }),
            10);
  EXPECT_THAT(problem_.message(), HasSubstr("CONTINUATION"));
  EXPECT_EQ(load_.refused(Refusal::kFlood), 1U);
}

TEST_F(FloodTest, ManySettingsInOneFrameEndTheConnection) {
  session_ = Session();
  ASSERT_OK(session_->Receive(kHello));
  (void)session_->Receive(
      Frame(NGHTTP2_SETTINGS, 0, 0, Repeat(std::string("\0\4\0\1\0\0", 6), 100)));
  std::string out;
  session_->Pull(out, 1 << 20);
  EXPECT_TRUE(session_->done());
  EXPECT_THAT(session_->complaint(), HasSubstr("SETTINGS"));
}

// Acks that pile up because the client does not read.
TEST_F(FloodTest, PingsWithoutReadingAnyAnswer) {
  session_ = Session();
  ASSERT_OK(session_->Receive(kHello));
  Status problem;
  int sent = 0;
  for (; sent < 10'000 && problem.ok(); ++sent)
    problem = session_->Receive(Frame(NGHTTP2_PING, 0, 0, "12345678"));
  EXPECT_LE(sent, 250);
  EXPECT_FALSE(problem.ok());
}

TEST_F(FloodTest, WhoReadsAnswersMayPingOncePerAnswer) {
  const auto session = Session();
  Http2Client client(*session);
  for (int i = 0; i < 2'000; ++i) {
    ASSERT_EQ(client.Request("/test.Echo/Echo", Framed("x")).body, Framed("x"));
    client.Ping();
  }
  EXPECT_EQ(load_.refused(Refusal::kFlood), 0U);
}

TEST_F(FloodTest, WhoGivesUpACallNowAndThenIsNotTakenForAFlood) {
  const auto session = Session();
  Http2Client client(*session);
  for (int i = 0; i < 3'000; ++i) {
    client.Reset(client.Request("/test.Echo/Wait", Framed("x")));
    clock_.Advance(std::chrono::milliseconds(25));
  }
  EXPECT_EQ(load_.refused(Refusal::kFlood), 0U);
}

TEST_F(Http2AbuseTest, MoreStreamsThanAllowedAreNotTaken) {
  const auto session = Session({.max_message_bytes = 100'000, .max_streams = 10});
  ASSERT_OK(session->Receive(kHello));
  const std::string headers = CallHeaders();
  std::string all;
  for (uint32_t id = 1; id < 200; id += 2)
    all += Frame(NGHTTP2_HEADERS, NGHTTP2_FLAG_END_HEADERS, id, headers);
  (void)session->Receive(all);
  EXPECT_LE(session->calls(), 10U);
  EXPECT_LE(load_.held(), 50'000U);
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
  ASSERT_OK(session->Receive(Frame(NGHTTP2_HEADERS, NGHTTP2_FLAG_END_HEADERS, 1, CallHeaders()) +
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
