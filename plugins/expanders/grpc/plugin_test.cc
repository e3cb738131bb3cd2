// The client over a real TLS connection on loopback: our own server at the other end, and servers
// that hang, lie, crash and talk nonsense. Long because they share one rig of servers.

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <future>
#include <set>
#include <thread>

#include "base/go_duration.h"
#include "base/pool.h"
#include "expand/chain.h"
#include "expander.pb.h"
#include "grpc/server.h"
#include "plugins/expanders/grpc/answer.h"
#include "rpc/expander_messages.h"
#include "rpc/expander_server.h"
#include "test/conformance/expander_suite.h"
#include "test/support/must.h"
#include "test/support/test_certificates.h"

namespace coppice {
namespace expanders {
namespace grpc {
void Register(expand::ExpanderRegistry& registry);
}
}  // namespace expanders

namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// A server of the expander protocol on a free port of loopback, with a certificate of its own
// authority.
class Peer {
 public:
  explicit Peer(coppice::grpc::Handler handler, std::vector<std::string> names = {"127.0.0.1"}) {
    const test::PemPair pair = authority_.Issue("expander", names);
    ca_ = dir_.Write("ca.crt", authority_.pem());
    auto store =
        MUST(coppice::grpc::CertificateStore::Open({.cert_file = dir_.Write("tls.crt", pair.cert),
                                                    .key_file = dir_.Write("tls.key", pair.key),
                                                    .parts = coppice::grpc::TlsParts::kIdentity},
                                                   log_));
    std::vector<coppice::grpc::Service> services;
    services.push_back(
        {.name = rpc::kExpanderService,
         .methods = {{.name = "BestOptions",
                      .handler =
                          [this, handler = std::move(handler)](const coppice::grpc::Call& call) {
                            ++calls;
                            peers.insert(call.caller->Address());
                            return handler(call);
                          },
                      .waits = true}}});
    server_ = MUST(coppice::grpc::Server::Start({.listen = "127.0.0.1:0",
                                                 .certificates = std::move(store),
                                                 .max_message_bytes = rpc::kExpanderMessageBytes},
                                                std::move(services), workers_, clock_, log_));
  }

  std::string address() const { return "127.0.0.1:" + std::to_string(server_->port()); }
  const std::string& ca() const { return ca_; }
  int port() const { return server_->port(); }

  std::atomic<int> calls = 0;   // one at a time: the client waits, unless it is cut off
  std::set<std::string> peers;  // a new connection is a new port

 private:
  SystemClock clock_;
  Log log_ = Log::Null();
  test::TestAuthority authority_;
  test::TempDirectory dir_;
  std::string ca_;
  Pool workers_{1, 4};
  std::unique_ptr<coppice::grpc::Server> server_;
};

coppice::grpc::Handler Answering(std::vector<std::string> groups) {
  return [groups](const coppice::grpc::Call&) -> coppice::grpc::Answer {
    grpcplugin::BestOptionsResponse response;
    for (const std::string& group : groups) {
      auto& option = *response.add_options();
      option.set_nodegroupid(group);
      option.set_nodecount(99);
      option.set_debug("made up");
    }
    return response.SerializeAsString();
  };
}

// Sockets of loopback, and nothing more.
int ListenOnLoopback(int& port) {
  const int listener = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  EXPECT_EQ(bind(listener, reinterpret_cast<sockaddr*>(&address), size), 0);
  EXPECT_EQ(listen(listener, 8), 0);
  EXPECT_EQ(getsockname(listener, reinterpret_cast<sockaddr*>(&address), &size), 0);
  port = ntohs(address.sin_port);
  return listener;
}

int ConnectToLoopback(int port) {
  const int fd = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<uint16_t>(port));
  EXPECT_EQ(connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  return fd;
}

// One connection to a server, until it is cut: what a client sees of a process that dies.
class Tunnel {
 public:
  explicit Tunnel(int server_port) : listener_(ListenOnLoopback(port_)) {
    thread_ = std::thread([this, server_port] {
      const int client = accept(listener_, nullptr, nullptr);
      const int server = ConnectToLoopback(server_port);
      std::thread back([&] { Pump(server, client); });
      Pump(client, server);
      back.join();
      close(client);
      close(server);
    });
  }
  ~Tunnel() {
    Cut();
    thread_.join();
  }
  std::string address() const { return "127.0.0.1:" + std::to_string(port_); }
  void Cut() {
    if (cut_.exchange(true)) return;
    shutdown(listener_, SHUT_RDWR);
    close(listener_);
  }

