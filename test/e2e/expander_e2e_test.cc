// Expanders as their users meet them: the example in Python and the real `coppice expander`, each
// asked by our own client over TLS.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <cstdlib>
#include <string>

#include "base/pool.h"
#include "expand/chain.h"
#include "expander.pb.h"
#include "grpc/channel.h"
#include "health.pb.h"
#include "rpc/expander_messages.h"
#include "test/e2e/child.h"
#include "test/support/must.h"
#include "test/support/option_set.h"
#include "test/support/test_certificates.h"

namespace coppice::expanders::grpc {
void Register(expand::ExpanderRegistry& registry);
}

namespace coppice::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class ExpanderE2eTest : public testing::Test {
 protected:
  ExpanderE2eTest() {
    const PemPair server = authority_.Issue("expander", {"localhost", "127.0.0.1"});
    dir_.Write("ca.crt", authority_.pem());
    dir_.Write("tls.crt", server.cert);
    dir_.Write("tls.key", server.key);
    expanders::grpc::Register(expanders_);
  }

  std::unique_ptr<Child> StartCoppice(std::vector<std::string> flags) {
    std::vector<std::string> command{COPPICE_BINARY, "expander", "--listen=127.0.0.1:0"};
    command.insert(command.end(), flags.begin(), flags.end());
    auto child = std::make_unique<Child>(command);
    const auto line = child->WaitForLine("\"serving\"");
    EXPECT_TRUE(line.has_value()) << child->output();
    if (!line) return nullptr;
    address_ =
        "127.0.0.1:" + std::to_string(std::atoi(line->c_str() + line->find("\"port\":") + 7));
    return child;
  }
  std::vector<std::string> Tls() const {
    return {"--cert=" + dir_.At("tls.crt"), "--key=" + dir_.At("tls.key")};
  }

  // What the plug-in `grpc` leaves of the options.
  std::vector<std::string> Left(const OptionSet& set) {
    const auto client = MUST(expanders_.Make("grpc", Context()));
    expand::Surroundings around;
    around.templates = set.templates();
    return GroupsOf(client->Narrow(set.options(), around));
  }
  expand::ExpanderContext Context() {
    return {
        .clock = clock_,
        .rng = rng_,
        .log = log_,
        .metrics = metrics_,
        .settings = {{"grpc-expander-url", address_}, {"grpc-expander-cert", dir_.At("ca.crt")}}};
  }

  SystemClock clock_;
  SeededRng rng_{1};
  std::string logged_;
  Log log_{clock_, [this](std::string_view line) { logged_ += line; }, LogFormat::kText};
  Metrics metrics_;
  expand::ExpanderRegistry expanders_{"expander"};
  TestAuthority authority_;
  TempDirectory dir_;
  std::string address_;
};

TEST_F(ExpanderE2eTest, ThePythonExampleChooses) {
  if (std::system("/usr/bin/python3 -c 'import grpc, google.protobuf' 2>/dev/null") != 0)
    GTEST_SKIP() << "python3-grpcio is not installed";
  ASSERT_EQ(std::system(("protoc --python_out=" + dir_.path().string() +
                         " -Iexamples/expander-python examples/expander-python/expander.proto")
                            .c_str()),
            0);
  Child python({"/usr/bin/python3", "-u", "examples/expander-python/server.py", "--listen",
                "127.0.0.1:0", "--cert", dir_.At("tls.crt"), "--key", dir_.At("tls.key"),
                "--messages", dir_.path().string(), "--max-nodes", "50"});
  const auto line = python.WaitForLine("serving on port");
  ASSERT_TRUE(line.has_value()) << python.output();
  address_ = "127.0.0.1:" + line->substr(line->rfind(' ') + 1);

  OptionSet set({{.group = "steady", .nodes = 1, .pods = 20}});
  model::Node spot = ANodeOf("spot", 4'000, 16'384);
  spot.metadata.labels["example.com/capacity"] = "spot";
  set.Add({.group = "spot-of-five", .nodes = 5}).node = &spot;
  set.Add({.group = "spot-of-two", .nodes = 2}).node = &spot;
  set.Add({.group = "spot-also-of-two", .nodes = 2}).node = &spot;
  EXPECT_THAT(Left(set), ElementsAre("spot-of-two", "spot-also-of-two")) << python.output();
  EXPECT_THAT(Left(OptionSet({{.group = "too many", .nodes = 51}})), testing::IsEmpty())
      << "an empty answer is an answer";
  EXPECT_THAT(logged_, testing::Not(HasSubstr("all options are kept")));
  python.Signal(SIGTERM);
  EXPECT_EQ(python.Wait(), 0) << python.output();
}

TEST_F(ExpanderE2eTest, TheBuiltInChainIsServedAndStopsGracefully) {
  auto flags = Tls();
  flags.insert(flags.end(), {"--strategy=most-pods,least-nodes", "--metrics-addr=127.0.0.1:0"});
  const auto expander = StartCoppice(flags);
  ASSERT_NE(expander, nullptr);
  const OptionSet set({{.group = "few pods", .nodes = 1, .pods = 1},
                       {.group = "many nodes", .nodes = 4, .pods = 3},
                       {.group = "just right", .nodes = 2, .pods = 3}});
  EXPECT_THAT(Left(set), ElementsAre("just right"));
  EXPECT_EQ(logged_, "");

  auto trust = MUST(grpc::CertificateStore::Open(
      {.ca_file = dir_.At("ca.crt"), .parts = grpc::TlsParts::kTrust}, log_));
  grpc::Channel channel({.address = address_, .certificates = trust}, clock_);
  const auto soon = Deadline::In(clock_, std::chrono::seconds(5));
  ::grpc::health::v1::HealthCheckResponse health;
  ASSERT_TRUE(health.ParseFromString(MUST(channel.Call("/grpc.health.v1.Health/Check", "", soon))));
  EXPECT_EQ(health.status(), ::grpc::health::v1::HealthCheckResponse::SERVING);

  expander->Signal(SIGTERM);
  EXPECT_EQ(expander->Wait(), 0) << expander->output();
  EXPECT_THAT(expander->output(), HasSubstr("\"options narrowed\""));
}

