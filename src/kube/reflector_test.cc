#include "kube/reflector.h"

#include <gmock/gmock.h>

#include <map>

#include "kube/test_rig.h"

namespace coppice::kube {
namespace {

using testing::ElementsAre;
using Names = std::map<std::string, std::string>;  // name -> version
constexpr char kTwoNodes[] = "/api/v1/nodes";

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
  for (const char* name : {"a", "b", "c"}) rig.server.Put(kTwoNodes, "Node", name);
  Picture picture(rig, {.page_size = 2});
  ASSERT_TRUE(rig.Until([&] { return picture.reflector->synced(); }));
  EXPECT_TRUE(picture.Has({"a", "b", "c"}));
  ASSERT_TRUE(rig.Until([&] { return rig.server.watches() == 1; }));
  rig.server.Put(kTwoNodes, "Node", "d");
  rig.server.Delete(kTwoNodes, "a");
  ASSERT_TRUE(rig.Until([&] { return picture.Has({"b", "c", "d"}); }));
  EXPECT_EQ(picture.upserts, 4);
}

TEST_P(ReflectorTest, AWatchThatIsCutGoesOnWhereItStopped) {
  TestRig rig(GetParam());
  rig.server.Put(kTwoNodes, "Node", "a");
  Picture picture(rig);
  ASSERT_TRUE(rig.Until([&] { return rig.server.watches() == 1; }));
  rig.server.CutWatches();
  rig.server.Put(kTwoNodes, "Node", "b");
  ASSERT_TRUE(rig.Until([&] { return picture.Has({"a", "b"}); }));
  EXPECT_EQ(picture.upserts, 2);  // nothing twice
  EXPECT_EQ(picture.reflector->lists(), 1u);
}

TEST_P(ReflectorTest, AWatchThatIsRefusedIsToldAndOneThatEndsIsNot) {
  TestRig rig(GetParam());
  rig.server.Put(kTwoNodes, "Node", "a");
  Picture picture(rig);
  ASSERT_TRUE(rig.Until([&] { return rig.server.watches() == 1; }));
  EXPECT_THAT(rig.failed, testing::IsEmpty());
  rig.server.Refuse({.method = "GET", .path = kTwoNodes, .status = 403, .body = "{}"});
  rig.server.CutWatches();
  ASSERT_TRUE(rig.Until([&] { return !rig.failed.empty(); }));
  EXPECT_EQ(rig.failed.back(), "WATCH /api/v1/nodes 0");
}

TEST_P(ReflectorTest, AForgottenVersionIsReadAnewWithoutLosingOrDoubling) {
  TestRig rig(GetParam());
  for (const char* name : {"a", "b", "c"}) rig.server.Put(kTwoNodes, "Node", name);
  Picture picture(rig);
  ASSERT_TRUE(rig.Until([&] { return rig.server.watches() == 1; }));
  rig.server.CutWatches();
  rig.server.Delete(kTwoNodes, "b");
  rig.server.Put(kTwoNodes, "Node", "c");
  rig.server.Put(kTwoNodes, "Node", "d");
  rig.server.Compact();
  ASSERT_TRUE(rig.Until([&] { return picture.Has({"a", "c", "d"}); }));
  EXPECT_THAT(picture.removed, ElementsAre("b"));
  EXPECT_EQ(picture.upserts, 5);  // a is the same version and is not told again
  EXPECT_EQ(picture.reflector->lists(), 2u);
}

TEST_P(ReflectorTest, AServerThatFailsForAWhileIsAskedAgain) {
  TestRig rig(GetParam());
  rig.server.Refuse({.path = kTwoNodes, .status = 503, .times = 3});
  rig.server.Put(kTwoNodes, "Node", "a");
  Picture picture(rig);
  EXPECT_TRUE(rig.Until([&] { return picture.Has({"a"}); }));
}

TEST(ReflectorListTest, APageThatExpiresStartsOverInOnePiece) {
  TestRig rig(false);
  for (const char* name : {"a", "b", "c", "d"}) rig.server.Put(kTwoNodes, "Node", name);
  rig.server.Refuse({.path = kTwoNodes, .status = 410, .body = "{}", .query = "continue"});
  Picture picture(rig, {.stream_first = false, .page_size = 2});
  ASSERT_TRUE(rig.Until([&] { return picture.reflector->synced(); }));
  EXPECT_TRUE(picture.Has({"a", "b", "c", "d"}));
  EXPECT_EQ(picture.upserts, 4);
  // The watch that follows is asked for and answered at different moments.
  EXPECT_TRUE(
      rig.Until([&] { return rig.server.Count("GET", kTwoNodes) == 3u + rig.server.watches(); }));
}

TEST(ReflectorRightsTest, AKindThatWeMayNotSeeCountsAsEmptyIfItIsOptional) {
  TestRig rig;
  rig.server.Refuse({.path = kTwoNodes, .status = 403, .body = "{}", .times = 100});
  Picture picture(rig, {.optional = true});
  ASSERT_TRUE(rig.Until([&] { return picture.reflector->synced(); }));
  EXPECT_TRUE(picture.reflector->forbidden());
}

TEST(ReflectorRightsTest, ARefusalByAServerThatHasJustStartedIsNotBelieved) {
  TestRig rig;
  rig.server.Put(kTwoNodes, "Node", "a");
  Picture picture(rig, {.optional = true});
  ASSERT_TRUE(rig.Until([&] { return rig.server.watches() == 1; }));
  rig.server.Refuse({.path = kTwoNodes, .status = 403, .body = "{}", .times = 5});
  rig.server.CutWatches();
  rig.server.Put(kTwoNodes, "Node", "b");
  ASSERT_TRUE(rig.Until([&] { return picture.Has({"a", "b"}); }));
  EXPECT_FALSE(picture.reflector->forbidden());
  EXPECT_TRUE(picture.removed.empty());
}

TEST(ReflectorRightsTest, ARefusalThatGoesOnIsBelievedAndTheKindIsEmptyThen) {
  TestRig rig;
  rig.server.Put(kTwoNodes, "Node", "a");
  Picture picture(rig, {.optional = true,
                        .believed_after = std::chrono::milliseconds(50),
                        .forbidden_retry = std::chrono::milliseconds(10)});
  ASSERT_TRUE(rig.Until([&] { return rig.server.watches() == 1; }));
  rig.server.Refuse({.path = kTwoNodes, .status = 403, .body = "{}", .times = 50});
  rig.server.CutWatches();
  ASSERT_TRUE(rig.Until([&] { return picture.reflector->forbidden(); }));
  EXPECT_THAT(picture.removed, ElementsAre("a"));
  ASSERT_TRUE(rig.Until([&] { return picture.Has({"a"}); }));  // the rights are back
  EXPECT_FALSE(picture.reflector->forbidden());
}

TEST(ReflectorSilenceTest, AWatchWithoutASoundIsOpenedAgain) {
  TestRig rig;
  rig.server.Put(kTwoNodes, "Node", "a");
  Picture picture(rig, {.max_silence = std::chrono::milliseconds(50)});
  EXPECT_TRUE(rig.Until([&] { return picture.reflector->watches() >= 3; }));
  EXPECT_EQ(picture.upserts, 1);
}

TEST(ReflectorBookmarkTest, ABookmarkMovesTheVersionOn) {
  TestRig rig;
  rig.server.Put(kTwoNodes, "Node", "a");
  rig.server.Put("/api/v1/pods", "Pod", "p", {}, "ns");  // versions that the kind does not see
  Picture picture(rig);
  ASSERT_TRUE(rig.Until([&] { return rig.server.watches() == 1; }));
  rig.server.Put("/api/v1/pods", "Pod", "p", {}, "ns");
  rig.server.Bookmark(kTwoNodes, "Node");
  const TimePoint before = picture.reflector->last_heard();
  ASSERT_TRUE(rig.Until([&] { return picture.reflector->last_heard() > before; }));
  rig.server.Compact();  // only who has seen the bookmark can go on
  rig.server.CutWatches();
  ASSERT_TRUE(rig.Until([&] { return picture.reflector->watches() == 2; }));
  EXPECT_EQ(picture.reflector->lists(), 1u);
}

// An object that the fake serves as it is, and that is not one.
nlohmann::json OddNode() {
  return {{"metadata", {{"creationTimestamp", "yesterday"}}}, {"spec", {{"providerID", "p"}}}};
}

TEST_P(ReflectorTest, AnObjectThatCannotBeReadIsToldOncePerVersionUntilItCanBe) {
  TestRig rig(GetParam());
  std::string lines;
  rig.log = Log(rig.clock, [&](std::string_view line) { lines += line; }, LogFormat::kJson);
  const auto told = [&lines] {
    size_t count = 0;
    for (size_t at = 0; (at = lines.find("an object cannot be read", at)) != std::string::npos;
         ++at)
      ++count;
    return count;
  };
  rig.server.Put(kTwoNodes, "Node", "a");
  rig.server.Put(kTwoNodes, "Node", "b", OddNode());
  Picture picture(rig);
  ASSERT_TRUE(rig.Until([&] { return picture.Has({"a", "b"}) && rig.server.watches() == 1; }));
  EXPECT_EQ(told(), 1u);
  ASSERT_EQ(picture.reflector->unreadable().size(), 1u);
  EXPECT_EQ(picture.reflector->unreadable().at("/b").reason, "time");

  // The whole list again: nothing new is said of it.
  rig.server.CutWatches();
  rig.server.Put(kTwoNodes, "Node", "c");
  rig.server.Compact();
  ASSERT_TRUE(rig.Until([&] { return picture.Has({"a", "b", "c"}); }));
  EXPECT_EQ(told(), 1u);

  ASSERT_TRUE(rig.Until([&] { return rig.server.watches() == 1; }));
  rig.server.Put(kTwoNodes, "Node", "b", OddNode());
  rig.server.Put(kTwoNodes, "Node", "d");  // the stream goes on behind it
  ASSERT_TRUE(rig.Until([&] { return picture.Has({"a", "b", "c", "d"}); }));
  EXPECT_EQ(told(), 2u);
  rig.server.Put(kTwoNodes, "Node", "b");
  ASSERT_TRUE(rig.Until([&] { return picture.reflector->unreadable().empty(); }));
  rig.server.Put(kTwoNodes, "Node", "b", OddNode());
  ASSERT_TRUE(rig.Until([&] { return !picture.reflector->unreadable().empty(); }));
  rig.server.Delete(kTwoNodes, "b");
  ASSERT_TRUE(rig.Until([&] { return picture.Has({"a", "c", "d"}); }));
  EXPECT_TRUE(picture.reflector->unreadable().empty());
  EXPECT_EQ(told(), 3u);
}

TEST(ReflectorNamelessTest, AListWithAnObjectWithoutANameRemovesNothing) {
  TestRig rig(false);
  rig.server.Put(kTwoNodes, "Node", "a");
  rig.server.Put(kTwoNodes, "Node", "b");
  Picture picture(rig);
  ASSERT_TRUE(rig.Until([&] { return rig.server.watches() == 1; }));
  rig.server.Refuse({.path = kTwoNodes, .status = 410, .body = "{}", .query = "watch"});
  const std::string list =
      R"({"kind":"NodeList","apiVersion":"v1","metadata":{"resourceVersion":"1000"},)"
      R"("items":[{"metadata":{"name":7}}]})";
  rig.server.Refuse({.path = kTwoNodes, .status = 200, .body = list});
  rig.server.CutWatches();
  ASSERT_TRUE(rig.Until([&] { return picture.reflector->lists() == 2; }));
  EXPECT_EQ(picture.reflector->nameless(), 1u);
  EXPECT_TRUE(picture.Has({"a", "b"}));
}

TEST_P(ReflectorTest, AnswersAreNoNewsUntilSomethingIsRead) {
  TestRig rig(GetParam());
  rig.server.Put(kTwoNodes, "Node", "a");
  Picture picture(rig);
  ASSERT_TRUE(rig.Until([&] { return rig.server.watches() == 1; }));
  ASSERT_TRUE(rig.Until([&] { return picture.reflector->synced(); }));
  const TimePoint heard = picture.reflector->last_heard();
  for (uint64_t again = 1; again <= 2; ++again) {
    const uint64_t before = picture.reflector->watches();
    rig.server.CutWatches();
    ASSERT_TRUE(rig.Until(
        [&] { return picture.reflector->watches() > before && rig.server.watches() == 1; }));
  }
  for (int i = 0; i < 10; ++i) rig.executor.RunFor(std::chrono::milliseconds(5));
  EXPECT_EQ(picture.reflector->last_heard(), heard);  // two watches stood, and had nothing to say
  rig.server.Bookmark(kTwoNodes, "Node");
  ASSERT_TRUE(rig.Until([&] { return picture.reflector->last_heard() > heard; }));
}

TEST(ReflectorStreamTest, HalfAFirstStateIsNoState) {
  TestRig rig;
  rig.server.Put(kTwoNodes, "Node", "a");
  rig.server.LeaveFirstStatesOpen();
  Picture picture(rig);
  const TimePoint made = picture.reflector->last_heard();
  ASSERT_TRUE(rig.Until([&] { return rig.server.watches() == 1; }));
  for (int i = 0; i < 300; ++i) rig.server.Put(kTwoNodes, "Node", "b");
  ASSERT_TRUE(rig.Until([&] { return picture.upserts >= 200; }));
  EXPECT_FALSE(picture.reflector->synced());
  EXPECT_EQ(picture.reflector->last_heard(), made);
}

TEST(ReflectorSilenceTest, AWatchThatSaysNothingForTooLongIsFollowedByAList) {
  TestRig rig;
  rig.server.Put(kTwoNodes, "Node", "a");
  Picture picture(rig, {.max_silence = std::chrono::milliseconds(50),
                        .reread_after = std::chrono::milliseconds(10)});
  EXPECT_TRUE(rig.Until([&] { return picture.reflector->lists() >= 3; }));
  EXPECT_EQ(picture.upserts, 1);
}

TEST(ReflectorListTest, APageThatCannotBeCutIsAskedForAgain) {
  TestRig rig(false);
  rig.server.Put(kTwoNodes, "Node", "a");
  rig.server.Refuse({.path = kTwoNodes,
                     .status = 200,
                     .body = R"({"kind":"NodeList","apiVersion":"v1","items":[{"metadata":{)",
                     .times = 20});
  Picture picture(rig, {.stream_first = false});
  const TimePoint made = picture.reflector->last_heard();
  ASSERT_TRUE(rig.Until([&] { return !picture.reflector->trouble().ok(); }));
  EXPECT_EQ(picture.reflector->last_heard(), made);
  ASSERT_TRUE(rig.Until([&] { return picture.Has({"a"}); }));
}

TEST(ReflectorRightsTest, AWatchThatIsRefusedRenewsTheCredentials) {
  TestRig rig(false);
  std::vector<std::string> tokens = {"new", "old"};
  ConnectionConfig config;
  config.server = rig.server.url();
  config.token_file = "token";
  Credentials credentials({.config = config,
                           .executor = rig.executor,
                           .workers = rig.workers,
                           .read_file = [&](const std::string&) -> Result<std::string> {
                             const std::string token = tokens.back();
                             if (tokens.size() > 1) tokens.pop_back();
                             return token;
                           }});
  rig.client = std::make_unique<Client>(ClientOptions{.server = rig.server.url(), .qps = 0},
                                        *rig.transport, credentials, rig.executor, rig.rng);
  rig.server.Put(kTwoNodes, "Node", "a");
  rig.server.Refuse({.path = kTwoNodes, .status = 401, .body = "{}", .query = "watch"});
  Picture picture(rig, {.stream_first = false});
  ASSERT_TRUE(rig.Until([&] { return rig.server.watches() == 1; }));
  rig.server.Put(kTwoNodes, "Node", "b");
  ASSERT_TRUE(rig.Until([&] { return picture.Has({"a", "b"}); }));
  EXPECT_EQ(picture.reflector->lists(), 1u);  // it went on where it was
  std::vector<std::string> sent;
  for (const auto& seen : rig.server.seen()) {
    for (const auto& [name, value] : seen.headers) {
      if (name == "authorization") sent.push_back(value);
    }
  }
  EXPECT_THAT(sent, ElementsAre("Bearer old", "Bearer old", "Bearer new"));
}

TEST(ClientTest, RepeatsWhatMayBeRepeatedAndNothingElse) {
  TestRig rig;
  rig.server.Put(kTwoNodes, "Node", "a");
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
  rig.server.Put(kTwoNodes, "Node", "a");
  rig.server.Refuse({.path = "/api/v1/nodes/a", .status = 429, .headers = {{"Retry-After", "1"}}});
  const TimePoint began = rig.clock.Now();
  Request get{.path = "/api/v1/nodes/a", .repeatable = false};  // a 429 has not been looked at
  const Deadline soon = Deadline::In(rig.clock, std::chrono::seconds(5));
  EXPECT_EQ(test::MustValue(rig.executor.BlockOn(rig.client->Send(get, soon))).status, 200);
  EXPECT_GE(rig.clock.Now() - began, std::chrono::seconds(1));
}

TEST(ClientTest, AsksAgainWithFreshCredentialsAfterA401) {
  TestRig rig;
  rig.server.Put(kTwoNodes, "Node", "a");
  rig.server.Refuse({.path = kTwoNodes, .status = 401, .body = "{}"});
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