 private:
  void Pump(int from, int to) {
    char buffer[4096];
    while (!cut_) {
      pollfd readable{.fd = from, .events = POLLIN, .revents = 0};
      if (poll(&readable, 1, 20) <= 0) continue;
      const ssize_t count = read(from, buffer, sizeof buffer);
      if (count <= 0 || send(to, buffer, static_cast<size_t>(count), MSG_NOSIGNAL) != count) break;
    }
    shutdown(from, SHUT_RDWR);
    shutdown(to, SHUT_RDWR);
  }

  int port_ = 0;
  const int listener_;
  std::atomic<bool> cut_ = false;
  std::thread thread_;
};

class GrpcExpanderTest : public testing::Test {
 protected:
  std::unique_ptr<expand::Expander> Client(const std::string& url, const std::string& ca,
                                           Duration timeout = std::chrono::seconds(5)) {
    expand::ExpanderRegistry registry("expander");
    expanders::grpc::Register(registry);
    return MUST(registry.Make("grpc", Context(url, ca, timeout)));
  }
  expand::ExpanderContext Context(const std::string& url, const std::string& ca,
                                  Duration timeout = std::chrono::seconds(5)) {
    return {.clock = clock_,
            .rng = rng_,
            .log = log_,
            .metrics = metrics_,
            .settings = {{"grpc-expander-url", url},
                         {"grpc-expander-cert", ca},
                         {"grpc-expander-timeout", FormatGoDuration(timeout)}}};
  }

  std::vector<std::string> Left(expand::Expander& client) {
    expand::Surroundings around;
    around.templates = set_.templates();
    around.note = [this](std::string sentence) { note_ = std::move(sentence); };
    return test::GroupsOf(client.Narrow(set_.options(), around));
  }
  std::vector<std::string> Left(const Peer& peer) {
    return Left(*Client(peer.address(), peer.ca()));
  }

  double Fallbacks(const char* reason) {
    return metrics_
        .GetCounter("cluster_autoscaler_grpc_expander_fallbacks_total", "", {{"reason", reason}})
        .value();
  }
  void ExpectKeptAll(const std::vector<std::string>& left, const char* reason) {
    EXPECT_THAT(left, ElementsAre("a", "b", "c"));
    EXPECT_EQ(Fallbacks(reason), 1) << reason;
    EXPECT_THAT(logged_, HasSubstr("all options are kept"));
    EXPECT_THAT(logged_, HasSubstr(reason));
    EXPECT_THAT(note_, HasSubstr("all options are kept"));
  }

