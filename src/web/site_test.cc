#include <gmock/gmock.h>

#include <atomic>
#include <future>
#include <mutex>
#include <nlohmann/json.hpp>
#include <thread>

#include "web/assets.h"
#include "web/site_rig.h"

namespace coppice::web {
namespace {

using nlohmann::json;
using testing::HasSubstr;

class FakeStream final : public net::ServerStream {
 public:
  bool Write(std::string_view more) override {
    const std::lock_guard lock(mutex_);
    text_ += more;
    return !gone_;
  }
  void Close() override { closed = true; }
  void WriteFrom(std::function<void(std::string&)>) override {}
  std::string text() {
    const std::lock_guard lock(mutex_);
    return text_;
  }
  void Leave() {
    const std::lock_guard lock(mutex_);
    gone_ = true;
  }
  std::atomic<bool> closed = false;

 private:
  std::mutex mutex_;
  std::string text_;
  bool gone_ = false;
};

TEST(SiteTest, TheStateHasRowsNodesAndWhoWaits) {
  SiteRig rig;
  const auto answer = rig.Ask("/api/v1/state");
  ASSERT_EQ(answer.status, 200);
  const json state = json::parse(answer.body);
  EXPECT_EQ(state["seq"], 1);
  EXPECT_EQ(state["total"]["nodes"], 2);
  EXPECT_EQ(state["total"]["pending"], 2);
  EXPECT_EQ(state["total"]["cost"], 1.0);
  EXPECT_EQ(state["rows"]["g"]["max"], 3);
  EXPECT_EQ(state["rows"]["g"]["coming"], 1);
  EXPECT_EQ(state["nodes"]["n1"]["state"], "ready");
  EXPECT_EQ(state["nodes"]["n1"]["cpu"], 500);
  EXPECT_EQ(state["nodes"]["n2"]["state"], "unneeded");
  EXPECT_EQ(state["nodes"]["n2"]["goesAt"], kRigNow + 6 * 60);
  EXPECT_EQ(state["nodes"]["sim://3"]["state"], "booting");
  ASSERT_EQ(state["pending"].size(), 1u) << "pods of one owner that ask for the same are one line";
  const json& shape = *state["pending"].begin();
  EXPECT_EQ(shape["count"], 2);
  EXPECT_EQ(shape["verdict"], "unhelped");
  EXPECT_EQ(shape["nearest"], "group g would take it if its maximum of 3 were 4");
}

TEST(SiteTest, AnEventStreamGetsTheDeltaAndNothingElse) {
  SiteRig rig;
  auto response = rig.Ask("/api/v1/events?since=1");
  ASSERT_TRUE(response.stream);
  const auto stream = std::make_shared<FakeStream>();
  response.stream(stream);
  rig.board().Post(SiteRig::Cluster({}, 600));
  rig.board().Flush();
  const std::string text = stream->text();
  EXPECT_THAT(text, HasSubstr("id: 2\nevent: delta\ndata: {\"seq\":2"));
  EXPECT_THAT(text, HasSubstr(R"("n1":{"row":"g","state":"ready","cpu":600)"));
  EXPECT_THAT(text, HasSubstr(R"("gone":{"pending":["shop/web 0m 0Mi"]})"));
  EXPECT_THAT(text, testing::Not(HasSubstr(R"("n2":)"))) << "nothing has changed about it";
  EXPECT_EQ(rig.board().watchers(), 1u);
  stream->Leave();
  rig.board().Post(SiteRig::Cluster({}, 700));
  rig.board().Flush();
  EXPECT_EQ(rig.board().watchers(), 0u);
}

TEST(SiteTest, WhoWasAwayCatchesUpAndWhoWasAwayForTooLongStartsAnew) {
  SiteRig rig;
  for (int16_t cpu = 0; cpu < 600; ++cpu) {
    rig.board().Post(SiteRig::Cluster({}, cpu));
    rig.board().Flush();
  }
  const auto near = std::make_shared<FakeStream>();
  rig.board().Subscribe(near, 599);
  EXPECT_THAT(near->text(), HasSubstr("\"seq\":600"));
  const auto far = std::make_shared<FakeStream>();
  rig.board().Subscribe(far, 3);
  EXPECT_THAT(far->text(), HasSubstr("event: reset"));
  const auto future = std::make_shared<FakeStream>();
  rig.board().Subscribe(future, 10'000);
  EXPECT_THAT(future->text(), HasSubstr("event: reset")) << "the server has been restarted";
}

TEST(SiteTest, ANumberOfAnotherProcessIsNotTakenForOneOfThis) {
  constexpr uint64_t kBegan = 1'767'592'800'000'000;
  constexpr uint64_t kRestarted = kBegan + 3'000'000;  // three seconds later
  const auto told = [](uint64_t first_seq, uint64_t since) {
    Board board({.first_seq = first_seq});
    for (int16_t cpu = 1; cpu <= 5; ++cpu) {
      board.Post(SiteRig::Cluster({}, cpu));
      board.Flush();
    }
    EXPECT_EQ(board.story().seq(), first_seq + 5);
    const auto stream = std::make_shared<FakeStream>();
    board.Subscribe(stream, since);
    return stream->text();
  };
  EXPECT_THAT(told(kRestarted, kBegan + 2), HasSubstr("event: reset"));
  EXPECT_THAT(told(kBegan, kRestarted + 2), HasSubstr("event: reset"));
  const std::string near = told(kBegan, kBegan + 3);
  EXPECT_THAT(near, HasSubstr("{\"seq\":" + std::to_string(kBegan + 4)));
  EXPECT_THAT(near, testing::Not(HasSubstr("{\"seq\":" + std::to_string(kBegan + 3))));
  EXPECT_THAT(told(kBegan, 0), HasSubstr("{\"seq\":" + std::to_string(kBegan + 1)))
      << "who knows nothing is told all of it";
}

TEST(SiteTest, APodIsExplainedPerGroupWithTheNearestMiss) {
  SiteRig rig;
  const json why = json::parse(rig.Ask("/api/v1/explain?pod=shop/web-2").body);
  EXPECT_EQ(why["verdict"], "unhelped");
  EXPECT_EQ(why["groups"][0]["group"], "g");
  EXPECT_EQ(why["groups"][0]["text"], "max node group size reached");
  EXPECT_EQ(why["nearest"], "group g would take it if its maximum of 3 were 4");
  EXPECT_EQ(rig.Ask("/api/v1/explain?pod=shop/other").status, 404);
  EXPECT_EQ(rig.Ask("/api/v1/explain?pod=other").status, 400);
}

TEST(SiteTest, ANodeIsExplainedWithWhenItGoes) {
  SiteRig rig;
  const json why = json::parse(rig.Ask("/api/v1/explain?node=n2").body);
  EXPECT_EQ(why["stays"]["text"], "unneeded for 4m0s of 10m0s");
  EXPECT_EQ(why["now"]["goesAt"], kRigNow + 6 * 60);
  EXPECT_EQ(rig.Ask("/api/v1/explain?node=n9").status, 404);
  const json group = json::parse(rig.Ask("/api/v1/explain?group=g").body);
  EXPECT_EQ(group["refusals"][0]["pods"], 2);
}

TEST(SiteTest, DecisionsAreKeptWithWhatWasCompared) {
  SiteRig rig;
  const json list = json::parse(rig.Ask("/api/v1/decisions").body)["decisions"];
  ASSERT_EQ(list.size(), 1u);
  EXPECT_EQ(list[0]["kind"], "waits");
  EXPECT_EQ(list[0]["title"], "2 pods of web");
  const json whole = json::parse(rig.Ask("/api/v1/decision?id=1").body);
  EXPECT_EQ(whole["detail"]["misses"][0]["group"], "g");
  EXPECT_EQ(rig.Ask("/api/v1/decision?id=2").status, 404);
}

TEST(SiteTest, AReplicaThatStandsByNamesTheLeaderInsteadOfSayingNothing) {
  SiteRig rig;
  rig.stands_by = "this replica stands by: b leads";
  for (const char* target : {"decisions", "decision?id=1", "explain?pod=shop/web-1",
                             "explain?node=n9", "pass", "pools"}) {
    const auto answer = rig.Ask("/api/v1/" + std::string(target));
    EXPECT_EQ(answer.status, 503) << target;
    EXPECT_THAT(answer.body, HasSubstr("b leads")) << target;
  }
  EXPECT_EQ(rig.Ask("/api/v1/explain?x=y").status, 400);
  for (const char* target : {"state", "timeline", "health", "control"})
    EXPECT_EQ(rig.Ask("/api/v1/" + std::string(target)).status, 200) << target;
}

TEST(SiteTest, DecisionsOfThePastEndThere) {
  SiteRig rig;
  const auto count = [&](const std::string& query) {
    return json::parse(rig.Ask("/api/v1/decisions" + query).body)["decisions"].size();
  };
  EXPECT_EQ(count("?until=" + std::to_string(kRigNow)), 1u);
  EXPECT_EQ(count("?until=" + std::to_string(kRigNow - 1)), 0u);
  EXPECT_EQ(rig.Ask("/api/v1/decisions?until=x").status, 400);
}

TEST(SiteTest, OfManyDecisionsTheTimelineHasSomeOfEachKindToItsBeginning) {
  DecisionLog log;
  for (int i = 0; i < 10'000; ++i) {
    const TimePoint at{std::chrono::seconds(i)};
    log.Add(std::vector<Decision>{{.at = at, .kind = "up", .title = "g"}});
    if (i % 1'000 == 0) log.Add(std::vector<Decision>{{.at = at, .kind = "trouble", .title = "t"}});
  }
  const auto shown = log.Between(TimePoint{}, TimePoint{std::chrono::seconds(10'000)}, 400);
  EXPECT_LE(shown.size(), 400u);
  EXPECT_LT(shown.back()->at, TimePoint(std::chrono::seconds(200)));
  EXPECT_EQ(std::ranges::count(shown, "trouble", &Decision::kind), 10);
}

TEST(SiteTest, NoSessionsEvictionsAreLostHoweverFastTheyFollow) {
  constexpr size_t kSessions = 300;
  SiteRig rig;
  for (size_t i = 0; i < kSessions; ++i) {
    auto session = std::make_shared<report::SessionReport>();
    session->evictions = {{.pod = "ml/small-" + std::to_string(i), .why = "preempted"}};
    rig.board().Post(std::shared_ptr<const report::SessionReport>(std::move(session)));
  }
  rig.board().Flush();
  const json all = json::parse(rig.Ask("/api/v1/decisions?limit=1000").body);
  size_t evicted = 0;
  for (const json& one : all["decisions"]) evicted += one["title"] == "1 pod evicted" ? 1 : 0;
  EXPECT_EQ(evicted, kSessions);
}

TEST(SiteTest, TheModelIsPaused) {
  SiteRig rig;
  EXPECT_EQ(rig.Ask("/api/v1/control", "POST", R"({"paused":true})").body,
            "{\"mode\":\"model\",\"paused\":true}\n");
  EXPECT_TRUE(rig.paused);
  EXPECT_EQ(rig.Ask("/api/v1/control", "POST", R"({"pause":true})").status, 400);
}

TEST(SiteTest, AWhatIfIsAskedForOnceAtATime) {
  std::promise<void> go_on;
  std::shared_future<void> wait = go_on.get_future().share();
  Desk desk(
      [wait](const Question&, const std::function<bool()>&) -> Result<std::string> {
        wait.wait();
        return std::string(R"({"groups":[]})");
      },
      std::chrono::seconds(10));
  SiteRig rig(&desk);
  EXPECT_EQ(rig.Ask("/api/v1/whatif", "POST", R"({"removeNodes":["n1"]})").status, 202);
  EXPECT_EQ(rig.Ask("/api/v1/whatif", "POST", R"({"removeNodes":["n1"]})").status, 429);
  EXPECT_THAT(rig.Ask("/api/v1/whatif?id=1").body, HasSubstr("running"));
  go_on.set_value();
  std::string body;
  while ((body = rig.Ask("/api/v1/whatif?id=1").body).find("running") != std::string::npos)
    std::this_thread::yield();
  EXPECT_THAT(body, HasSubstr(R"("state":"done","answer":{"groups":[]})"));
}

TEST(SiteTest, AWhatIfThatTakesTooLongIsStoppedAndTheNextOneIsTaken) {
  std::atomic<int> asked = 0;
  Desk desk(
      [&](const Question&, const std::function<bool()>& stop) -> Result<std::string> {
        ++asked;
        while (!stop()) std::this_thread::yield();
        return DeadlineExceeded("the time for it was over");
      },
      std::chrono::milliseconds(30));
  SiteRig rig(&desk);
  for (const char* id : {"1", "2"}) {
    const auto began = std::chrono::steady_clock::now();
    EXPECT_EQ(rig.Ask("/api/v1/whatif", "POST", R"({"removeNodes":["n1"]})").status, 202);
    std::string body;
    while ((body = rig.Ask("/api/v1/whatif?id=" + std::string(id)).body).find("running") !=
           std::string::npos)
      std::this_thread::yield();
    EXPECT_THAT(body, HasSubstr(R"("state":"failed","error":"the time for it was over")"));
    EXPECT_GE(std::chrono::steady_clock::now() - began, std::chrono::milliseconds(30));
  }
  EXPECT_EQ(asked, 2);
}

TEST(SiteTest, ParametersThatAreNotKnownAreRefused) {
  SiteRig rig;
  for (const char* target :
       {"/api/v1/state?att=1", "/api/v1/state?at=x", "/api/v1/timeline?points=-1",
        "/api/v1/timeline?points=99999", "/api/v1/decisions?limit=5000", "/api/v1/events?since=x",
        "/api/v1/explain", "/api/v1/explain?pod=a/b&node=c", "/api/v1/health?x=1"})
    EXPECT_EQ(rig.Ask(target).status, 400) << target;
  EXPECT_EQ(rig.Ask("/api/v1/nothing").status, 404);
  EXPECT_EQ(rig.Ask("/api/v2/state").status, 404);
  EXPECT_EQ(rig.Ask("/api/v1/state", "POST", "{}").status, 405);
}

TEST(SiteTest, ItsOwnFilesAreServedUnderAStrictPolicy) {
  SiteRig rig;
  for (const Asset& asset : Assets()) {
    const auto answer = rig.Ask("/assets/" + std::string(asset.name));
    EXPECT_EQ(answer.status, 200) << asset.name;
    EXPECT_EQ(answer.body, asset.bytes);
  }
  const auto page = rig.Ask("/");
  EXPECT_EQ(page.content_type, "text/html; charset=utf-8");
  EXPECT_THAT(page.headers,
              testing::Contains(testing::Pair("Content-Security-Policy",
                                              HasSubstr("default-src 'none'; script-src 'self'"))));
  EXPECT_THAT(page.body, testing::Not(HasSubstr("style=")));
  EXPECT_THAT(page.body, testing::Not(HasSubstr("http:")));
  EXPECT_EQ(rig.Ask("/assets/../site.cc").status, 404);
}

TEST(SiteTest, ThePastIsTheStateOfThen) {
  SiteRig rig;
  const json past = json::parse(rig.Ask("/api/v1/state?at=" + std::to_string(kRigNow + 100)).body);
  EXPECT_EQ(past["at"], kRigNow + 1);
  EXPECT_EQ(past["nodes"]["n1"]["cpu"], 500);
  const json timeline = json::parse(rig.Ask("/api/v1/timeline").body);
  EXPECT_EQ(timeline["samples"]["nodes"], json::array({2}));
  EXPECT_EQ(timeline["decisions"].size(), 1u);
}

}  // namespace
}  // namespace coppice::web
