#include "kube/reflector.h"

#include <gmock/gmock.h>

#include <map>

#include "kube/test_rig.h"

namespace coppice::kube {
namespace {

using testing::ElementsAre;
using Names = std::map<std::string, std::string>;  // name -> version
constexpr char kNodes[] = "/api/v1/nodes";

// A reflector of nodes and what it has said.
struct Picture {
  explicit Picture(TestRig& rig, ReflectorOptions options = {}) {
    options.codec = CodecOf<model::Node>();
    options.backoff.first = std::chrono::milliseconds(5);
    options.backoff.longest = std::chrono::milliseconds(20);
    reflector = std::make_unique<Reflector>(
        options, *rig.client, rig.log,
        [this](const std::shared_ptr<const void>& object) {
          const auto& node = *std::static_pointer_cast<const model::Node>(object);
          now[node.metadata.name] = node.metadata.resource_version;
          ++upserts;
        },
        [this](std::string_view, std::string_view name) {
          removed.emplace_back(name);
          now.erase(std::string(name));
        });
    rig.executor.Spawn(reflector->Run());
  }
  bool Has(const std::vector<std::string>& names) const {
    std::vector<std::string> have;
    for (const auto& [name, version] : now) have.push_back(name);
    return have == names;
  }
  Names now;
  int upserts = 0;
  std::vector<std::string> removed;
  std::unique_ptr<Reflector> reflector;
};

class ReflectorTest : public testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(Ways, ReflectorTest, testing::Bool(),
                         [](const auto& p) { return p.param ? "Streamed" : "Listed"; });

TEST_P(ReflectorTest, SeesWhatIsThereAndWhatChanges) {
  TestRig rig(GetParam());
  for (const char* name : {"a", "b", "c"}) rig.server.Put(kNodes, "Node", name);
  Picture picture(rig, {.page_size = 2});
  ASSERT_TRUE(rig.Until([&] { return picture.reflector->synced(); }));
  EXPECT_TRUE(picture.Has({"a", "b", "c"}));
  ASSERT_TRUE(rig.Until([&] { return rig.server.watches() == 1; }));
  rig.server.Put(kNodes, "Node", "d");
  rig.server.Delete(kNodes, "a");
  ASSERT_TRUE(rig.Until([&] { return picture.Has({"b", "c", "d"}); }));
  EXPECT_EQ(picture.upserts, 4);
}

TEST_P(ReflectorTest, AWatchThatIsCutGoesOnWhereItStopped) {
  TestRig rig(GetParam());
  rig.server.Put(kNodes, "Node", "a");
  Picture picture(rig);
  ASSERT_TRUE(rig.Until([&] { return rig.server.watches() == 1; }));
  rig.server.CutWatches();
  rig.server.Put(kNodes, "Node", "b");
  ASSERT_TRUE(rig.Until([&] { return picture.Has({"a", "b"}); }));
  EXPECT_EQ(picture.upserts, 2);  // nothing twice
  EXPECT_EQ(picture.reflector->lists(), 1u);
}

TEST_P(ReflectorTest, AForgottenVersionIsReadAnewWithoutLosingOrDoubling) {
  TestRig rig(GetParam());
  for (const char* name : {"a", "b", "c"}) rig.server.Put(kNodes, "Node", name);
  Picture picture(rig);
  ASSERT_TRUE(rig.Until([&] { return rig.server.watches() == 1; }));
  rig.server.CutWatches();
  rig.server.Delete(kNodes, "b");
  rig.server.Put(kNodes, "Node", "c");
  rig.server.Put(kNodes, "Node", "d");
  rig.server.Compact();
  ASSERT_TRUE(rig.Until([&] { return picture.Has({"a", "c", "d"}); }));
  EXPECT_THAT(picture.removed, ElementsAre("b"));
  EXPECT_EQ(picture.upserts, 5);  // a is the same version and is not told again
  EXPECT_EQ(picture.reflector->lists(), 2u);
}

TEST_P(ReflectorTest, AServerThatFailsForAWhileIsAskedAgain) {
  TestRig rig(GetParam());
  rig.server.Refuse({.path = kNodes, .status = 503, .times = 3});
  rig.server.Put(kNodes, "Node", "a");
  Picture picture(rig);
  EXPECT_TRUE(rig.Until([&] { return picture.Has({"a"}); }));
}

TEST(ReflectorListTest, APageThatExpiresStartsOverInOnePiece) {
  TestRig rig(false);
  for (const char* name : {"a", "b", "c", "d"}) rig.server.Put(kNodes, "Node", name);
  rig.server.Refuse({.path = kNodes, .status = 410, .body = "{}", .query = "continue"});
  Picture picture(rig, {.stream_first = false, .page_size = 2});
  ASSERT_TRUE(rig.Until([&] { return picture.reflector->synced(); }));
  EXPECT_TRUE(picture.Has({"a", "b", "c", "d"}));
  EXPECT_EQ(picture.upserts, 4);
  EXPECT_EQ(rig.server.Count("GET", kNodes), 3u + rig.server.watches());
}

TEST(ReflectorRightsTest, AKindThatWeMayNotSeeCountsAsEmptyIfItIsOptional) {
  TestRig rig;
  rig.server.Refuse({.path = kNodes, .status = 403, .body = "{}", .times = 100});
  Picture picture(rig, {.optional = true});
  ASSERT_TRUE(rig.Until([&] { return picture.reflector->synced(); }));
  EXPECT_TRUE(picture.reflector->forbidden());
}

TEST(ReflectorSilenceTest, AWatchWithoutASoundIsOpenedAgain) {
  TestRig rig;
  rig.server.Put(kNodes, "Node", "a");
  Picture picture(rig, {.max_silence = std::chrono::milliseconds(50)});
  EXPECT_TRUE(rig.Until([&] { return picture.reflector->watches() >= 3; }));
  EXPECT_EQ(picture.upserts, 1);
}

TEST(ReflectorBookmarkTest, ABookmarkMovesTheVersionOn) {
  TestRig rig;
  rig.server.Put(kNodes, "Node", "a");
  rig.server.Put("/api/v1/pods", "Pod", "p", {}, "ns");  // versions that the kind does not see
  Picture picture(rig);
  ASSERT_TRUE(rig.Until([&] { return rig.server.watches() == 1; }));
  rig.server.Put("/api/v1/pods", "Pod", "p", {}, "ns");
  rig.server.Bookmark(kNodes, "Node");
  const TimePoint before = picture.reflector->last_heard();
  ASSERT_TRUE(rig.Until([&] { return picture.reflector->last_heard() > before; }));
  rig.server.Compact();  // only who has seen the bookmark can go on
  rig.server.CutWatches();
  ASSERT_TRUE(rig.Until([&] { return picture.reflector->watches() == 2; }));
  EXPECT_EQ(picture.reflector->lists(), 1u);
}

TEST(ClientTest, RepeatsWhatMayBeRepeatedAndNothingElse) {
  TestRig rig;
  rig.server.Put(kNodes, "Node", "a");
  rig.server.Refuse({.method = "GET", .path = "/api/v1/nodes/a", .status = 503, .times = 2});
  const Deadline soon = Deadline::In(rig.clock, std::chrono::seconds(5));
  Request get{.path = "/api/v1/nodes/a"};
  EXPECT_EQ(test::MustValue(rig.executor.BlockOn(rig.client->Send(get, soon))).status, 200);
  EXPECT_EQ(rig.server.Count("GET", "/nodes/a"), 3u);

  rig.server.Refuse({.method = "POST", .path = "/api/v1/pods", .status = 503, .times = 1});
  Request post{.method = "POST", .path = "/api/v1/pods", .body = "{}", .repeatable = false};
  EXPECT_EQ(test::MustValue(rig.executor.BlockOn(rig.client->Send(post, soon))).status, 503);
  EXPECT_EQ(rig.server.Count("POST", "/pods"), 1u);
}

TEST(ClientTest, WaitsAsLongAsTheServerSays) {
  TestRig rig;
  rig.server.Put(kNodes, "Node", "a");
  rig.server.Refuse({.path = "/api/v1/nodes/a", .status = 429, .headers = {{"Retry-After", "1"}}});
  const TimePoint began = rig.clock.Now();
  Request get{.path = "/api/v1/nodes/a", .repeatable = false};  // a 429 has not been looked at
  const Deadline soon = Deadline::In(rig.clock, std::chrono::seconds(5));
  EXPECT_EQ(test::MustValue(rig.executor.BlockOn(rig.client->Send(get, soon))).status, 200);
  EXPECT_GE(rig.clock.Now() - began, std::chrono::seconds(1));
}

TEST(ClientTest, AsksAgainWithFreshCredentialsAfterA401) {
  TestRig rig;
  rig.server.Put(kNodes, "Node", "a");
  rig.server.Refuse({.path = kNodes, .status = 401, .body = "{}"});
  Request get{.path = "/api/v1/nodes/a"};
  const Deadline soon = Deadline::In(rig.clock, std::chrono::seconds(5));
  EXPECT_EQ(test::MustValue(rig.executor.BlockOn(rig.client->Send(get, soon))).status, 200);
}

TEST(ClientTest, AGuardThatSaysNoStopsTheRequest) {
  TestRig rig;
  Request get{.path = "/api/v1/nodes/a", .guard = [] { return FailedPrecondition("no lease"); }};
  const Deadline soon = Deadline::In(rig.clock, std::chrono::seconds(5));
  EXPECT_EQ(rig.executor.BlockOn(rig.client->Send(get, soon)).code(), Code::kFailedPrecondition);
  EXPECT_EQ(rig.server.Count("GET", ""), 0u);
}

TEST(RateLimitTest, LetsABurstThroughAndThenARate) {
  SystemClock clock;
  Executor executor(clock);
  RateLimit limit(executor, 100, 5);
  const TimePoint began = clock.Now();
  for (int i = 0; i < 5; ++i) executor.BlockOn(limit.Take());
  EXPECT_LT(clock.Now() - began, std::chrono::milliseconds(40));
  for (int i = 0; i < 10; ++i) executor.BlockOn(limit.Take());
  EXPECT_GE(clock.Now() - began, std::chrono::milliseconds(95));
}

}  // namespace
}  // namespace coppice::kube
