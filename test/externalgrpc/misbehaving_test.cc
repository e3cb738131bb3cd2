// Real connections to servers that misbehave. Whatever they do, the client ends by its deadline,
// keeps what it knew, and says what is wrong.

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <future>
#include <thread>

#include "cloud/fake_node_groups.h"
#include "externalgrpc.pb.h"
#include "test/externalgrpc/served.h"

namespace coppice::test {
namespace {

namespace pb = clusterautoscaler::cloudprovider::v1::externalgrpc;
using node_groups::externalgrpc::Client;
using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::HasSubstr;
using testing::SizeIs;

void Fill(cloud::FakeNodeGroups& groups) {
  groups.Add({.info = {.id = "web", .max_size = 9},
              .target = 1,
              .instances = {{.id = "test://1", .state = cloud::InstanceState::kRunning}}});
  groups.Add({.info = {.id = "batch", .max_size = 9}});
}

class MisbehavingTest : public testing::Test {
 protected:
  MisbehavingTest() { Fill(groups); }

  // Our service with `method` replaced.
  grpc::Service With(const std::string& method, grpc::Handler handler) {
    grpc::Service service = rpc::NodeGroupService(groups);
    for (grpc::Method& each : service.methods) {
      if (each.name != method && method != "*") continue;
      each.handler = [this, good = each.handler, handler](const grpc::Call& call) {
        return misbehave ? handler(call) : good(call);
      };
      each.waits = true;
    }
    return service;
  }
  Status Refresh(cloud::NodeGroups& client, Duration within = seconds(5)) {
    const TimePoint start = clock.Now();
    const Status status = client.Refresh(Deadline::In(clock, within));
    EXPECT_LT(clock.Now() - start, within + seconds(1));
    return status;
  }
  static Client& Of(const ServedGroups& served) { return dynamic_cast<Client&>(*served.client); }

