// One connection on a pair of sockets, with the time in the test's hands.

#include "grpc/connection.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fake_clock.h"
#include "test/support/http2_client.h"

namespace coppice::grpc {
namespace {

using std::chrono::seconds;
using ::testing::HasSubstr;

std::string CallOf(uint32_t id, std::string_view path) {
  return Frame(NGHTTP2_HEADERS, NGHTTP2_FLAG_END_HEADERS, id, CallHeaders(path)) +
         Frame(NGHTTP2_DATA, NGHTTP2_FLAG_END_STREAM, id, Framed(""));
}

class ConnectionTest : public testing::Test {
 protected:
  ConnectionTest() {
    routes_.Add({.path = "/t/Wait", .unary = nullptr, .waits = true});
    routes_.Add({.path = "/t/Big",
                 .unary = [](const Call&) -> Answer { return std::string(500'000, 'b'); }});
  }
  ~ConnectionTest() override { ::close(client_); }

  void Connect(ConnectionTerms terms) {
    int ends[2];
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends), 0);
    client_ = ends[1];
    connection_ =
        std::make_unique<Connection>(Socket(ends[0]), nullptr,
                                     Connection::Parts{.routes = routes_,
                                                       .clock = clock_,
                                                       .load = load_,
                                                       .start_waiting =
                                                           [this](WaitingCall call) {
                                                             load_.Return(call.held);
                                                             waiting_.push_back(call.stream);
                                                           }},
                                     SessionLimits{}, terms);
    Say(kHello);
  }
  void Say(const std::string& bytes) {
    ASSERT_EQ(::send(client_, bytes.data(), bytes.size(), 0), std::ssize(bytes));
    ASSERT_TRUE(connection_->OnReadable());
  }
  // So that it does not count as silent.
  void SayLittle() { Say(Frame(NGHTTP2_WINDOW_UPDATE, 0, 0, Number(1))); }

  std::vector<FrameSeen> Read() {
    std::string bytes(1 << 20, '\0');
    const ssize_t n = ::recv(client_, bytes.data(), bytes.size(), 0);
    return FramesOf(std::string_view(bytes).substr(0, n > 0 ? static_cast<size_t>(n) : 0));
  }
  int GoAways() {
    int count = 0;
    for (const FrameSeen& frame : Read()) count += frame.type == NGHTTP2_GOAWAY ? 1 : 0;
    return count;
  }

  FakeClock clock_;
  Log log_ = Log::Null();
  ServerLoad load_{{}, clock_, log_};
  Routes routes_;
  std::vector<int32_t> waiting_;
  int client_ = -1;
  std::unique_ptr<Connection> connection_;
};

TEST_F(ConnectionTest, AnOldOneIsToldToGoAndItsCallsHaveTheGraceToEnd) {
  Connect({.max_age = seconds(100), .age_grace = seconds(50)});
  Say(CallOf(1, "/t/Wait"));
  ASSERT_EQ(waiting_.size(), 1U);
  clock_.Advance(seconds(99));
  SayLittle();
  EXPECT_TRUE(connection_->OnTick());
  EXPECT_EQ(GoAways(), 0);
  clock_.Advance(seconds(1));
  EXPECT_TRUE(connection_->OnTick());
  EXPECT_EQ(GoAways(), 1);
  clock_.Advance(seconds(49));
  SayLittle();
  EXPECT_TRUE(connection_->OnTick());
  clock_.Advance(seconds(1));
  EXPECT_FALSE(connection_->OnTick());
  EXPECT_THAT(connection_->problem(), HasSubstr("older"));
}

TEST_F(ConnectionTest, AnOldOneWithoutCallsEndsByItself) {
  Connect({.max_age = seconds(100), .age_grace = seconds(500)});
  clock_.Advance(seconds(100));
  SayLittle();
  EXPECT_TRUE(connection_->OnTick());
  EXPECT_TRUE(connection_->OnTick());
  EXPECT_FALSE(connection_->OnTick()) << "the ping was not answered, and there is nothing to lose";
  EXPECT_EQ(connection_->problem(), "");
  EXPECT_EQ(GoAways(), 2);
}

TEST_F(ConnectionTest, WithoutALimitNoneIsTooOld) {
  Connect({});
  clock_.Advance(std::chrono::hours(1'000));
  SayLittle();
  EXPECT_TRUE(connection_->OnTick());
  EXPECT_EQ(GoAways(), 0);
}

TEST_F(ConnectionTest, WhoDoesNotReadIsNotReadEitherAndThenCutOff) {
  Connect({});
  for (uint32_t id = 1; !connection_->wants_to_write(); id += 2) {
    ASSERT_LT(id, 200U);
    Say(Frame(NGHTTP2_WINDOW_UPDATE, 0, 0, Number(1'000'000)) +
        Frame(NGHTTP2_SETTINGS, 0, 0, std::string("\0\4", 2) + Number(1'000'000)) +
        CallOf(id, "/t/Big"));
  }
  const std::string more = Frame(0xfa, 0, 0, std::string(10'000, 'x'));
  Say(more);
  int unread = 0;
  ASSERT_EQ(::ioctl(connection_->fd(), FIONREAD, &unread), 0);
  EXPECT_EQ(static_cast<size_t>(unread), more.size());

  clock_.Advance(seconds(59));
  EXPECT_TRUE(connection_->OnTick());
  clock_.Advance(seconds(2));
  EXPECT_FALSE(connection_->OnTick());
  EXPECT_EQ(connection_->problem(), "the client does not read");
  EXPECT_EQ(load_.refused(Refusal::kNotReading), 1U);
}

TEST_F(ConnectionTest, WhoReadsALittleNowAndThenGrowsOldLikeAnybody) {
  Connect({.max_age = std::chrono::minutes(60), .age_grace = std::chrono::minutes(5)});
  const int small = 4096;  // the kernel has a smallest size of its own
  ASSERT_EQ(::setsockopt(connection_->fd(), SOL_SOCKET, SO_SNDBUF, &small, sizeof small), 0);
  Say(Frame(NGHTTP2_SETTINGS, 0, 0, std::string("\0\4", 2) + Number(2'000'000)) +
      Frame(NGHTTP2_WINDOW_UPDATE, 0, 0, Number(2'000'000)) + CallOf(1, "/t/Big") +
      CallOf(3, "/t/Big"));
  const TimePoint began = clock_.Now();
  std::string little(3'000, '\0');
  while (clock_.Now() < began + std::chrono::minutes(70)) {
    clock_.Advance(seconds(30));
    ASSERT_GT(::recv(client_, little.data(), little.size(), 0), 0);
    ASSERT_TRUE(connection_->Flush());
    ASSERT_TRUE(connection_->wants_to_write());
    if (!connection_->OnTick()) break;
  }
  EXPECT_EQ(clock_.Now() - began, std::chrono::minutes(65));
  EXPECT_THAT(connection_->problem(), HasSubstr("older"));
  EXPECT_EQ(load_.refused(Refusal::kNotReading), 0U);
}

TEST_F(ConnectionTest, WhoReadsAgainIsReadAgain) {
  Connect({});
  uint32_t id = 1;
  for (; !connection_->wants_to_write(); id += 2) {
    Say(Frame(NGHTTP2_WINDOW_UPDATE, 0, 0, Number(1'000'000)) +
        Frame(NGHTTP2_SETTINGS, 0, 0, std::string("\0\4", 2) + Number(1'000'000)) +
        CallOf(id, "/t/Big"));
  }
  Say(CallOf(id, "/t/Wait"));
  EXPECT_EQ(waiting_.size(), 0U);
  while (connection_->wants_to_write()) {
    Read();
    ASSERT_TRUE(connection_->Flush());
  }
  ASSERT_TRUE(connection_->OnReadable());
  EXPECT_EQ(waiting_.size(), 1U);
}

TEST_F(ConnectionTest, WithAnAllowListAClientWithoutANameIsRefused) {
  const std::set<std::string> allowed{"autoscaler"};
  Connect({.allowed_clients = &allowed});
  Say(CallOf(1, "/t/Big"));
  EXPECT_EQ(load_.refused(Refusal::kNotAllowed), 1U);
}

}  // namespace
}  // namespace coppice::grpc
