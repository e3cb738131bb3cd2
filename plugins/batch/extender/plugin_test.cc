// The plug-in in sessions of its own, with an extender that answers from a script. What it does as
// upstream is held to recorded sessions (replay); here is what it does by default.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <set>

#include "base/fake_clock.h"
#include "batch/session.h"
#include "net/fake_http_client.h"
#include "plugins/batch/extender/factory.h"
#include "wire/wire.h"

namespace coppice::batch::extender {
namespace {

using net::HttpRequest;
using net::HttpResponse;
using testing::ElementsAre;
using testing::HasSubstr;

// Answers by verb, the last part of the path; what has none is 404.
struct FakeServer {
  std::map<std::string, std::string> answers;
  std::vector<HttpRequest> requests;
  std::mutex mutex;

  Result<HttpResponse> Answer(const HttpRequest& request) {
    const std::lock_guard lock(mutex);
    requests.push_back(request);
    const auto found = answers.find(request.url.substr(request.url.rfind('/') + 1));
    if (found == answers.end()) return HttpResponse{.status = 404};
    return HttpResponse{.status = 200, .body = found->second};
  }
  int Count(std::string_view verb) const {
    return static_cast<int>(std::ranges::count_if(
        requests, [&](const HttpRequest& request) { return request.url.ends_with(verb); }));
  }
  std::string BodyOf(std::string_view verb) const {
    for (const HttpRequest& request : requests) {
      if (request.url.ends_with(verb)) return request.body;
    }
    return "none";
  }
};

// Stands for whoever knows how busy nodes are.
struct LoadOfN2 final : Plugin {
  Status Open(Session& session, Slots&) override {
    session.SetUsage(*session.FindNode("n2"),
                     {.taken = TimePoint(std::chrono::seconds(60)), .cpu = 12.5, .memory = 40});
    return Status::Ok();
  }
};

struct ExtenderTest : testing::Test {
  ExtenderTest() {
    plugins.Add(
        "extender", MakeFactory(clock, [this](net::HttpClientOptions options) {
          client_options = options;
          return Result<std::unique_ptr<net::HttpClient>>(std::make_unique<net::FakeHttpClient>(
              [this](const HttpRequest& request, Deadline) { return server.Answer(request); }));
        }));
    plugins.Add("load", FactoryOf<LoadOfN2>());
  }

  // One job of one pod, two nodes with room for it.
  Outcome Run(const std::string& conf, bool exact = false) {
    const fit::FilterRegistry filters("filter");
    cluster::Snapshot snapshot;
    SessionInput input;
    input.uid = session_uid;
    std::vector<std::string> names{"n1", "n2"};
    names.insert(names.end(), more_nodes.begin(), more_nodes.end());
    for (const std::string& name : names) {
      auto node = std::make_shared<const model::Node>(
          wire::FromJson<model::Node>(
              R"({"metadata":{"name":")" + name +
              R"("},"status":{"allocatable":{"cpu":"4","memory":"8Gi","pods":"10"}}})")
              .value());
      input.nodes.push_back({.object = node, .index = snapshot.AddNode(*node).value()});
    }
    for (int i = 1; i <= pods; ++i) {
      const std::string number = std::to_string(i);
      auto pod = std::make_shared<const model::Pod>(
          wire::FromJson<model::Pod>(
              R"({"metadata":{"name":"p)" + (i == 1 ? "" : number) +
              R"(","namespace":"ns","uid":"u)" + number +
              R"(","annotations":{"scheduling.k8s.io/group-name":"job"}},)"
              R"("spec":{"schedulerName":"volcano",)"
              R"("containers":[{"name":"c","resources":{"requests":{"cpu":"1"}}}]},)"
              R"("status":{"phase":"Pending"}})")
              .value());
      input.pods.push_back({.object = pod, .index = snapshot.AddPod(pod, cluster::kNone)});
    }
    input.groups.push_back(wire::FromJson<model::PodGroup>(
                               R"({"metadata":{"name":"job","namespace":"ns","uid":"g1"},)"
                               R"("spec":{"minMember":1,"queue":"q","minResources":{"cpu":"1"}},)"
                               R"("status":{"phase":"Pending"}})")
                               .value());
    input.queues.push_back(
        wire::FromJson<model::Queue>(R"({"metadata":{"name":"q"},"spec":{"weight":)" +
                                     queue_weight + R"(},"status":{"state":"Open"}})")
            .value());
    Options options;
    options.upstream_exact = exact;
    auto session = Session::Open(ParseConf(conf).value(), options, plugins, filters, snapshot,
                                 std::move(input));
    EXPECT_TRUE(session.ok()) << session.status().ToString();
    if (!session.ok()) return {};
    (*session)->Run();
    news = (*session)->GatherNews();
    return (*session)->Close();
  }

  // Of the plug-in in a tier, with these lines of arguments.
  static std::string Conf(const std::vector<std::string>& lines) {
    std::string conf =
        "actions: \"enqueue, allocate\"\ntiers:\n- plugins:\n  - name: extender\n"
        "    arguments:\n      extender.urlPrefix: http://e/x\n";
    for (const std::string& line : lines) conf += "      extender." + line + "\n";
    return conf;
  }

  static std::string BoundTo(const Outcome& outcome) {
    return outcome.binds.empty() ? "" : outcome.binds[0].node;
  }

  FakeClock clock;
  FakeServer server;
  net::HttpClientOptions client_options;
  News news;
  std::string session_uid = "1";
  std::string queue_weight = "1";
  std::vector<std::string> more_nodes = {};
  int pods = 1;
  PluginRegistry plugins;
};

