// Frames that make a server work and ask for nothing, one test per kind, and who is not to be taken
// for a flood.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>

#include "grpc/abuse_rig.h"

namespace coppice::grpc {
namespace {

using ::testing::HasSubstr;

class FloodTest : public AbuseTest {
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

// CVE-2023-44487: a call and its reset, and again.
TEST_F(FloodTest, RapidResets) {
  const std::string headers = CallHeaders("/test.Echo/Wait");
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
  const std::string headers = CallHeaders("/test.Echo/Wait");
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

}  // namespace
}  // namespace coppice::grpc
