// Our gRPC server in conversation with two other implementations: Go's, which Cluster Autoscaler
// is built with, and Python's, which is gRPC's C core. Each program holds the same conversations
// and says which one it was in when something was not as it should be.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <mutex>
#include <set>
#include <string>

#include "grpc/server.h"
#include "test/e2e/child.h"
#include "test/support/must.h"
#include "test/support/test_certificates.h"

namespace coppice::test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::EndsWith;

class InteropTest : public testing::Test {
 protected:
  InteropTest() {
    WriteMutualTls(authority_, dir_);
    grpc::ServerOptions options{
        .listen = "127.0.0.1:0",
        .certificates = MUST(grpc::CertificateStore::Open({.cert_file = dir_.At("server.crt"),
                                                           .key_file = dir_.At("server.key"),
                                                           .ca_file = dir_.At("ca.crt")},
                                                          log_)),
        .max_message_bytes = 4 << 20,
        .max_connection_age = seconds(1),
        .connection_age_grace = seconds(20),
        .metrics = &metrics_};
    std::vector<grpc::Service> services;
    services.push_back(Talker());
    server_ =
        MUST(grpc::Server::Start(std::move(options), std::move(services), workers_, clock_, log_));
  }

  grpc::Service Talker() {
    using grpc::Answer;
    using grpc::Call;
    return {.name = "interop.Test",
            .methods = {{.name = "Echo",
                         .handler = [this](const Call& call) -> Answer {
                           const std::lock_guard lock(mutex_);
                           peers_.insert(call.caller->Address());
                           return std::string(call.request);
                         }},
                        {.name = "Fail",
                         .handler = [](const Call&) -> Answer {
                           return FailedPrecondition("50% größer\nals erlaubt");
                         }},
                        // Until its client has given up: what is tested is that it may.
                        {.name = "Slow",
                         .handler = [this](const Call& call) -> Answer {
                           clock_.SleepFor(std::min<Duration>(
                               call.deadline.Left(clock_) + milliseconds(300), seconds(1)));
                           return std::string("late");
                         },
                         .waits = true},
                        {.name = "SetServing",
                         .handler = [this](const Call& call) -> Answer {
                           server_->SetServing(call.request == "yes");
                           return std::string();
                         },
                         .waits = true},
                        {.name = "Connections", .handler = [this](const Call&) -> Answer {
                           const std::lock_guard lock(mutex_);
                           return std::to_string(peers_.size());
                         }}}};
  }

  std::string address() const { return "127.0.0.1:" + std::to_string(server_->port()); }
  double Refused(const std::string& reason) {
    return metrics_.GetCounter("autoscaler_grpc_refused_total", "", {{"reason", reason}}).value();
  }
  void Converse(std::vector<std::string> command) {
    Child client(std::move(command));
    EXPECT_EQ(client.Wait(), 0) << client.output();
    EXPECT_THAT(client.output(), EndsWith("OK\n"));
    // Nothing that an ordinary client does is taken for an attack.
    EXPECT_EQ(Refused("flood"), 0);
    EXPECT_EQ(Refused("client_does_not_read"), 0);
    EXPECT_EQ(Refused("server_full"), 0);
    EXPECT_GE(Refused("message_too_large"), 2);
  }

  SystemClock clock_;
  Log log_ = Log::Null();
  Metrics metrics_;
  TestAuthority authority_;
  TempDirectory dir_;
  std::mutex mutex_;
  std::set<std::string> peers_;
  Pool workers_{8, 1'000};
  std::unique_ptr<grpc::Server> server_;
};

TEST_F(InteropTest, WithPythons) {
  if (std::system("/usr/bin/python3 -c 'import grpc, google.protobuf' 2>/dev/null && "
                  "command -v protoc >/dev/null") != 0) {
    GTEST_SKIP() << "python3-grpcio or protoc is not installed";
  }
  ASSERT_EQ(std::system(("protoc --python_out=" + dir_.path().string() +
                         " -Iproto health.proto reflection.proto")
                            .c_str()),
            0);
  Converse({"/usr/bin/python3", "test/interop/client.py", address(), dir_.At("ca.crt"),
            dir_.At("client.crt"), dir_.At("client.key"), dir_.path().string()});
}

TEST_F(InteropTest, WithGos) {
  if (std::system("command -v go >/dev/null") != 0) GTEST_SKIP() << "there is no Go here";
  if (std::system("cd test/upstream/grpc_client && go mod download 2>/dev/null") != 0)
    GTEST_SKIP() << "Go's modules cannot be had here: no cache and no module proxy";
  Child build({"test/upstream/build.sh", "grpc-client"});
  ASSERT_EQ(build.Wait(), 0) << build.output();
  Child where({"test/upstream/build.sh", "--where", "grpc-client"});
  ASSERT_EQ(where.Wait(), 0) << where.output();
  const std::string program = where.output().substr(0, where.output().find('\n'));
  Converse({program, address(), dir_.At("ca.crt"), dir_.At("client.crt"), dir_.At("client.key")});
}

}  // namespace
}  // namespace coppice::test