TEST_F(ExtenderTest, TheBreakerIsToldOfWithoutThePassword) {
  server.answers["p"] = R"({"code":0})";
  std::string conf = Conf({"predicateVerb: p"});
  conf.replace(conf.find("http://e/x"), 10, "http://me:pass@e/x");
  Run(conf);
  ASSERT_EQ(news.outside.size(), 1u);
  EXPECT_EQ(news.outside[0].name, "http://e/x");
  EXPECT_EQ(news.outside[0].state, "closed");
  EXPECT_EQ(news.outside[0].text, "");
  Run(Conf({"predicateVerb: nothing", "breakerFailures: 1"}));
  EXPECT_EQ(news.outside[0].state, "open");
  EXPECT_NE(news.outside[0].text, "");
}

TEST_F(ExtenderTest, ANoOfThePredicateIsARefusalWithItsReason) {
  server.answers["p"] = R"({"status":"not here","code":2})";
  const Outcome outcome = Run(Conf({"predicateVerb: p"}));
  EXPECT_EQ(BoundTo(outcome), "");
  ASSERT_EQ(outcome.conditions.size(), 1u);
  EXPECT_THAT(outcome.conditions[0].message, HasSubstr("not here"));
  EXPECT_EQ(server.Count("/p"), 2);
}

TEST_F(ExtenderTest, ARefusalWithAnUnknownCodeIsARefusal) {
  server.answers["p"] = R"({"status":"not here","code":7})";
  EXPECT_EQ(BoundTo(Run(Conf({"predicateVerb: p"}))), "");
  EXPECT_NE(BoundTo(Run(Conf({"predicateVerb: p"}), true)), "");  // upstream's mistake
}

TEST_F(ExtenderTest, ScoresChooseAndAreWeighted) {
  server.answers["s"] = R"({"nodeScore":{"n1":1,"n2":2}})";
  EXPECT_EQ(BoundTo(Run(Conf({"prioritizeVerb: s"}))), "n2");
  EXPECT_EQ(BoundTo(Run(Conf({"prioritizeVerb: s", "weight: -1"}))), "n1");
}