  SystemClock clock;
  cloud::FakeNodeGroups groups;
  std::atomic<bool> misbehave{false};
};

TEST_F(MisbehavingTest, HangsInEveryMethod) {
  std::promise<void> end;
  const std::shared_future<void> ended = end.get_future().share();
  {
    ServedGroups served(With("*",
                             [ended](const grpc::Call&) -> grpc::Answer {
                               ended.wait();
                               return std::string();
                             }),
                        clock, "grpc_timeout: 1s\n");
    ASSERT_OK(Refresh(*served.client));
    misbehave = true;
    EXPECT_EQ(Refresh(*served.client, milliseconds(500)).code(), Code::kDeadlineExceeded);
    EXPECT_THAT(served.client->Groups(), SizeIs(2));
    const TimePoint start = clock.Now();
    EXPECT_FALSE(served.client->Increase("web", 1, Deadline::In(clock, milliseconds(500))).ok());
    EXPECT_FALSE(served.client->Cleanup().ok());
    EXPECT_LT(clock.Now() - start, seconds(4));
    EXPECT_EQ(MUST(served.client->TargetSize("web")), 1);
    end.set_value();
  }
}

TEST_F(MisbehavingTest, AnswersEveryMethodWithBytesThatAreNoMessage) {
  for (const std::string& bytes :
       {std::string("\xff\xff\xff\xff garbage"), std::string(300, '\x0a'),
        std::string("\x0a\xff\xff\xff\xff\x0f")}) {
    misbehave = false;
    ServedGroups served(With("*", [bytes](const grpc::Call&) -> grpc::Answer { return bytes; }),
                        clock);
    ASSERT_OK(Refresh(*served.client));
    misbehave = true;
    const Status status = Refresh(*served.client);
    EXPECT_EQ(status.code(), Code::kInternal) << status;
    EXPECT_THAT(status.message(), HasSubstr("not a well-formed NodeGroupsResponse"));
    EXPECT_THAT(served.client->Groups(), SizeIs(2));
    EXPECT_EQ(MUST(served.client->TargetSize("web")), 1);
    EXPECT_EQ(MUST(served.client->GroupOf({"test://1", "n"})), "web");
  }
}

// A well-formed message of another method: every field that fits is taken for what it is.
TEST_F(MisbehavingTest, AnswersWithTheWrongMessages) {
  pb::NodeGroupNodesResponse wrong;
  wrong.add_instances()->set_id("test://1");
  const std::string bytes = wrong.SerializeAsString();
  ServedGroups served(
      With("NodeGroupTargetSize", [bytes](const grpc::Call&) -> grpc::Answer { return bytes; }),
      clock);
  ASSERT_OK(Refresh(*served.client));
  misbehave = true;
  (void)Refresh(*served.client);
  EXPECT_THAT(served.client->Groups(), SizeIs(2));
}

TEST_F(MisbehavingTest, AnswersMoreThanIsAllowed) {
  ServedGroups served(With("NodeGroups",
                           [](const grpc::Call&) -> grpc::Answer {
                             pb::NodeGroupsResponse answer;
                             answer.add_nodegroups()->set_id(std::string(3'000'000, 'x'));
                             return answer.SerializeAsString();
                           }),
                      clock, "max_message_bytes: 1000000\n");
  ASSERT_OK(Refresh(*served.client));
  misbehave = true;
  const Status status = Refresh(*served.client);
  EXPECT_EQ(status.code(), Code::kInternal);
  EXPECT_THAT(status.message(), HasSubstr("max_message_bytes"));
  EXPECT_THAT(served.client->Groups(), SizeIs(2));
}

TEST_F(MisbehavingTest, ImplementsNothing) {
  ServedGroups served(
      With("*", [](const grpc::Call&) -> grpc::Answer { return Unimplemented("nothing here"); }),
      clock);
  ASSERT_OK(Refresh(*served.client));
  misbehave = true;
  EXPECT_EQ(Refresh(*served.client).code(), Code::kUnimplemented);
  EXPECT_THAT(served.client->Groups(), SizeIs(2));
  EXPECT_EQ(served.client->Increase("web", 1, Deadline::In(clock, seconds(5))).code(),
            Code::kUnimplemented);
  EXPECT_OK(served.client->Cleanup());
}

TEST_F(MisbehavingTest, DiesAndComesBack) {
  auto served = std::make_unique<ServedGroups>(groups, clock);
  ASSERT_OK(Refresh(*served->client));
  const int port = served->server->port();
  served->server->Stop(Duration::zero());
  served->server.reset();
  const Status status = Refresh(*served->client);
  EXPECT_EQ(status.code(), Code::kUnavailable) << status;
  EXPECT_THAT(status.message(), HasSubstr("ago stay in use"));
  EXPECT_THAT(served->client->Groups(), SizeIs(2));
  EXPECT_EQ(served->client->Increase("web", 1, Deadline::In(clock, seconds(5))).code(),
            Code::kUnavailable);
  groups.Change("web", [](auto& group) { group.target = 6; });
  std::vector<grpc::Service> services;
  services.push_back(rpc::NodeGroupService(groups));
  served->Start(std::move(services), clock, port);
  Status again = Unavailable("");
  const TimePoint start = clock.Now();
  while (!again.ok() && clock.Now() - start < seconds(8)) {
    again = Refresh(*served->client);
    if (!again.ok()) clock.SleepFor(milliseconds(50));
  }
  ASSERT_OK(again);
  EXPECT_EQ(MUST(served->client->TargetSize("web")), 6);
}

TEST_F(MisbehavingTest, DiesInTheMiddleOfARefresh) {
  std::promise<void> asked;
  std::atomic<bool> first{true};
  auto served = std::make_unique<ServedGroups>(With("NodeGroupNodes",
                                                    [&](const grpc::Call&) -> grpc::Answer {
                                                      if (first.exchange(false)) asked.set_value();
                                                      clock.SleepFor(milliseconds(300));
                                                      return Internal("late");
                                                    }),
                                               clock);
  ASSERT_OK(Refresh(*served->client));
  misbehave = true;
  std::thread killer([&] {
    asked.get_future().wait();
    served->server->Stop(Duration::zero());
  });
  (void)Refresh(*served->client);
  killer.join();
  EXPECT_THAT(served->client->Groups(), SizeIs(2));
  EXPECT_EQ(MUST(served->client->Instances("web")).size(), 1u);
}

TEST_F(MisbehavingTest, ShowsACertificateOfAnotherAuthority) {
  ServedGroups ours(groups, clock);
  ServedGroups other(groups, clock);  // its own authority
  const std::string config = ours.credentials.CloudConfig(other.address());
  const auto client = MUST(Client::Open(
      {.clock = clock, .log = ours.log, .metrics = ours.metrics, .cloud_config = config}));
  const Status status = Refresh(*client);
  EXPECT_EQ(status.code(), Code::kUnavailable);
  EXPECT_THAT(status.message(), HasSubstr("never been read"));
  EXPECT_FALSE(client->TargetSize("web").ok());  // not "no such group"
}

TEST_F(MisbehavingTest, CertificatesAreReadAgainWithoutARestart) {
  std::mutex mutex;
  std::string caller;
  ServedGroups served(With("Refresh",
                           [&](const grpc::Call& call) -> grpc::Answer {
                             const std::lock_guard lock(mutex);
                             caller = grpc::Describe(call.caller);
                             return std::string();
                           }),
                      clock);
  misbehave = true;
  ASSERT_OK(Refresh(*served.client));
  EXPECT_EQ(caller, "autoscaler");
  served.credentials.Issue("autoscaler-rotated");
  ASSERT_OK(Refresh(*served.client));
  EXPECT_EQ(caller, "autoscaler-rotated");
}

TEST_F(MisbehavingTest, ServerOnlyTlsAndUnixSockets) {
  ServedGroups served(groups, clock);
  const std::string socket = served.credentials.dir().At("provider.sock");
  std::vector<grpc::Service> services;
  services.push_back(rpc::NodeGroupService(groups));
  const auto plain = MUST(grpc::Server::Start({.listen = "unix:" + socket}, std::move(services),
                                              served.workers, clock, served.log));
  const std::string config =
      served.credentials.dir().Write("unix.yaml", "address: unix:" + socket + "\n");
  const auto client = MUST(Client::Open(
      {.clock = clock, .log = served.log, .metrics = served.metrics, .cloud_config = config}));
  ASSERT_OK(Refresh(*client));
  EXPECT_THAT(client->Groups(), SizeIs(2));
  // The server verifies, so a client without a certificate of its own is turned away.
  const std::string bare = served.credentials.dir().Write(
      "bare.yaml",
      "address: " + served.address() + "\ncacert: " + served.credentials.dir().At("ca.crt") + "\n");
  const auto nobody = MUST(Client::Open(
      {.clock = clock, .log = served.log, .metrics = served.metrics, .cloud_config = bare}));
  EXPECT_EQ(Refresh(*nobody).code(), Code::kUnavailable);
}

// A TCP server that is none of ours: it closes, says nothing, or talks nonsense.
class RawServer {
 public:
  explicit RawServer(std::string greeting, bool close_at_once) {
    socket_ = socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(bind(socket_, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    EXPECT_EQ(listen(socket_, 16), 0);
    socklen_t size = sizeof address;
    getsockname(socket_, reinterpret_cast<sockaddr*>(&address), &size);
    port_ = ntohs(address.sin_port);
    thread_ = std::thread([this, greeting = std::move(greeting), close_at_once] {
      for (;;) {
        const int peer = accept(socket_, nullptr, nullptr);
        if (peer < 0) return;
        if (!greeting.empty()) (void)!write(peer, greeting.data(), greeting.size());
        if (close_at_once) {
          close(peer);
        } else {
          peers_.push_back(peer);
        }
      }
    });
  }
  ~RawServer() {
    shutdown(socket_, SHUT_RDWR);
    thread_.join();
    close(socket_);
    for (const int peer : peers_) close(peer);
  }
  std::string address() const { return "127.0.0.1:" + std::to_string(port_); }

 private:
  int socket_ = -1;
  int port_ = 0;
  std::vector<int> peers_;
  std::thread thread_;
};

TEST_F(MisbehavingTest, IsNoGrpcServerAtAll) {
  const Log log = Log::Null();
  Metrics metrics;
  Credentials credentials;
  std::string nonsense(64 << 10, '\x5a');
  struct Case {
    std::string greeting;
    bool close_at_once;
  };
  for (const Case& each :
       {Case{"", true}, Case{"", false}, Case{"HTTP/1.1 400 Bad Request\r\n\r\n", false},
        Case{nonsense, false},
        Case{std::string("\0\0\x06\x04\0\0\0\0\0\0\x05\x7f\xff\xff\xff", 15), false}}) {
    const RawServer server(each.greeting, each.close_at_once);
    for (const std::string& config :
         {credentials.dir().Write("plain.yaml", "address: " + server.address() + "\n"),
          credentials.CloudConfig(server.address())}) {
      const auto client = MUST(
          Client::Open({.clock = clock, .log = log, .metrics = metrics, .cloud_config = config}));
      const Status status = Refresh(*client, milliseconds(200));
      EXPECT_FALSE(status.ok());
      EXPECT_TRUE(status.code() == Code::kUnavailable || status.code() == Code::kDeadlineExceeded)
          << status;
      EXPECT_FALSE(client->TargetSize("web").ok());
    }
  }
}

}  // namespace
}  // namespace coppice::test