TEST_F(ExpanderE2eTest, PrioritiesAreReadAgainWhenTheFileChanges) {
  auto flags = Tls();
  flags.insert(flags.end(), {"--strategy=priority", "--priority-file",
                             dir_.Write("priorities", "1: [a]\n2: [b]\n")});
  const auto expander = StartCoppice(flags);
  ASSERT_NE(expander, nullptr);
  const OptionSet set({{.group = "a"}, {.group = "b"}});
  EXPECT_THAT(Left(set), ElementsAre("b"));
  dir_.Write("priorities", "30: [a]\n2: [b]\n");
  EXPECT_THAT(Left(set), ElementsAre("a"));
  dir_.Write("priorities", "30: [");
  EXPECT_THAT(Left(set), ElementsAre("a", "b")) << "what cannot be read narrows nothing";
}

TEST_F(ExpanderE2eTest, WithAnAuthorityOnlyItsClientsMayAsk) {
  auto flags = Tls();
  flags.push_back("--ca=" + dir_.At("ca.crt"));
  const auto expander = StartCoppice(flags);
  ASSERT_NE(expander, nullptr);
  EXPECT_THAT(Left(OptionSet({{.group = "a"}, {.group = "b", .nodes = 5}})), ElementsAre("a", "b"))
      << "our client shows no certificate, so all are kept";
  EXPECT_THAT(logged_, HasSubstr("call_failed"));

  const PemPair pair = authority_.Issue("autoscaler", {"autoscaler"});
  auto store = MUST(grpc::CertificateStore::Open({.cert_file = dir_.Write("client.crt", pair.cert),
                                                  .key_file = dir_.Write("client.key", pair.key),
                                                  .ca_file = dir_.At("ca.crt")},
                                                 log_));
  grpc::Channel channel({.address = address_, .certificates = store}, clock_);
  EXPECT_OK(channel.Call(rpc::kBestOptions, "", Deadline::In(clock_, std::chrono::seconds(5))));
}

// Twenty-five thousand large pods in each of two options.
TEST_F(ExpanderE2eTest, AHundredMegabytesAreAQuestionLikeAnyOther) {
  auto flags = Tls();
  flags.push_back("--strategy=least-nodes");
  const auto expander = StartCoppice(flags);
  ASSERT_NE(expander, nullptr);
  model::Pod pod = APodOf("large", 100, 100);
  pod.metadata.annotations["a"] = std::string(1'800, 'x');
  std::deque<model::Pod> pods;
  OptionSet set({{.group = "a", .nodes = 3, .pods = 0}, {.group = "b", .nodes = 2, .pods = 0}});
  expand::Option options[] = {*set.options()[0], *set.options()[1]};
  for (int i = 0; i < 25'000; ++i) {
    pods.push_back(pod);
    pods.back().metadata.name = "pod-" + std::to_string(i);
    for (auto& option : options) option.pods.push_back(&pods.back());
  }
  const auto bytes =
      MUST(rpc::SerializeBestOptionsRequest({&options[0], &options[1]}, set.templates()));
  ASSERT_GT(bytes.size(), 90U << 20);
  ASSERT_LT(bytes.size(), rpc::kExpanderMessageBytes);
  expand::ExpanderContext context = Context();
  context.settings["grpc-expander-timeout"] = "1m";  // a busy machine is not the point here
  const auto client = MUST(expanders_.Make("grpc", context));
  const auto start = std::chrono::steady_clock::now();
  EXPECT_THAT(GroupsOf(client->Narrow({&options[0], &options[1]}, {})), ElementsAre("b"))
      << logged_;
  const auto took = std::chrono::steady_clock::now() - start;
  RecordProperty("seconds", std::to_string(std::chrono::duration<double>(took).count()));
}

struct Refusal {
  const char* name;
  std::vector<std::string> flags;
  int code;
  const char* says;
};

class ExpanderRefusalTest : public ExpanderE2eTest, public testing::WithParamInterface<Refusal> {};

TEST_P(ExpanderRefusalTest, SaysWhatToDoInstead) {
  std::vector<std::string> command{COPPICE_BINARY, "expander"};
  command.insert(command.end(), GetParam().flags.begin(), GetParam().flags.end());
  Child expander(command);
  EXPECT_EQ(expander.Wait(), GetParam().code) << expander.output();
  EXPECT_TRUE(expander.WaitForLine(GetParam().says).has_value()) << expander.output();
}

INSTANTIATE_TEST_SUITE_P(
    Rows, ExpanderRefusalTest,
    testing::ValuesIn(std::vector<Refusal>{
        {"PlaintextOnTheNetwork", {"--listen=:0", "--insecure"}, 1, "give --cert and --key"},
        {"PlaintextOnLoopbackUnasked", {"--listen=127.0.0.1:0"}, 1, "with --insecure"},
        {"Price", {"--strategy=price"}, 2, "autoscaler's own --expander"},
        {"PriorityWithoutAFile", {"--strategy=priority"}, 2, "--priority-file"},
        {"AnUnknownStrategy",
         {"--strategy=cheapest", "--listen=127.0.0.1:0", "--insecure"},
         2,
         "there is no 'cheapest'"},
        {"AnUnknownFlag", {"--stratgy=random"}, 2, "did you mean --strategy"},
    }),
    [](const auto& row) { return row.param.name; });

}  // namespace
}  // namespace coppice::test