// What cannot be had: ignored by all verbs, or a no of all verbs.
TEST_F(ExtenderTest, AFailureMeansTheSameForEveryVerb) {
  for (const char* verb : {"predicateVerb: v", "prioritizeVerb: v", "jobEnqueueableVerb: v",
                           "queueOverusedVerb: v", "jobReadyVerb: v", "allocateFuncVerb: v",
                           "onSessionOpenVerb: v\n      extender.predicateVerb: v"}) {
    EXPECT_NE(BoundTo(Run(Conf({verb, "ignorable: true"}))), "") << verb;
    EXPECT_EQ(BoundTo(Run(Conf({verb, "ignorable: false"}))), "") << verb;
  }
}

TEST_F(ExtenderTest, AsUpstreamAFailureMeansSomethingElseForSomeVerbs) {
  EXPECT_EQ(BoundTo(Run(Conf({"jobReadyVerb: v", "ignorable: true"}), true)), "");
  EXPECT_NE(BoundTo(Run(Conf({"jobReadyVerb: v", "ignorable: false"}), true)), "");
  EXPECT_NE(BoundTo(Run(Conf({"onSessionOpenVerb: v", "predicateVerb: v"}), true)), "");
}

TEST_F(ExtenderTest, AllNodesOfATaskInOneCall) {
  server.answers["b"] = R"({"nodeStatus":{"n1":{"status":"no","code":2}}})";
  EXPECT_EQ(BoundTo(Run(Conf({"batchPredicateVerb: b", "predicateVerb: p"}))), "n2");
  EXPECT_EQ(server.Count("/b"), 1);
  EXPECT_EQ(server.Count("/p"), 0);
  EXPECT_THAT(server.BodyOf("/b"), HasSubstr(R"("nodes":[{"Name":"n1")"));
}

TEST_F(ExtenderTest, CompactBodiesNameWhatTheOpeningHasShown) {
  server.answers["o"] = "";
  server.answers["p"] = "{}";
  Run(Conf({"onSessionOpenVerb: o", "predicateVerb: p", "compact: true"}));
  EXPECT_THAT(server.BodyOf("/o"), HasSubstr(R"("Pod":{"metadata")"));
  // Both nodes are asked about at once: either may come first.
  const std::string task = R"({"task":{"UID":"u1","NodeName":"","EvictionOccurred":false,)"
                           R"("JobAllocatedHyperNode":"","Status":1},"node":{"Name":)";
  EXPECT_THAT(server.BodyOf("/p"), testing::AnyOf(task + R"("n1"}})", task + R"("n2"}})"));
}

TEST_F(ExtenderTest, InCompactBodiesMostNodesAreMeantByNamingTheOthers) {
  server.answers["b"] = R"({"nodeStatus":{"n1":{"status":"no","code":2}}})";
  EXPECT_EQ(BoundTo(Run(Conf({"batchPredicateVerb: b", "compact: true"}))), "n2");
  EXPECT_THAT(server.BodyOf("/b"), HasSubstr(R"(,"allNodesBut":[]})"));
  server.answers["c"] = R"({"nodeScore":{"n1":9}})";
  EXPECT_EQ(BoundTo(Run(Conf({"prioritizeVerb: c", "compact: true"}))), "n1");
  EXPECT_THAT(server.BodyOf("/c"), HasSubstr(R"(,"allNodesBut":[]})"));
}

// Who is told of placements is asked about a task when the one before is placed.
TEST_F(ExtenderTest, ByNameEachTaskIsAskedAboutOnceInTurnOrAhead) {
  pods = 6;
  server.answers["b"] = server.answers["a"] = "{}";
  const auto asked = [this] {
    std::string order;
    for (const HttpRequest& request : server.requests)
      order += request.url.substr(request.url.rfind('/') + 1);
    return order;
  };
  EXPECT_EQ(Run(Conf({"batchPredicateVerb: b", "compact: true"})).binds.size(), 6u);
  EXPECT_EQ(asked(), "bbbbbb");
  std::set<std::string> bodies;
  for (const HttpRequest& request : server.requests) bodies.insert(request.body.substr(0, 24));
  EXPECT_EQ(bodies.size(), 6u);
  server.requests.clear();
  EXPECT_EQ(
      Run(Conf({"batchPredicateVerb: b", "compact: true", "allocateFuncVerb: a"})).binds.size(),
      6u);
  EXPECT_EQ(asked(), "babababababa");
}

