// A real server and real clients on loopback: what is answered, and who is refused.

#include "grpc/server.h"

#include <gmock/gmock.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <filesystem>
#include <future>
#include <latch>
#include <string>
#include <thread>
#include <vector>

#include "grpc/channel.h"
#include "test/support/must.h"
#include "test/support/test_certificates.h"

namespace coppice::grpc {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

const std::string kEcho = "/test.Echo/Echo";

class ServerTest : public testing::Test {
 protected:
  Service Echo() {
    return {
        .name = "test.Echo",
        .methods = {
            {.name = "Echo",
             .handler = [](const Call& call) -> Answer { return std::string(call.request); }},
            {.name = "Who",
             .handler = [](const Call& call) -> Answer { return Describe(call.caller); }},
            {.name = "Big",
             .handler = [](const Call&) -> Answer {
               static const auto big = std::make_shared<const std::string>(5'000'000, 'b');
               return Bytes(big);
             }},
            {.name = "Fail",
             .handler = [](const Call&) -> Answer { return ResourceExhausted("quota: 3 of 3"); }},
            {.name = "Left",
             .handler = [this](const Call& call) -> Answer {
               return std::to_string(call.deadline.Left(clock_) / std::chrono::seconds(1));
             }},
            {.name = "Wait",
             .handler = [this](const Call&) -> Answer {
               entered_.count_down();
               released_.wait();
               return std::string("done");
             },
             .waits = true}}};
  }

  std::shared_ptr<CertificateStore> Store(const test::TestAuthority& authority,
                                          const std::string& prefix,
                                          const std::vector<std::string>& names) {
    const test::PemPair pair = authority.Issue(prefix, names);
    return MUST(
        CertificateStore::Open({.cert_file = dir_.Write(prefix + ".crt", pair.cert),
                                .key_file = dir_.Write(prefix + ".key", pair.key),
                                .ca_file = dir_.Write(prefix + "-ca.crt", authority_.pem())},
                               log_));
  }

  std::unique_ptr<Server> StartTls() {
    ServerOptions options{.listen = "127.0.0.1:0",
                          .certificates = Store(authority_, "server", {"localhost"})};
    return MUST(Server::Start(std::move(options), Services(), workers_, clock_, log_));
  }

  std::vector<Service> Services() {
    std::vector<Service> services;
    services.push_back(Echo());
    return services;
  }

  std::unique_ptr<Channel> Client(const Server& server,
                                  std::shared_ptr<CertificateStore> certificates) {
    return std::make_unique<Channel>(
        ChannelOptions{.address = "127.0.0.1:" + std::to_string(server.port()),
                       .certificates = std::move(certificates),
                       .server_name = "localhost"},
        clock_);
  }

  Deadline Soon() const { return Deadline::In(clock_, std::chrono::seconds(10)); }

  // Output of a shell command; its standard error with it.
  static std::string Shell(const std::string& command) {
    std::string text;
    FILE* pipe = popen((command + " 2>&1").c_str(), "r");
    char buffer[4096];
    for (size_t n = 0; (n = fread(buffer, 1, sizeof buffer, pipe)) > 0;) text.append(buffer, n);
    pclose(pipe);
    return text;
  }