  SystemClock clock_;
  SeededRng rng_{1};
  std::string logged_;
  Log log_{clock_, [this](std::string_view line) { logged_ += line; }, LogFormat::kText};
  Metrics metrics_;
  test::OptionSet set_{{{.group = "a", .nodes = 2, .pods = 3, .debug = "first"},
                        {.group = "b", .nodes = 1, .pods = 0},
                        {.group = "c", .has_template = false}}};
  std::string note_;
};

TEST_F(GrpcExpanderTest, SendsOptionsPodsAndTemplatesAndKeepsWhatIsNamed) {
  grpcplugin::BestOptionsRequest seen;
  Peer peer([&seen](const coppice::grpc::Call& call) {
    EXPECT_TRUE(seen.ParseFromString(std::string(call.request)));
    return Answering({"b"})(call);
  });
  EXPECT_THAT(Left(peer), ElementsAre("b"));
  ASSERT_EQ(seen.options_size(), 3);
  EXPECT_EQ(seen.options(0).nodegroupid(), "a");
  EXPECT_EQ(seen.options(0).nodecount(), 2);
  EXPECT_EQ(seen.options(0).debug(), "first");
  EXPECT_EQ(seen.options(0).podbytes_size(), 3);
  EXPECT_EQ(seen.options(0).pod_size(), 0) << "one era unless both are asked for";
  EXPECT_EQ(seen.options(1).podbytes_size(), 0);
  EXPECT_EQ(seen.nodebytesmap_size(), 2) << "c has no template";
  EXPECT_EQ(seen.nodemap_size(), 0);
  EXPECT_THAT(logged_, IsEmpty());
  EXPECT_EQ(note_, "");
}

TEST_F(GrpcExpanderTest, AnOldServerIsSentTheOldFieldsToo) {
  grpcplugin::BestOptionsRequest seen;
  Peer peer([&seen](const coppice::grpc::Call& call) {
    EXPECT_TRUE(seen.ParseFromString(std::string(call.request)));
    return Answering({"a"})(call);
  });
  expand::ExpanderContext context = Context(peer.address(), peer.ca());
  context.settings["grpc-expander-legacy-fields"] = "true";
  expand::ExpanderRegistry registry("expander");
  expanders::grpc::Register(registry);
  EXPECT_THAT(Left(*MUST(registry.Make("grpc", context))), ElementsAre("a"));
  EXPECT_EQ(seen.options(0).pod_size(), 3);
  EXPECT_EQ(seen.options(0).pod(0), seen.options(0).podbytes(0));
  EXPECT_EQ(seen.nodemap_size(), 2);
}

TEST_F(GrpcExpanderTest, OneConnectionServesAllCalls) {
  Peer peer(Answering({"a", "b"}));
  const auto client = Client("https://" + peer.address() + "/", peer.ca());
  for (int i = 0; i < 20; ++i) EXPECT_THAT(Left(*client), ElementsAre("a", "b"));
  EXPECT_EQ(peer.calls.load(), 20);
  EXPECT_EQ(peer.peers.size(), 1U);
}

TEST_F(GrpcExpanderTest, ItsOrderAndRepetitionsStay) {
  EXPECT_THAT(Left(Peer(Answering({"c", "a", "c"}))), ElementsAre("c", "a", "c"));
}

TEST_F(GrpcExpanderTest, AnEmptyAnswerMeansThatNothingShallBeBought) {
  EXPECT_THAT(Left(Peer(Answering({}))), IsEmpty());
  EXPECT_EQ(metrics_.GetCounter("cluster_autoscaler_grpc_expander_empty_answers_total", "").value(),
            1);
  EXPECT_THAT(note_, HasSubstr("none of the options"));
}

TEST_F(GrpcExpanderTest, UnknownGroupsAmongKnownOnesAreDropped) {
  EXPECT_THAT(Left(Peer(Answering({"stranger", "b", ""}))), ElementsAre("b"));
  EXPECT_THAT(logged_, HasSubstr("stranger"));
  EXPECT_EQ(Fallbacks("unknown_groups"), 0);
}

TEST_F(GrpcExpanderTest, OnlyUnknownGroupsKeepAll) {
  ExpectKeptAll(Left(Peer(Answering({"x", "y", "", "A", "b "}))), "unknown_groups");
}

TEST_F(GrpcExpanderTest, AFailingServerKeepsAll) {
  Peer peer([](const coppice::grpc::Call&) -> coppice::grpc::Answer {
    return Internal("the strategy divided by zero");
  });
  ExpectKeptAll(Left(peer), "call_failed");
  EXPECT_THAT(note_, HasSubstr("divided by zero"));
}

TEST_F(GrpcExpanderTest, GarbageKeepsAll) {
  Peer peer([](const coppice::grpc::Call&) -> coppice::grpc::Answer {
    return std::string("\x0A\xFF\xFF\xFF\xFF\x0Fgarbage");
  });
  ExpectKeptAll(Left(peer), "unreadable_answer");
}

TEST_F(GrpcExpanderTest, AHangingServerCostsTheTimeoutAndKeepsAll) {
  std::promise<void> release;
  const auto released = release.get_future().share();
  Peer peer([&released](const coppice::grpc::Call& call) {
    released.wait();
    return Answering({"a"})(call);
  });
  const auto client = Client(peer.address(), peer.ca(), std::chrono::milliseconds(200));
  const auto start = std::chrono::steady_clock::now();
  ExpectKeptAll(Left(*client), "call_failed");
  const auto took = std::chrono::steady_clock::now() - start;
  EXPECT_GE(took, std::chrono::milliseconds(190));
  EXPECT_LT(took, std::chrono::seconds(4));
  EXPECT_THAT(note_, HasSubstr("DeadlineExceeded"));
  release.set_value();
}

TEST_F(GrpcExpanderTest, AnAnswerAboveTheLimitKeepsAll) {
  // The length alone is enough: the client gives up before the bytes come.
  Peer peer([](const coppice::grpc::Call&) -> coppice::grpc::Answer {
    return std::string(rpc::kExpanderMessageBytes + 1, '\0');
  });
  ExpectKeptAll(Left(peer), "call_failed");
}

TEST_F(GrpcExpanderTest, AServerThatCrashesInTheMiddleKeepsAllAtOnce) {
  std::promise<void> release;
  const auto released = release.get_future().share();
  std::unique_ptr<Tunnel> tunnel;
  Peer peer([&](const coppice::grpc::Call& call) {
    tunnel->Cut();
    released.wait();
    return Answering({"a"})(call);
  });
  tunnel = std::make_unique<Tunnel>(peer.port());
  const auto client = Client(tunnel->address(), peer.ca());
  const auto start = std::chrono::steady_clock::now();
  ExpectKeptAll(Left(*client), "call_failed");
  // And then nobody is there at all.
  EXPECT_THAT(Left(*client), ElementsAre("a", "b", "c"));
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(4));
  EXPECT_EQ(Fallbacks("call_failed"), 2);
  EXPECT_EQ(peer.calls.load(), 1) << "a question is not asked twice";
  release.set_value();
}