TEST_F(ExtenderTest, ExtendersOfTheListAreAskedBehindAllTiers) {
  server.answers["a"] = R"({"nodeScore":{"n2":5}})";
  server.answers["b"] = R"({"nodeScore":{"n1":3}})";
  server.answers["e"] = R"({"status":-1})";
  const std::string list =
      "actions: \"enqueue, allocate\"\ntiers: []\nextenders:\n"
      "- {urlPrefix: 'http://e', prioritizeVerb: a}\n"
      "- {urlPrefix: 'http://f', prioritizeVerb: b";
  EXPECT_EQ(BoundTo(Run(list + "}\n")), "n2");
  EXPECT_EQ(server.requests[0].url, "http://e/a");
  EXPECT_EQ(server.requests[1].url, "http://f/b");
  EXPECT_EQ(BoundTo(Run(list + ", jobEnqueueableVerb: e}\n")), "");
}

TEST_F(ExtenderTest, TwoEntriesAreTwoExtenders) {
  server.answers["a"] = R"({"status":"no","code":2})";
  server.answers["b"] = "{}";
  std::string conf = Conf({"predicateVerb: a"});
  conf +=
      "  - name: extender\n    arguments:\n      extender.urlPrefix: http://f\n"
      "      extender.predicateVerb: b\n";
  EXPECT_EQ(BoundTo(Run(conf)), "");
  EXPECT_NE(BoundTo(Run(conf, true)), "");  // upstream: the second replaces the first
}

TEST_F(ExtenderTest, AsksAsGoDoes) {
  server.answers["p"] = "{}";
  Run(Conf({"predicateVerb: p"}), true);
  EXPECT_EQ(client_options.user_agent, "Go-http-client/1.1");
  EXPECT_EQ(client_options.max_body_bytes, size_t{10} << 20);
  ASSERT_FALSE(server.requests.empty());
  EXPECT_EQ(server.requests[0].method, "POST");
  EXPECT_EQ(server.requests[0].url, "http://e/x/p");
  EXPECT_THAT(server.requests[0].headers,
              ElementsAre(testing::Pair("Content-Type", "application/json")));
}

TEST_F(ExtenderTest, AnExtenderThatFailsAgainAndAgainIsNotAskedForAWhile) {
  const Outcome outcome =
      Run(Conf({"onSessionOpenVerb: v", "predicateVerb: v", "queueOverusedVerb: v",
                "breakerFailures: 2", "ignorable: true"}));
  EXPECT_NE(BoundTo(outcome), "");
  EXPECT_EQ(server.requests.size(), 2u);
  ASSERT_EQ(news.outside.size(), 1u);
  EXPECT_EQ(news.outside[0].state, "open");
}

TEST_F(ExtenderTest, TheExtenderBindsWhatItIsInterestedIn) {
  server.answers["bind"] = R"({"Error":""})";
  const Outcome outcome = Run(Conf({"bindVerb: bind"}));
  ASSERT_EQ(outcome.binds.size(), 1u);
  const auto& delegate = outcome.binds[0].delegate;
  ASSERT_NE(delegate, nullptr);
  EXPECT_EQ(server.Count("/bind"), 0);  // not before the session has ended
  EXPECT_TRUE(delegate->Bind(outcome.binds[0]).ok());
  EXPECT_EQ(server.BodyOf("/bind"),
            R"({"PodName":"p","PodNamespace":"ns","PodUID":"u1","Node":"n1"})");
  EXPECT_EQ(delegate->name(), "the extender at http://e/x");
  EXPECT_EQ(Run(Conf({"bindVerb: bind", "managedResources: [example.com/x]"})).binds[0].delegate,
            nullptr);
  EXPECT_EQ(Run(Conf({"bindVerb: bind"}), true).binds[0].delegate, nullptr);  // not upstream's
}

