// Volcano's own example of an extender, unmodified: a session of ours asks it, and it is held to
// the contract that we hold others to. `tools/peer volcano-extender` builds it. It listens on port
// 8713 and nowhere else: skipped where it was not built or somebody else has the port.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <thread>

#include "net/http_client.h"
#include "test/conformance/batch_suite.h"
#include "test/e2e/child.h"
#include "test/support/must.h"

namespace coppice {
namespace batch::extender {
void Register(PluginRegistry& registry);
}

namespace test {
namespace {

constexpr const char* kUrl = "http://127.0.0.1:8713";

std::string UpstreamsExtender() {
  const char* cache = std::getenv("XDG_CACHE_HOME");
  const char* home = std::getenv("HOME");
  const std::string base = cache != nullptr ? cache : std::string(home ? home : "") + "/.cache";
  return base + "/coppice/peers/volcano-extender-v1.10.0/volcano-extender";
}

class UpstreamExtenderTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(UpstreamsExtender()))
      GTEST_SKIP() << "Volcano's extender is not there: run tools/peer volcano-extender";
    if (Listens()) GTEST_SKIP() << "somebody else listens on port 8713";
    server_ = std::make_unique<Child>(std::vector<std::string>{UpstreamsExtender()});
    const TimePoint end = clock_.Now() + std::chrono::seconds(30);
    while (!Listens() && clock_.Now() < end) std::this_thread::yield();
    ASSERT_TRUE(Listens()) << server_->output();

    world_.Group("old", 1, "left", 10);
    world_.Group("new", 1, "left", 0);
    int number = 0;
    for (const auto& [node, pods] :
         {std::pair("a-crowded", 11), std::pair("b-busy", 6), std::pair("c-free", 0)}) {
      world_.Node(node);
      for (int i = 0; i < pods; ++i) world_.Pod("old", number++, "100m", node);
    }
  }

  bool Listens() {
    net::HttpRequest request{.url = std::string(kUrl) + "/nothing"};
    return client_->Send(request, Deadline::In(clock_, std::chrono::seconds(5))).ok();
  }

  // Where the pods that waited go.
  std::vector<std::string> Run(const std::string& verbs) {
    batch::PluginRegistry plugins;
    batch::extender::Register(plugins);
    const fit::FilterRegistry filters("filter");
    const batch::Conf conf = MUST(batch::ParseConf(
        "actions: \"enqueue, allocate, backfill\"\ntiers: [{plugins: [{name: extender, arguments: "
        "{extender.urlPrefix: '" +
        std::string(kUrl) + "', extender.httpTimeout: 10s, " + verbs + "}}]}]\n"));
    auto session =
        MUST(batch::Session::Open(conf, {}, plugins, filters, world_.snapshot, world_.input));
    session->Run();
    news_ = session->GatherNews();
    std::vector<std::string> bound;
    for (const auto& bind : session->Close().binds)
      bound.push_back(bind.pod.name + "@" + bind.node);
    return bound;
  }

  SystemClock clock_;
  std::unique_ptr<net::HttpClient> client_ = MUST(net::MakeHttpClient({.proxy = ""}, clock_));
  std::unique_ptr<Child> server_;
  conformance::BatchWorld world_{true};
  batch::News news_;
};

constexpr const char* kOpening =
    "extender.onSessionOpenVerb: onSessionOpen, extender.onSessionCloseVerb: onSessionClose";
constexpr const char* kPredicate = "extender.predicateVerb: predicate";
constexpr const char* kPrioritize = "extender.prioritizeVerb: prioritize";

TEST_F(UpstreamExtenderTest, KeepsBestEffortPodsOffCrowdedNodes) {
  world_.Pod("new", 0, "", "");
  EXPECT_THAT(Run(kOpening), testing::ElementsAre("new-0@a-crowded")) << "the first by name";
  const std::string with = std::string(kOpening) + ", " + kPredicate;
  EXPECT_THAT(Run(with), testing::ElementsAre("new-0@b-busy"));
  ASSERT_EQ(news_.outside.size(), 1u);
  EXPECT_EQ(news_.outside[0].text, "");
}

TEST_F(UpstreamExtenderTest, ItsScoresCountAndOthersThanBestEffortGoAnywhere) {
  world_.Pod("new", 0, "", "");
  world_.Pod("new", 1, "100m", "");
  const std::string all = std::string(kOpening) + ", " + kPredicate + ", " + kPrioritize;
  EXPECT_THAT(Run(all), testing::UnorderedElementsAre("new-0@c-free", "new-1@a-crowded"));
  ASSERT_EQ(news_.outside.size(), 1u);
  EXPECT_EQ(news_.outside[0].text, "");
}

TEST_F(UpstreamExtenderTest, KeepsTheContract) {
  Child conform({COPPICE_BINARY, "conform", "extender", kUrl, "--timeout=30s"});
  EXPECT_EQ(conform.Wait(), 0) << conform.output();
  for (const char* rule : {"session-open", "predicate", "prioritize", "session-close"})
    EXPECT_THAT(conform.output(), testing::HasSubstr(rule));
  EXPECT_THAT(conform.output(), testing::Not(testing::HasSubstr("FAILED")));
}

}  // namespace
}  // namespace test
}  // namespace coppice