  SystemClock clock_;
  Log log_ = Log::Null();
  test::TestAuthority authority_;
  test::TempDirectory dir_;
  Pool workers_{4, 64};
  std::latch entered_{1};
  std::promise<void> release_;
  std::shared_future<void> released_ = release_.get_future().share();
};

TEST_F(ServerTest, AnswersOverMutualTlsAndSeesTheCertificatesName) {
  const auto server = StartTls();
  const auto client = Client(*server, Store(authority_, "client", {"autoscaler.kube-system"}));
  EXPECT_EQ(MUST(client->Call(kEcho, "hello", Soon())), "hello");
  EXPECT_EQ(MUST(client->Call(kEcho, "", Soon())), "");
  EXPECT_EQ(MUST(client->Call("/test.Echo/Who", "", Soon())), "autoscaler.kube-system");
}

TEST_F(ServerTest, PassesCodesMessagesAndDeadlinesOn) {
  const auto server = StartTls();
  const auto client = Client(*server, Store(authority_, "client", {"c"}));
  const auto failed = client->Call("/test.Echo/Fail", "", Soon());
  EXPECT_EQ(failed.status(), ResourceExhausted("quota: 3 of 3"));
  const int left = std::stoi(MUST(client->Call("/test.Echo/Left", "", Soon())));
  EXPECT_THAT(left, testing::AllOf(testing::Ge(8), testing::Le(10)));
  EXPECT_EQ(client->Call("/test.Echo/Absent", "", Soon()).code(), Code::kUnimplemented);
}

TEST_F(ServerTest, CarriesMessagesAboveTheLibrarysLimit) {
  const auto server = StartTls();
  const auto client = Client(*server, Store(authority_, "client", {"c"}));
  const std::string big(6'000'000, 'x');
  EXPECT_EQ(MUST(client->Call(kEcho, big, Soon())), big);
  EXPECT_EQ(MUST(client->Call("/test.Echo/Big", "", Soon())).size(), 5'000'000U);
}

TEST_F(ServerTest, RefusesAClientWithoutACertificate) {
  const auto server = StartTls();
  const auto client = Client(*server, nullptr);
  EXPECT_EQ(client->Call(kEcho, "", Soon()).code(), Code::kUnavailable);
}

TEST_F(ServerTest, RefusesACertificateOfAnotherAuthority) {
  const auto server = StartTls();
  const test::TestAuthority other("another authority");
  const auto client = Client(*server, Store(other, "stranger", {"autoscaler.kube-system"}));
  EXPECT_EQ(client->Call(kEcho, "", Soon()).code(), Code::kUnavailable);
}

TEST_F(ServerTest, SpeaksTls13AndRefusesTls12) {
  const auto server = StartTls();
  Store(authority_, "client", {"c"});
  const std::string base = "openssl s_client -connect 127.0.0.1:" + std::to_string(server->port()) +
                           " -cert " + dir_.At("client.crt") + " -key " + dir_.At("client.key") +
                           " -CAfile " + dir_.At("client-ca.crt") + " -alpn h2 ";
  EXPECT_THAT(Shell(base + "-tls1_3 </dev/null"), HasSubstr("TLSv1.3"));
  const std::string old = Shell(base + "-tls1_2 </dev/null");
  EXPECT_THAT(old, HasSubstr("Cipher is (NONE)"));
  EXPECT_THAT(old, HasSubstr("no peer certificate available"));
}

TEST_F(ServerTest, ANewCertificateIsServedWhileOldConnectionsGoOn) {
  const auto server = StartTls();
  const auto before = Client(*server, Store(authority_, "client", {"c"}));
  EXPECT_EQ(MUST(before->Call(kEcho, "a", Soon())), "a");

  Store(authority_, "server", {"localhost", "rotated.example"});

  EXPECT_EQ(MUST(before->Call(kEcho, "b", Soon())), "b");
  const std::string shown =
      Shell("openssl s_client -connect 127.0.0.1:" + std::to_string(server->port()) + " -cert " +
            dir_.At("client.crt") + " -key " + dir_.At("client.key") +
            " </dev/null | openssl x509 -noout -ext subjectAltName");
  EXPECT_THAT(shown, HasSubstr("rotated.example"));
}

TEST_F(ServerTest, AKeyThatDoesNotFitLeavesTheOldCertificateInService) {
  const auto server = StartTls();
  dir_.Write("server.key", authority_.Issue("other", {}).key);
  const auto client = Client(*server, Store(authority_, "client", {"c"}));
  EXPECT_EQ(MUST(client->Call(kEcho, "still", Soon())), "still");
}

TEST_F(ServerTest, ServesPlaintextOnAUnixSocketOnly) {
  ServerOptions options{.listen = "unix:" + dir_.At("provider.sock")};
  const auto server = MUST(Server::Start(options, Services(), workers_, clock_, log_));
  Channel client({.address = options.listen}, clock_);
  EXPECT_EQ(MUST(client.Call(kEcho, "local", Soon())), "local");
  EXPECT_THAT(MUST(client.Call("/test.Echo/Who", "", Soon())), StartsWith("no certificate"));
}

TEST_F(ServerTest, ASecondServerOnThePortIsRefused) {
  const auto server = StartTls();
  ServerOptions options{.listen = "127.0.0.1:" + std::to_string(server->port()),
                        .certificates = Store(authority_, "server", {"localhost"})};
  const auto second = Server::Start(options, Services(), workers_, clock_, log_);
  ASSERT_FALSE(second.ok());
  EXPECT_THAT(second.status().message(), HasSubstr("cannot listen"));
}

TEST_F(ServerTest, StopWaitsForTheHandlerThatIsRunning) {
  const auto server = StartTls();
  const auto client = Client(*server, Store(authority_, "client", {"c"}));
  auto answer =
      std::async(std::launch::async, [&] { return client->Call("/test.Echo/Wait", "", Soon()); });
  entered_.wait();
  auto stopped = std::async(std::launch::async, [&] { server->Stop(std::chrono::seconds(10)); });
  EXPECT_EQ(stopped.wait_for(std::chrono::milliseconds(50)), std::future_status::timeout);
  release_.set_value();
  EXPECT_EQ(MUST(answer.get()), "done");
  stopped.get();
}

TEST_F(ServerTest, AfterTheGraceTheClientIsLetGoThoughTheHandlerRunsOn) {
  const auto server = StartTls();
  const auto client = Client(*server, Store(authority_, "client", {"c"}));
  auto answer =
      std::async(std::launch::async, [&] { return client->Call("/test.Echo/Wait", "", Soon()); });
  entered_.wait();
  auto stopped =
      std::async(std::launch::async, [&] { server->Stop(std::chrono::milliseconds(20)); });
  EXPECT_EQ(answer.get().code(), Code::kUnavailable);
  EXPECT_EQ(stopped.wait_for(std::chrono::milliseconds(50)), std::future_status::timeout);
  release_.set_value();
  stopped.get();
}

TEST_F(ServerTest, AWatchDoesNotHoldUpAStop) {
  const std::string address = "unix:" + dir_.Write("socket", "");
  std::filesystem::remove(address.substr(5));
  const auto server =
      MUST(Server::Start(ServerOptions{.listen = address}, Services(), workers_, clock_, log_));
  ::grpc::GenericStub stub(::grpc::CreateChannel(address, ::grpc::InsecureChannelCredentials()));
  ::grpc::ClientContext context;
  ::grpc::CompletionQueue queue;
  const auto done = [&queue] {
    void* tag = nullptr;
    bool ok = false;
    return queue.Next(&tag, &ok) && ok;
  };
  const auto call = stub.PrepareCall(&context, "/grpc.health.v1.Health/Watch", &queue);
  call->StartCall(nullptr);
  ASSERT_TRUE(done());
  const ::grpc::Slice nothing("");  // the health of everything
  const ::grpc::ByteBuffer request(&nothing, 1);
  call->WriteLast(request, ::grpc::WriteOptions(), nullptr);
  ASSERT_TRUE(done());
  ::grpc::ByteBuffer answer;
  call->Read(&answer, nullptr);
  ASSERT_TRUE(done());

  const TimePoint began = clock_.Now();
  server->Stop(std::chrono::seconds(60));
  EXPECT_LT(clock_.Now() - began, std::chrono::seconds(30));
  do {
    call->Read(&answer, nullptr);
  } while (done());
  ::grpc::Status status;
  call->Finish(&status, nullptr);
  ASSERT_TRUE(done());
  EXPECT_EQ(status.error_code(), ::grpc::StatusCode::UNAVAILABLE);
}

// Below the open files that there are already: nothing can be opened, also no connection accepted.
class NoMoreFiles {
 public:
  NoMoreFiles() {
    getrlimit(RLIMIT_NOFILE, &before_);
    const int lowest_free = dup(0);
    close(lowest_free);
    const rlimit now{.rlim_cur = static_cast<rlim_t>(lowest_free), .rlim_max = before_.rlim_max};
    setrlimit(RLIMIT_NOFILE, &now);
  }
  ~NoMoreFiles() { setrlimit(RLIMIT_NOFILE, &before_); }