TEST_F(ExtenderTest, ARefusalToBindIsToldFromNoAnswer) {
  const auto bind = Run(Conf({"bindVerb: bind"})).binds[0];
  EXPECT_EQ(bind.delegate->Bind(bind).code(), Code::kUnavailable);  // 404
  server.answers["bind"] = R"({"Error":"the licence is gone"})";
  EXPECT_EQ(bind.delegate->Bind(bind).code(), Code::kFailedPrecondition);
  EXPECT_EQ(bind.delegate->Bind(bind).message(), "the licence is gone");
  server.answers["bind"] = "nonsense";
  EXPECT_EQ(bind.delegate->Bind(bind).code(), Code::kUnavailable);
}

TEST_F(ExtenderTest, AnOpeningShowsWhatHasChangedSinceTheLastOne) {
  const std::string conf = Conf({"onSessionOpenVerb: o", "delta: true"});
  const auto opened = [&] { return server.requests.back().body; };
  server.answers["o"] = "{}";
  Run(conf);
  EXPECT_THAT(opened(), testing::StartsWith(R"({"Session":"1","Jobs":{"ns/job":{)"));
  EXPECT_THAT(opened(), HasSubstr(R"("n1":{"Name":"n1")"));
  EXPECT_THAT(opened(), testing::Not(HasSubstr("Gone")));
  session_uid = "2";
  more_nodes = {"n3"};
  Run(conf);
  EXPECT_THAT(opened(), testing::StartsWith(
                            R"({"Session":"2","Base":"1","Jobs":{},"Nodes":{"n3":{"Name":"n3")"));
  EXPECT_THAT(opened(),
              testing::EndsWith(R"("Queues":{},"NamespaceInfo":{},"Gone":{"Jobs":[],"Nodes":[],)"
                                R"("Queues":[],"NamespaceInfo":[]}})"));
  session_uid = "3";
  more_nodes = {};
  queue_weight = "7";
  Run(conf);
  EXPECT_THAT(opened(), testing::StartsWith(
                            R"({"Session":"3","Base":"2","Jobs":{},"Nodes":{},"Queues":{"q":{)"));
  EXPECT_THAT(opened(), HasSubstr(R"("Gone":{"Jobs":[],"Nodes":["n3"],)"));
}

TEST_F(ExtenderTest, WhoHasLostTheBaseIsShownEverything) {
  const std::string conf =
      Conf({"onSessionOpenVerb: o", "delta: true", "ignorable: true", "breakerFailures: 0"});
  server.answers["o"] = "";
  Run(conf);
  server.answers["o"] = R"({"resend":true})";
  server.requests.clear();
  Run(conf);
  ASSERT_EQ(server.requests.size(), 2u);
  EXPECT_THAT(server.requests[0].body, HasSubstr(R"("Base":"1")"));
  EXPECT_THAT(server.requests[1].body, testing::StartsWith(R"({"Session":"1","Jobs":{"ns/job":{)"));
  // A call that failed: nobody knows what the extender has.
  server.answers.clear();
  Run(conf);
  server.answers["o"] = "{}";
  Run(conf);
  EXPECT_THAT(server.requests.back().body, testing::Not(HasSubstr("Base")));
}

TEST_F(ExtenderTest, NodesShowHowBusyTheyAre) {
  server.answers["p"] = "{}";
  std::string conf = Conf({"predicateVerb: p", "prioritizeVerb: s", "ignorable: true"});
  conf.replace(conf.find("  - name: extender"), 0, "  - name: load\n");
  Run(conf);
  EXPECT_THAT(server.BodyOf("/s"),
              HasSubstr(R"("ResourceUsage":{"MetricsTime":"1970-01-01T00:01:00Z",)"
                        R"("CPUUsageAvg":{"10m":12.5},"MEMUsageAvg":{"10m":40}},"Tasks")"));
  EXPECT_THAT(server.BodyOf("/s"), HasSubstr(R"("CPUUsageAvg":{},"MEMUsageAvg":{}},"Tasks")"));
}

}  // namespace
}  // namespace coppice::batch::extender