TEST_F(GrpcExpanderTest, ACertificateOfAnotherAuthorityKeepsAll) {
  Peer peer(Answering({"a"}));
  const Peer other(Answering({"b"}));
  ExpectKeptAll(Left(*Client(peer.address(), other.ca())), "call_failed");
  EXPECT_EQ(peer.calls.load(), 0);
}

TEST_F(GrpcExpanderTest, ACertificateForAnotherHostKeepsAll) {
  Peer peer(Answering({"a"}), {"somewhere.else"});
  ExpectKeptAll(Left(peer), "call_failed");
  EXPECT_EQ(peer.calls.load(), 0);
}

// Accepts, talks nonsense or nothing, and hangs up.
class RawPeer {
 public:
  explicit RawPeer(std::string says) : listener_(ListenOnLoopback(port_)) {
    thread_ = std::thread([this, says = std::move(says)] {
      for (;;) {
        const int client = accept(listener_, nullptr, nullptr);
        if (client < 0) return;
        (void)!write(client, says.data(), says.size());
        close(client);
      }
    });
  }
  ~RawPeer() {
    shutdown(listener_, SHUT_RDWR);
    thread_.join();
    close(listener_);
  }
  std::string address() const { return "127.0.0.1:" + std::to_string(port_); }

 private:
  int port_ = 0;
  const int listener_;
  std::thread thread_;
};

TEST_F(GrpcExpanderTest, APeerThatSpeaksNoTlsKeepsAll) {
  const Peer authority(Answering({}));
  for (const char* says :
       {"", "HTTP/1.1 400 Bad Request\r\n\r\n", "\x16\x03\x03\xFF\xFF garbage"}) {
    const RawPeer peer(says);
    EXPECT_THAT(Left(*Client(peer.address(), authority.ca(), std::chrono::seconds(2))),
                ElementsAre("a", "b", "c"))
        << says;
  }
  EXPECT_EQ(Fallbacks("call_failed"), 3);
}

