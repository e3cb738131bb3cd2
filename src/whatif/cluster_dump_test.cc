#include "whatif/cluster_dump.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "base/executor.h"
#include "net/http_client.h"
#include "test/support/must.h"

namespace coppice::whatif {
namespace {

std::shared_ptr<const model::Pod> APod(const std::string& name) {
  model::Pod pod;
  pod.metadata.namespace_ = "default";
  pod.metadata.name = name;
  pod.metadata.labels["app"] = "web";
  pod.metadata.annotations["some/annotation"] = std::string(500, 'x');
  pod.spec.containers.push_back({.name = "c"});
  pod.spec.containers.front().resources.requests["cpu"] = model::Quantity::FromMillis(100);
  return std::make_shared<const model::Pod>(std::move(pod));
}

std::string Whole(ClusterDump& dump) {
  std::string text;
  for (size_t before = 1; before != text.size();) {
    before = text.size();
    dump.Next(text);
  }
  return text;
}

TEST(ClusterDumpTest, IsOneListOfEverything) {
  cluster::World world;
  auto node = std::make_shared<model::Node>();
  node->metadata.name = "n";
  world.UpsertNode(node);
  world.UpsertPod(APod("p"));
  model::Namespace space;
  space.metadata.name = "default";
  world.Upsert(std::make_shared<const model::Namespace>(space));
  ClusterDump dump(world);
  const auto json = nlohmann::json::parse(Whole(dump), nullptr, false);
  ASSERT_TRUE(json.is_object());
  std::vector<std::string> kinds;
  for (const auto& item : json["items"]) kinds.push_back(item["kind"]);
  EXPECT_THAT(kinds, testing::ElementsAre("Node", "Pod", "Namespace"));
}

TEST(ClusterDumpTest, OfAnEmptyWorldIsAnEmptyList) {
  const cluster::World world;
  ClusterDump dump(world);
  EXPECT_EQ(Whole(dump), "{\"apiVersion\":\"v1\",\"kind\":\"List\",\"items\":[]}\n");
}

TEST(ClusterDumpTest, ComesInSmallPiecesAndIsOfTheMomentItWasTaken) {
  cluster::World world;
  for (int i = 0; i < 2'000; ++i) world.UpsertPod(APod("p" + std::to_string(i)));
  ClusterDump dump(world);
  for (int i = 0; i < 2'000; ++i) world.DeletePod("default", "p" + std::to_string(i));
  std::string all;
  size_t pieces = 0;
  for (;;) {
    std::string piece;
    dump.Next(piece);
    if (piece.empty()) break;
    EXPECT_LT(piece.size(), 110'000U);
    all += piece;
    ++pieces;
  }
  EXPECT_GT(pieces, 10U);
  EXPECT_EQ(nlohmann::json::parse(all)["items"].size(), 2'000U);
}

class ClusterDumpsTest : public testing::Test {
 protected:
  void Serve(net::HttpServerOptions options = {}) {
    server_ = MUST(net::HttpServer::Create(
        std::move(options), [this](const net::ServerRequest&) { return dumps_.Answer(); }));
    client_ = MUST(net::MakeHttpClient({.proxy = "", .max_body_bytes = 1 << 30}, clock_));
  }
  Result<net::HttpResponse> Get() {
    return client_->Send({.url = "http://127.0.0.1:" + std::to_string(server_->port()) + "/"},
                         Deadline::In(clock_, std::chrono::seconds(60)));
  }

  SystemClock clock_;
  cluster::World world_;
  ClusterDumps dumps_{world_, [this](std::function<void()> work) {
                        if (held_) {
                          waiting_.push_back(std::move(work));
                        } else {
                          work();
                        }
                      }};
  bool held_ = false;
  std::vector<std::function<void()>> waiting_;
  std::unique_ptr<net::HttpServer> server_;
  std::unique_ptr<net::HttpClient> client_;
};

TEST_F(ClusterDumpsTest, FiftyThousandPodsGetThroughWithinTheServersLimits) {
  constexpr size_t kPods = 50'000;
  for (size_t i = 0; i < kPods; ++i) world_.UpsertPod(APod("p" + std::to_string(i)));
  Serve();
  const auto answer = Get();
  ASSERT_TRUE(answer.ok()) << answer.status().message();
  EXPECT_EQ(answer->status, 200);
  EXPECT_GT(answer->body.size(), 30'000'000U);
  const auto json = nlohmann::json::parse(answer->body, nullptr, false);
  ASSERT_TRUE(json.is_object());
  EXPECT_EQ(json["items"].size(), kPods);
}

TEST_F(ClusterDumpsTest, OneIsReadAtATime) {
  world_.UpsertPod(APod("p"));
  const net::ServerResponse first = dumps_.Answer();
  ASSERT_TRUE(first.stream);
  EXPECT_EQ(dumps_.Answer().status, 503);
  Serve();
  EXPECT_EQ(MUST(Get()).status, 503);
}

TEST_F(ClusterDumpsTest, TheNextComesWhenTheFirstIsOver) {
  world_.UpsertPod(APod("p"));
  {
    const net::ServerResponse first = dumps_.Answer();
  }  // its reader left before it began
  Serve();
  EXPECT_EQ(MUST(Get()).status, 200);
}

}  // namespace
}  // namespace coppice::whatif