 private:
  rlimit before_{};
};

TEST_F(ServerTest, WithoutFileDescriptorsItSaysSoAndTriesAgainLater) {
  std::atomic<int> warnings = 0;
  const Log log(
      clock_, [&](std::string_view) { ++warnings; }, LogFormat::kText, LogLevel::kWarning);
  const std::string path = dir_.Write("socket", "");
  std::filesystem::remove(path);
  const auto server = MUST(
      Server::Start(ServerOptions{.listen = "unix:" + path}, Services(), workers_, clock_, log));
  sockaddr_un to{.sun_family = AF_UNIX};
  path.copy(to.sun_path, sizeof to.sun_path - 1);
  int waiting = -1;
  // A connection of a test before may end just now and leave its descriptor, which is taken: again.
  for (int attempt = 0; attempt < 5 && warnings < 2; ++attempt) {
    if (waiting >= 0) close(waiting);
    waiting = socket(AF_UNIX, SOCK_STREAM, 0);
    const NoMoreFiles none;
    ASSERT_EQ(connect(waiting, reinterpret_cast<const sockaddr*>(&to), sizeof to), 0);
    const Deadline by = Deadline::In(clock_, std::chrono::seconds(2));
    while (warnings < 2 && !by.Passed(clock_)) std::this_thread::yield();
  }
  EXPECT_GE(warnings, 2);
  EXPECT_LE(warnings, 20) << "it tried all the time";
  // The first that the server says, without being asked.
  char settings[9] = {};
  timeval limit{.tv_sec = 10};
  setsockopt(waiting, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  const std::string hello =
      "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + std::string("\0\0\0\4\0\0\0\0\0", 9);
  EXPECT_EQ(write(waiting, hello.data(), hello.size()), std::ssize(hello));
  EXPECT_GT(read(waiting, settings, sizeof settings), 0) << "it was never accepted";
  close(waiting);
}

TEST_F(ServerTest, StopUnderLoadLosesNoThread) {
  const auto server = StartTls();
  const auto certificates = Store(authority_, "client", {"c"});
  std::atomic<bool> end = false;
  std::vector<std::thread> callers;
  callers.reserve(4);
  for (int i = 0; i < 4; ++i) {
    callers.emplace_back([&] {
      const auto client = Client(*server, certificates);
      while (!end) (void)client->Call(kEcho, "x", Deadline::In(clock_, std::chrono::seconds(1)));
    });
  }
  const auto probe = Client(*server, certificates);
  for (int i = 0; i < 100; ++i) (void)probe->Call(kEcho, "x", Soon());
  server->Stop(std::chrono::milliseconds(100));
  end = true;
  for (std::thread& caller : callers) caller.join();
}

TEST(CheckListenTest, AllowsPlaintextOnlyWhereNobodyElseListens) {
  EXPECT_OK(CheckListen({.listen = "unix:/run/coppice.sock"}));
  EXPECT_OK(CheckListen({.listen = "127.0.0.1:8086", .insecure = true}));
  EXPECT_OK(CheckListen({.listen = "[::1]:8086", .insecure = true}));
  EXPECT_THAT(CheckListen({.listen = "127.0.0.1:8086"}).message(), HasSubstr("--insecure"));
  for (const char* open : {":8086", "0.0.0.0:8086", "10.0.0.1:8086", "provider:8086"}) {
    EXPECT_THAT(CheckListen({.listen = open, .insecure = true}).message(), HasSubstr("tls block"))
        << open;
  }
  for (const char* bad :
       {"", "8086", "host:", "host:http", ":99999", "host:123456789012345678901"}) {
    EXPECT_EQ(CheckListen({.listen = bad, .insecure = true}).code(), Code::kInvalidArgument) << bad;
  }
}

}  // namespace
}  // namespace coppice::grpc