TEST_F(GrpcExpanderTest, RefusesToStartWithoutUrlOrCertificate) {
  expand::ExpanderRegistry registry("expander");
  expanders::grpc::Register(registry);
  const Peer peer(Answering({}));
  const auto why = [&](const std::string& url, const std::string& ca) {
    return registry.Make("grpc", Context(url, ca)).status().message();
  };
  EXPECT_THAT(why("", peer.ca()), HasSubstr("--grpc-expander-url is not set"));
  EXPECT_THAT(why("host:1", ""), HasSubstr("--grpc-expander-cert is not set"));
  EXPECT_THAT(why("host:1", "/does/not/exist.pem"), HasSubstr("/does/not/exist.pem"));
  for (const char* setting : {"grpc-expander-timeout", "grpc-expander-legacy-fields"}) {
    expand::ExpanderContext context = Context(peer.address(), peer.ca());
    context.settings[setting] = "soon";
    EXPECT_THAT(registry.Make("grpc", context).status().message(), HasSubstr(setting));
  }
}

// The whole way that a decision takes: off the thread, fallen back, the next expander decides.
TEST_F(GrpcExpanderTest, InAChainTheNextExpanderDecidesAfterAFailure) {
  expand::ExpanderRegistry registry("expander");
  expanders::grpc::Register(registry);
  registry.Add("last", [](const expand::ExpanderContext&) {
    class Last final : public expand::Expander {
      expand::Options Narrow(const expand::Options& options, const expand::Surroundings&) override {
        return {options.back()};
      }
    };
    return Result<std::unique_ptr<expand::Expander>>(std::make_unique<Last>());
  });
  Peer peer([](const coppice::grpc::Call&) -> coppice::grpc::Answer { return Unavailable("no"); });
  auto chain =
      MUST(expand::Chain::Create({"grpc", "last"}, registry, Context(peer.address(), peer.ca())));
  EXPECT_TRUE(chain.Blocks());
  const expand::Choice choice = chain.Choose(set_.options(), {});
  ASSERT_NE(choice.chosen, nullptr);
  EXPECT_EQ(choice.chosen->group, "c");
  EXPECT_THAT(choice.steps.at(0).note, HasSubstr("all options are kept"));
}

TEST(MatchTest, TheLaterOfTwoOptionsWithOneIdCounts) {
  const test::OptionSet set({{.group = "a", .nodes = 1}, {.group = "a", .nodes = 2}});
  const auto kept = expanders::grpc::Match(set.options(), {"a"});
  ASSERT_EQ(kept.options.size(), 1U);
  EXPECT_EQ(kept.options[0]->node_count, 2);
}

}  // namespace

// Our own chain at the other end of the wire.
struct GrpcUnderTest {
  struct FewestNodes final : public expand::Expander {
    expand::Options Narrow(const expand::Options& options, const expand::Surroundings&) override {
      int fewest = std::numeric_limits<int>::max();
      for (const auto* option : options) fewest = std::min(fewest, option->node_count);
      expand::Options best;
      for (const auto* option : options) {
        if (option->node_count == fewest) best.push_back(option);
      }
      return best;
    }
  };

  GrpcUnderTest() {
    expand::ExpanderRegistry registry("expander");
    registry.Add("fewest", [](const expand::ExpanderContext&) {
      return Result<std::unique_ptr<expand::Expander>>(std::make_unique<FewestNodes>());
    });
    chain = std::make_unique<expand::Chain>(MUST(expand::Chain::Create(
        {"fewest"}, registry, {.clock = clock, .rng = rng, .log = log, .metrics = metrics})));
    const coppice::grpc::Service service = rpc::ExpanderService({.chain = *chain, .log = log});
    peer = std::make_unique<Peer>(service.methods.at(0).handler);
  }
  std::unique_ptr<expand::Expander> Make(expand::ExpanderContext context) {
    context.settings["grpc-expander-url"] = peer->address();
    context.settings["grpc-expander-cert"] = peer->ca();
    expand::ExpanderRegistry registry("expander");
    expanders::grpc::Register(registry);
    return MUST(registry.Make("grpc", context));
  }
  void Surround(expand::Surroundings&) {}

  SystemClock clock;
  SeededRng rng{1};
  Log log = Log::Null();
  Metrics metrics;
  std::unique_ptr<expand::Chain> chain;
  std::unique_ptr<Peer> peer;
};

namespace conformance {
INSTANTIATE_TYPED_TEST_SUITE_P(Grpc, ExpanderSuite, GrpcUnderTest);
}

}  // namespace coppice
