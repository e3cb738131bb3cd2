// What the reference server says is what the plug-in reads.

#include "plugins/batch/extender/reference_server.h"

#include <gtest/gtest.h>

#include "plugins/batch/extender/answers.h"

namespace coppice::batch::extender {
namespace {

net::ServerResponse Ask(ReferenceServer& server, std::string verb, std::string body) {
  return server.Answer(
      {.method = "POST", .path = "/prefix/" + std::move(verb), .body = std::move(body)});
}
net::ServerResponse Ask(std::string verb, std::string body) {
  ReferenceServer server;
  return Ask(server, std::move(verb), std::move(body));
}

// A node with so many tasks on it.
std::string NodeWith(int tasks) {
  std::string node = R"({"Name":"n","Tasks":{)";
  for (int i = 0; i < tasks; ++i) {
    if (i > 0) node += ',';
    node += '"' + std::to_string(i) + "\":{}";
  }
  return node + "}}";
}

TEST(ReferenceServerTest, BestEffortPodsKeepOffCrowdedNodes) {
  const auto refused = [](bool best_effort, int tasks) {
    const std::string task = best_effort ? R"({"BestEffort":true})" : R"({"BestEffort":false})";
    const auto one = ReadPredicate(
        Ask("predicate", R"({"task":)" + task + R"(,"node":)" + NodeWith(tasks) + "}").body);
    const auto all = ReadBatchPredicate(
        Ask("batchPredicate", R"({"task":)" + task + R"(,"nodes":[)" + NodeWith(tasks) + "]}")
            .body);
    EXPECT_TRUE(one.status.ok() && all.status.ok());
    EXPECT_EQ(one.value.message.empty(), all.value.nodes.empty());
    return !one.value.message.empty();
  };
  EXPECT_FALSE(refused(true, 10));
  EXPECT_TRUE(refused(true, 11));
  EXPECT_FALSE(refused(false, 11));
}

TEST(ReferenceServerTest, ScoresAreForNodesThatAreNotFull) {
  const auto answer = ReadPrioritize(
      Ask("prioritize", R"({"task":{"BestEffort":true},"nodes":[)" + NodeWith(6) + "]}").body);
  ASSERT_TRUE(answer.value.scores.has_value());
  EXPECT_EQ(answer.value.scores->at("n"), 0);
}

// As Go reads them: names in any case, the last of several, null for nothing, what is unknown
// skipped.
TEST(ReferenceServerTest, QuestionsAreReadAsGoReadsThem) {
  const auto scores = [](const std::string& body) { return Ask("prioritize", body).body; };
  const std::string full = R"("Tasks":{"1":{},"2":{},"3":{},"4":{},"5":{},"6":{"x":[1,{}]}})";
  EXPECT_EQ(scores(R"({"task":{"BestEffort":false},"TASK":{"bestEffort":true,"Pod":{"a":"}"}},)"
                   R"("nodes":[{"Name":"a\u0062","Node":null,)" +
                   full + R"(},{"name":"c","Tasks":null},{"Name":5}]})"),
            R"({"nodeScore":{"ab":0,"c":1,"":1},"errorMessage":""})");
  EXPECT_EQ(scores(R"({"ta\u017Fk":null,"nodes":[{"Name":"n"}]})"),
            R"({"nodeScore":{"n":1},"errorMessage":""})");
  for (const char* wrong : {R"({"task":{},"nodes":[]})", R"({"task":{},"nodes":{"a":1}})",
                            R"({"nodes":[{}]})", R"({"task":{},"nodes":[{]})", "[]", "", "{"}) {
    EXPECT_EQ(Ask("batchPredicate", wrong).status, 400) << wrong;
    EXPECT_EQ(Ask("predicate", wrong).status, 400) << wrong;
  }
}

TEST(ReferenceServerTest, EveryVerbIsAnsweredAndNothingElse) {
  for (const char* verb : {"onSessionOpen", "onSessionClose", "queueOverused", "jobEnqueueable",
                           "jobEnqueued", "jobReady", "allocateFunc", "deallocateFunc"}) {
    EXPECT_EQ(Ask(verb, "{}").status, 200) << verb;
  }
  EXPECT_EQ(
      ReadVictims(Ask("preemptable", R"({"evictees":[{"UID":"u"}]})").body).value.victims.at(0).uid,
      "u");
  EXPECT_EQ(Ask("unbind", "{}").status, 404);
  EXPECT_EQ(Ask("bind", "{}").status, 400);
  EXPECT_EQ(Ask("predicate", "{}").status, 400);
  EXPECT_EQ(Ask("predicate", "no JSON").status, 400);
  EXPECT_EQ(ReferenceServer().Answer({.method = "GET", .path = "/predicate"}).status, 405);
}

TEST(ReferenceServerTest, KnowsFromTheOpeningWhatACompactBodyOnlyNames) {
  ReferenceServer server;
  const auto opening = [](const std::string& names, const std::string& node) {
    return "{" + names + R"("Jobs":{"j":{"Tasks":{"u":{"BestEffort":true}}}},"Nodes":{"n":)" +
           node + "}}";
  };
  const auto refused = [&] {
    const auto answer =
        ReadPredicate(Ask(server, "predicate", R"({"task":{"UID":"u"},"node":{"Name":"n"}})").body);
    return !answer.value.message.empty();
  };
  EXPECT_FALSE(refused());  // it has not heard of either
  EXPECT_EQ(Ask(server, "onSessionOpen", opening(R"("Session":"1",)", NodeWith(11))).status, 200);
  EXPECT_TRUE(refused());
  // The next one changes the node, and the one after that takes it away.
  Ask(server, "onSessionOpen",
      R"({"Session":"2","Base":"1","Jobs":{},"Nodes":{"n":)" + NodeWith(1) + "}}");
  EXPECT_FALSE(refused());
  Ask(server, "onSessionOpen", opening("", NodeWith(11)));
  EXPECT_TRUE(refused());
  Ask(server, "onSessionOpen", R"({"Session":"3","Base":"","Gone":{"Nodes":["n"]}})");
  EXPECT_FALSE(refused());
}

TEST(ReferenceServerTest, AllNodesButTheNamedAreThoseOfTheOpening) {
  ReferenceServer server;
  Ask(server, "onSessionOpen",
      R"({"Jobs":{"j":{"Tasks":{"u":{"BestEffort":true}}}},"Nodes":{"a":)" + NodeWith(11) +
          R"(,"b":)" + NodeWith(11) + R"(,"c":)" + NodeWith(1) + "}}");
  const std::string question = R"({"task":{"UID":"u"},"allNodesBut":["b"]})";
  EXPECT_EQ(Ask(server, "batchPredicate", question).body,
            R"({"nodeStatus":{"a":{"status":"too many tasks on the node","code":2}},)"
            R"("errorMessage":""})");
  EXPECT_EQ(Ask(server, "prioritize", question).body,
            R"({"nodeScore":{"a":0,"c":1},"errorMessage":""})");
  EXPECT_EQ(Ask(server, "prioritize", R"({"task":{"UID":"u"}})").status, 400);
}

TEST(ReferenceServerTest, AsksForEverythingIfItHasNotHeardOfTheBase) {
  const auto answer = Ask("onSessionOpen", R"({"Session":"2","Base":"1"})");
  EXPECT_EQ(answer.status, 200);
  EXPECT_TRUE(ReadResend(answer.body).value);
}

TEST(ReferenceServerTest, BindsIfItWasGivenSomethingToBindWith) {
  const std::string body = R"({"PodName":"p","PodNamespace":"ns","PodUID":"u","Node":"n"})";
  EXPECT_NE(ReadBindError(Ask("bind", body).body).value, "");
  std::string bound;
  ReferenceServer server([&](const ReferenceServer::Binding& binding) {
    bound = binding.namespace_ + "/" + binding.pod + " " + binding.uid + " " + binding.node;
    return Status::Ok();
  });
  EXPECT_EQ(ReadBindError(Ask(server, "bind", body).body).value, "");
  EXPECT_EQ(bound, "ns/p u n");
}

}  // namespace
}  // namespace coppice::batch::extender
