// A real server and clients that ask for too much: who is refused, and what is not started.

#include <gmock/gmock.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <future>
#include <latch>
#include <string>
#include <thread>
#include <vector>

#include "grpc/channel.h"
#include "grpc/server.h"
#include "test/support/must.h"
#include "test/support/test_certificates.h"

namespace coppice::grpc {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::HasSubstr;

class ServerLimitsTest : public testing::Test {
 protected:
  std::shared_ptr<CertificateStore> Store(const std::string& prefix,
                                          const std::vector<std::string>& names) {
    const test::PemPair pair = authority_.Issue(prefix, names);
    return MUST(
        CertificateStore::Open({.cert_file = dir_.Write(prefix + ".crt", pair.cert),
                                .key_file = dir_.Write(prefix + ".key", pair.key),
                                .ca_file = dir_.Write(prefix + "-ca.crt", authority_.pem())},
                               log_));
  }

  std::unique_ptr<Server> Start(ServerOptions options) {
    options.listen = "127.0.0.1:0";
    options.certificates = Store("server", {"localhost"});
    options.metrics = &metrics_;
    std::vector<Service> services;
    services.push_back({.name = "test.Slow",
                        .methods = {{.name = "Block",
                                     .handler = [this](const Call&) -> Answer {
                                       entered_.count_down();
                                       released_.wait();
                                       return std::string("done");
                                     },
                                     .waits = true},
                                    {.name = "Order",
                                     .handler = [this](const Call&) -> Answer {
                                       ++orders_;
                                       return std::string("ordered");
                                     },
                                     .waits = true}}});
    return MUST(Server::Start(std::move(options), std::move(services), workers_, clock_, log_));
  }

  std::unique_ptr<Channel> Client(const Server& server, const std::string& name) {
    return std::make_unique<Channel>(
        ChannelOptions{.address = "127.0.0.1:" + std::to_string(server.port()),
                       .certificates = Store(name, {name}),
                       .server_name = "localhost"},
        clock_);
  }

  Deadline Soon() const { return Deadline::In(clock_, seconds(10)); }

  double Refused(const std::string& reason) {
    return metrics_.GetCounter("autoscaler_grpc_refused_total", "", {{"reason", reason}}).value();
  }

  SystemClock clock_;
  Log log_ = Log::Null();
  Metrics metrics_;
  test::TestAuthority authority_;
  test::TempDirectory dir_;
  Pool workers_{1, 64};
  std::latch entered_{1};
  std::promise<void> release_;
  std::shared_future<void> released_ = release_.get_future().share();
  std::atomic<int> orders_ = 0;
};

TEST_F(ServerLimitsTest, TheAllowListCoversHealthToo) {
  const auto server = Start({.allowed_clients = {"autoscaler"}});
  const std::string check = "/grpc.health.v1.Health/Check";
  EXPECT_OK(Client(*server, "autoscaler")->Call(check, "", Soon()));
  const auto stranger = Client(*server, "stranger");
  for (const std::string& path : {check, std::string("/test.Slow/Order")}) {
    const auto refused = stranger->Call(path, "", Soon());
    EXPECT_EQ(refused.code(), Code::kPermissionDenied) << path;
    EXPECT_THAT(refused.status().message(), HasSubstr("'stranger'"));
  }
  EXPECT_EQ(orders_, 0);
  EXPECT_EQ(Refused("client_not_allowed"), 2);
}

// The only worker is busy. What is given up meanwhile must not order machines afterwards.
TEST_F(ServerLimitsTest, ACallThatWasGivenUpWhileItWaitedIsNotStarted) {
  const auto server = Start({});
  const auto client = Client(*server, "autoscaler");
  auto blocked =
      std::async(std::launch::async, [&] { return client->Call("/test.Slow/Block", "", Soon()); });
  entered_.wait();
  // On a busy machine the time may be over before anything was sent: again, until one has arrived.
  do {
    EXPECT_EQ(client->Call("/test.Slow/Order", "", Deadline::In(clock_, milliseconds(50))).code(),
              Code::kDeadlineExceeded);
  } while (workers_.queued() == 0);
  // Comes after the reset on the same connection: now the server knows of that.
  EXPECT_OK(client->Call("/grpc.health.v1.Health/Check", "", Soon()));
  release_.set_value();
  EXPECT_OK(blocked.get());
  while (Refused("cancelled_before_start") + Refused("deadline_passed_before_start") < 1)
    std::this_thread::yield();
  EXPECT_EQ(orders_, 0);
  EXPECT_EQ(MUST(client->Call("/test.Slow/Order", "", Soon())), "ordered") << "later ones are";
}

TEST_F(ServerLimitsTest, WhoShowsNoCertificateMakesRoomForWhoDoes) {
  const auto server = Start({.max_connections = 2});
  sockaddr_in to{.sin_family = AF_INET, .sin_port = htons(static_cast<uint16_t>(server->port()))};
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  std::vector<int> silent;
  for (int i = 0; i < 2; ++i) {
    silent.push_back(::socket(AF_INET, SOCK_STREAM, 0));
    ASSERT_EQ(::connect(silent.back(), reinterpret_cast<const sockaddr*>(&to), sizeof to), 0);
  }
  EXPECT_OK(Client(*server, "autoscaler")->Call("/grpc.health.v1.Health/Check", "", Soon()));
  EXPECT_GE(Refused("too_many_connections"), 1);
  for (const int fd : silent) ::close(fd);
}

}  // namespace
}  // namespace coppice::grpc
